package chart

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// Tick marks a value of an axis. Without a label it is only a grid line.
type Tick struct {
	Value float64
	Label string
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// steps are the round steps of time in seconds. Each is less than three times the
// previous one, so that every axis has a tick besides 0. They cover the range of a
// Duration, which is below 300 years.
var steps = []time.Duration{1, 2, 5, 10, 15, 30, 60, 2 * 60, 5 * 60, 10 * 60, 15 * 60, 30 * 60,
	3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600,
	86400, 2 * 86400, 5 * 86400, 10 * 86400, 20 * 86400, 50 * 86400, 100 * 86400, 200 * 86400,
	365 * 86400, 730 * 86400, 1825 * 86400, 3650 * 86400, 7300 * 86400, 18250 * 86400, 36500 * 86400}

// Step returns the shortest round time that fits into length at most most times. most
// must be at least 3.
func Step(length time.Duration, most int) time.Duration {
	least := length/time.Duration(max(most, 3)) + 1
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		for _, digit := range []time.Duration{1, 2, 5} {
			if digit*unit >= least {
				return digit * unit
			}
		}
	}
	i, _ := slices.BinarySearch(steps, (least+time.Second-1)/time.Second)
	return steps[i] * time.Second
}

// tickWidth is the width in pixels of a time label with its spacing, in a font of at
// most 12 pixels.
const tickWidth = 66

// Times returns round times in 0..end whose labels do not touch on an axis of that
// length.
func Times(end time.Duration, pixels float64) []time.Duration {
	step := Step(end, int(pixels/tickWidth))
	var all []time.Duration
	for at := time.Duration(0); at <= end; at += step {
		all = append(all, at)
		if at > math.MaxInt64-step {
			break
		}
	}
	return all
}

// TimeLabel formats a time as a label, such as 1m30s, 2h, 3d or 10y. A year has 365
// days.
func TimeLabel(at time.Duration) string {
	switch {
	case at >= year && at%year == 0:
		return strconv.Itoa(int(at/year)) + "y"
	case at >= day && at%day == 0:
		return strconv.Itoa(int(at/day)) + "d"
	}
	return picture.Duration(at)
}

// timeTicks returns the ticks of an axis in seconds. On a logarithmic axis each is
// about ten times the previous one.
func timeTicks(a Axis) []Tick {
	pixels := math.Abs(a.To - a.From)
	if !a.Log() {
		var ticks []Tick
		for _, at := range Times(time.Duration(a.High*float64(time.Second)), pixels) {
			ticks = append(ticks, Tick{at.Seconds(), TimeLabel(at)})
		}
		return ticks
	}
	ticks := []Tick{{0, "0s"}}
	for _, at := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
		time.Minute, 10 * time.Minute, time.Hour, day, 10 * day, 100 * day, 1000 * day, 10_000 * day} {
		if s := at.Seconds(); s >= a.Low*(1-1e-9) && s <= a.High*(1+1e-9) {
			ticks = append(ticks, Tick{s, TimeLabel(at)})
		}
	}
	return thinned(a, ticks, tickWidth/2)
}

// Heights of value labels, in pixels.
const (
	valueHeight = 13
	valueSpace  = 26 // on a linear axis, which has more room
)

// valueTicks returns the ticks of an axis of numbers. If whole is true, the ticks of a
// linear axis are whole numbers.
func valueTicks(a Axis, whole bool) []Tick {
	pixels := math.Abs(a.To - a.From)
	if a.Log() {
		return thinned(a, decades(a.Low, a.High), valueHeight)
	}
	most := max(pixels/valueSpace, 2.5) // steps grow by at most 5/2, so the first multiple lies on the axis
	step := math.Pow(10, math.Floor(math.Log10(a.High/most)))
	for _, digit := range []float64{1, 2, 5, 10} {
		if a.High/(step*digit) <= most {
			step *= digit
			break
		}
	}
	if whole {
		step = max(step, 1)
	}
	var ticks []Tick
	for i := 0.0; i*step <= a.High*(1+1e-9); i++ {
		ticks = append(ticks, Tick{i * step, valueLabel(i * step)})
	}
	return ticks
}

// decades returns 0 and the powers of ten. If these are few, it adds their multiples
// without labels.
func decades(low, high float64) []Tick {
	ticks := []Tick{{0, "0"}}
	for unit := decade(low); unit <= high*(1+1e-9); unit *= 10 {
		if unit >= low*(1-1e-9) {
			ticks = append(ticks, Tick{unit, valueLabel(unit)})
		}
		for digit := 2.0; digit < 10 && digit*unit <= high && high/low < 1e5; digit++ {
			ticks = append(ticks, Tick{Value: digit * unit})
		}
	}
	return ticks
}

// thinned removes labels less than apart pixels from the previous label.
func thinned(a Axis, ticks []Tick, apart float64) []Tick {
	last := math.Inf(-1)
	for i := range ticks {
		at := math.Abs(a.Place(ticks[i].Value) - a.From)
		switch {
		case ticks[i].Label == "":
		case at-last < apart-0.01:
			ticks[i].Label = ""
		default:
			last = at
		}
	}
	return ticks
}

// valueLabel returns a number as a short label, such as 0.05, 250, 2.5k or 10M.
func valueLabel(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.size*(1-1e-9) {
			return digits(n/unit.size) + unit.name
		}
	}
	return digits(n)
}

// digits returns a number with at most four significant digits.
func digits(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }
