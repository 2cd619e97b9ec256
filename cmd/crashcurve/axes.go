package main

import (
	"math"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
)

// The lengths of the linear parts of logarithmic axes, in pixels: room for two labels.
const (
	timeBand  = chart.TickWidth / 2
	valueBand = 16
)

// timeAxis returns the axis of time, in seconds.
func (f *figure) timeAxis(from, to float64) chart.Axis {
	return chart.Axis{Low: f.leastTime(), High: f.end.Seconds(), From: from, To: to, Band: timeBand}
}

// countAxis returns the axis of restarts.
func (f *figure) countAxis(bottom, top float64) chart.Axis {
	highest := 1.0
	for _, c := range f.curves {
		highest = max(highest, f.shown(c).restarts(-1, f.end))
	}
	if f.logCount {
		return chart.Axis{Low: 1, High: max(10, 1.2*highest), From: bottom, To: top, Band: valueBand}
	}
	return chart.Axis{High: 1.05 * highest, From: bottom, To: top}
}

// rateAxis returns the axis of requests per second. It is logarithmic if a linear one
// would show the lowest curve as a flat line.
func (f *figure) rateAxis(all [][]rate, bottom, top float64) chart.Axis {
	highest, lowest := 0.0, math.Inf(1) // of the curves' own highest ones
	least := math.Inf(1)                // above 0
	for _, rates := range all {
		peak := 0.0
		for _, r := range rates {
			peak = max(peak, r.rate)
			if r.rate > 0 {
				least = min(least, r.rate)
			}
		}
		highest = max(highest, peak)
		if peak > 0 {
			lowest = min(lowest, peak)
		}
	}
	if highest == 0 {
		highest, lowest = 1, 1
	}
	a := chart.Axis{High: 1.1 * highest, From: bottom, To: top}
	if highest/lowest > chart.AutoLog {
		a.Low, a.Band = max(chart.Decade(least), chart.Decade(highest)*1e-6), valueBand
	}
	return a
}

// leastTime is where the decades of a logarithmic axis of time begin: with a power of
// ten at or before the first restart. Of a linear axis it is 0.
func (f *figure) leastTime() float64 {
	if !f.logTime {
		return 0
	}
	least := f.end / 10
	for _, c := range f.curves {
		for _, g := range f.shown(c).groups {
			for at := range c.policy.Timeline(func(int) time.Duration { return g.run }) {
				if at > 0 { // free restarts may come at once
					least = min(least, at)
					break
				}
			}
		}
	}
	return chart.Decade(least.Seconds())
}
