package backoff

import (
	"iter"
	"math"
	"time"
)

// Timeline yields the times at which a workload restarts, measured from its first
// start. Its n-th run, counted from 1, fails after run(n). Jitter is ignored, and a
// negative run counts as 0. The sequence ends only at the largest time.Duration.
func (p Policy) Timeline(run func(n int) time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		var at time.Duration
		failures := 0
		for n := 1; ; n++ {
			length := max(run(n), 0)
			if length > p.ResetThreshold() {
				failures = 0
			}
			failures = addCount(failures, 1)
			at = addDuration(addDuration(at, length), p.Delay(failures))
			if at == math.MaxInt64 || !yield(at) {
				return
			}
		}
	}
}

// Window is the time after From, up to and including To, measured from a workload's
// first start.
type Window struct {
	From, To time.Duration
}

// Restarts returns the number of a Timeline's restarts within a window if every run
// lasts run. Its cost does not grow with the window.
func (p Policy) Restarts(run time.Duration, in Window) int {
	run, in.To = max(run, 0), min(in.To, math.MaxInt64-1)
	if run > p.ResetThreshold() {
		return countSteps(0, addDuration(run, p.Delay(1)), math.MaxInt, in)
	}
	// First free restarts, then growing delays, then a constant delay, which needs no
	// counting.
	total := countSteps(0, run, p.FreeFailures, in)
	at := multiplyDuration(run, p.FreeFailures)
	for failures := addCount(p.FreeFailures, 1); at <= in.To; failures = addCount(failures, 1) {
		delay := p.Delay(failures)
		if delay == p.Max || p.Factor == 1 || failures == math.MaxInt {
			return addCount(total, countSteps(at, addDuration(run, delay), math.MaxInt, in))
		}
		at = addDuration(at, addDuration(run, delay))
		total = addCount(total, countSteps(at, 0, 1, in))
	}
	return total
}

// countSteps returns how many of the instants start + k*step, k = 1..steps, lie within
// the window.
func countSteps(start, step time.Duration, steps int, in Window) int {
	until := func(end time.Duration) uint64 { // number of instants at or before end
		switch {
		case end < start:
			return 0
		case step == 0:
			return uint64(steps)
		}
		return min((uint64(end)-uint64(start))/uint64(step), uint64(steps))
	}
	if in.To <= in.From {
		return 0
	}
	return int(min(until(in.To)-until(in.From), math.MaxInt))
}
