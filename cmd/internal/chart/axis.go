// Package chart draws restarts over time under backoffs as named lines. It starts
// nothing and reads no clock.
package chart

import "math"

// Axis maps values to places in pixels.
//
//  1. 0 lies at From and High at To. Values outside 0..High lie at the nearer end.
//  2. Larger values never lie closer to From.
//  3. If Low is above 0, it must be below High, and the axis is logarithmic above it.
//     Below Low is a linear band of Band pixels.
type Axis struct {
	Low, High float64
	From, To  float64
	Band      float64
}

// Log reports whether the axis is logarithmic.
func (a Axis) Log() bool { return a.Low > 0 }

// Place returns the place of a value.
func (a Axis) Place(value float64) float64 {
	value = min(max(value, 0), a.High)
	length := math.Abs(a.To - a.From)
	part := value / a.High
	if a.Log() {
		band := min(a.Band/length, 0.5)
		if part = band * value / a.Low; value > a.Low {
			part = band + (1-band)*math.Log(value/a.Low)/math.Log(a.High/a.Low)
		}
	}
	return a.From + (a.To-a.From)*part
}

// decade returns the power of ten at or below a positive value.
func decade(value float64) float64 { return math.Pow(10, math.Floor(math.Log10(value)+1e-9)) }
