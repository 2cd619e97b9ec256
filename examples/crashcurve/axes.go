package main

import (
	"math"
	"strconv"
	"time"

	"github.com/restartkit/restart/examples/internal/picture"
)

// axis is an axis of a panel: which values lie between which places.
type axis struct {
	low, high float64 // values; of a logarithmic axis low is above 0
	log       bool
	from, to  float64 // places
}

// place returns where a value lies. What is beyond the axis lies at its end.
func (a axis) place(value float64) float64 {
	part := (value - a.low) / (a.high - a.low)
	if a.log {
		part = math.Log(max(value, a.low)/a.low) / math.Log(a.high/a.low)
	}
	return a.from + (a.to-a.from)*min(max(part, 0), 1)
}

// tick marks a value of an axis. One without a label is a line of the grid only.
type tick struct {
	value float64
	label string
}

// timeAxis returns the axis of time, in seconds.
func (f *figure) timeAxis(from, to float64) (axis, []tick) {
	a := axis{high: f.end.Seconds(), from: from, to: to}
	if f.logTime {
		a.low, a.log = f.leastTime(), true
		return a, logTimeTicks(a.low, a.high)
	}
	return a, timeTicks(a.low, a.high)
}

// countAxis returns the axis of restarts, which begins at the bottom.
func (f *figure) countAxis(bottom, top float64) (axis, []tick) {
	highest := 1.0
	for _, c := range f.curves {
		highest = max(highest, f.shown(c).restarts(-1, f.end))
	}
	a := axis{high: 1.05 * highest, from: bottom, to: top}
	if f.logCount {
		a.low, a.high, a.log = 1, max(10, 1.2*highest), true
		return a, decades(a.low, a.high)
	}
	return a, valueTicks(a.low, a.high, 8, 1)
}

// rateAxis returns the axis of requests per second. It is logarithmic if a linear one
// would show the lowest curve as a flat line.
func (f *figure) rateAxis(all [][]rate, bottom, top float64) (axis, []tick) {
	highest, lowest := 0.0, math.Inf(1) // of the curves' own highest ones
	least := math.Inf(1)
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
	a := axis{high: 1.1 * highest, from: bottom, to: top}
	if highest/lowest > autoLog {
		a.log = true
		a.low = max(math.Pow(10, math.Floor(math.Log10(least))), highest*1e-6)
		return a, decades(a.low, a.high)
	}
	return a, valueTicks(0, a.high, 4, 0)
}

// leastTime is where a logarithmic time axis begins: with a power of ten at or
// before the first restart.
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
	return math.Pow(10, math.Floor(math.Log10(least.Seconds())+1e-9))
}

// roundTimes are the distances of ticks, and the parts of an axis.
var roundTimes = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
	second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute,
	30 * minute, hour, 2 * hour, 6 * hour, 12 * hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour, 365 * 24 * hour}

// timeTicks marks round times on a linear axis of seconds.
func timeTicks(low, high float64) []tick {
	step := (high - low) / 7
	for _, round := range roundTimes {
		if round.Seconds() >= step {
			step = round.Seconds()
			break
		}
	}
	var ticks []tick
	for i := math.Ceil(low / step); i*step <= high*(1+1e-9); i++ {
		ticks = append(ticks, tick{i * step, timeLabel(i * step)})
	}
	return ticks
}

// logTimeTicks marks times that are about ten times the one before, and round in the
// units of time.
func logTimeTicks(low, high float64) []tick {
	var ticks []tick
	for _, at := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, second, 10 * second,
		minute, 10 * minute, hour, 10 * hour, 100 * hour, 1000 * hour, 10_000 * hour} {
		if s := at.Seconds(); s >= low*(1-1e-9) && s <= high*(1+1e-9) {
			ticks = append(ticks, tick{s, picture.Duration(at)})
		}
	}
	return ticks
}

func timeLabel(seconds float64) string {
	return picture.Duration(time.Duration(math.Round(seconds*1000)) * time.Millisecond)
}

// valueTicks marks round numbers on a linear axis, no more than most of them; least is
// the smallest step, 0 for any.
func valueTicks(low, high float64, most int, least float64) []tick {
	step := max(least, math.Pow(10, math.Floor(math.Log10(high-low))-1))
	for power := step; (high-low)/step > float64(most); power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if step = digit * power; (high-low)/step <= float64(most) {
				break
			}
		}
	}
	var ticks []tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, tick{i * step, valueLabel(i * step)})
	}
	return ticks
}

// decades marks the powers of ten with a label and, where there are few, their
// multiples, without.
func decades(low, high float64) []tick {
	var ticks []tick
	for unit := math.Pow(10, math.Floor(math.Log10(low)+1e-9)); unit <= high*(1+1e-9); unit *= 10 {
		if unit >= low*(1-1e-9) {
			ticks = append(ticks, tick{unit, valueLabel(unit)})
		}
		for digit := 2.0; digit < 10 && digit*unit <= high && high/low < 1e5; digit++ {
			ticks = append(ticks, tick{value: digit * unit})
		}
	}
	return ticks
}

// valueLabel writes a number in a few letters: 0.05, 250, 2.5k, 10M.
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

// digits writes a number with three digits behind its first one at most.
func digits(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }
