package main

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/plot"
)

// setAxes gives a plot the axes of its figure, without labels: those of a
// logarithmic axis take room as if they stood at its end.
func setAxes(f *figure, p *plot.Plot) {
	p.X.Min, p.X.Max = 0, f.end.Seconds()
	p.X.Tick.Marker = plot.TickerFunc(timeTicks)
	if f.logTime {
		p.X.Min, p.X.Scale, p.X.Tick.Marker = f.leastTime(), plot.LogScale{}, plot.TickerFunc(logTimeTicks)
	}

	highest := 1.0
	for _, c := range f.curves {
		highest = max(highest, f.shown(c).restarts(-1, f.end))
	}
	p.Y.Min, p.Y.Max = 0, 1.05*highest
	p.Y.Tick.Marker = plot.TickerFunc(countTicks)
	if f.logCount {
		p.Y.Min, p.Y.Max, p.Y.Scale, p.Y.Tick.Marker = 1, max(10, 1.2*highest), plot.LogScale{}, plot.TickerFunc(logCountTicks)
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Padding = 0
		axis.Tick.Label.Font = sans(9)
	}
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

// timeTicks marks round times on a linear axis of seconds.
func timeTicks(low, high float64) []plot.Tick {
	step := (high - low) / 7
	for _, round := range []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
		second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute,
		30 * minute, hour, 2 * hour, 6 * hour, 12 * hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour, 365 * 24 * hour} {
		if round.Seconds() >= step {
			step = round.Seconds()
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high*(1+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: timeLabel(i * step)})
	}
	return ticks
}

// logTimeTicks marks powers of ten of seconds.
func logTimeTicks(low, high float64) []plot.Tick {
	return decades(low, high, func(seconds float64) string {
		if seconds < 1 {
			return timeLabel(seconds)
		}
		return power(seconds) + "s"
	})
}

func timeLabel(seconds float64) string {
	return short(time.Duration(math.Round(seconds*1000)) * time.Millisecond)
}

// countTicks marks whole numbers on a linear axis.
func countTicks(low, high float64) []plot.Tick {
	const most = 8
	step := 1.0
	for power := 1.0; (high-low)/step > most; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if step = digit * power; (high-low)/step <= most {
				break
			}
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: number(i * step)})
	}
	return ticks
}

// logCountTicks marks powers of ten.
func logCountTicks(low, high float64) []plot.Tick { return decades(low, high, power) }

// power writes a power of ten, in a few letters also if it is high.
func power(n float64) string {
	if n >= 100_000 {
		return fmt.Sprintf("1e%.0f", math.Log10(n))
	}
	return number(n)
}

// decades marks the powers of ten from low to high, with a label, and their
// multiples, without.
func decades(low, high float64, label func(float64) string) []plot.Tick {
	var ticks []plot.Tick
	for unit := math.Pow(10, math.Floor(math.Log10(low)+1e-9)); unit <= high; unit *= 10 {
		ticks = append(ticks, plot.Tick{Value: unit, Label: label(unit)})
		for digit := 2.0; digit < 10 && digit*unit <= high; digit++ {
			ticks = append(ticks, plot.Tick{Value: digit * unit})
		}
	}
	return ticks
}
