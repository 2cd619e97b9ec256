package backoff

import (
	"iter"
	"math"
	"time"
)

// Timeline yields the instants at which a workload is restarted, measured from its
// first start, if its n-th run lasts run(n) and then fails; the first run is 1. It
// shows what a curve does before it is rolled out. Jitter is left out, and a
// negative run counts as 0. The sequence ends only at the largest duration, after
// 292 years.
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

// Window is the time after From, up to and including To, both measured from the
// first start of a workload. It is empty unless From is before To; the zero value
// is empty. An Interval is a plain value.
type Window struct {
	From, To time.Duration
}

// Restarts returns how many instants of a Timeline lie in the interval, if every
// run lasts that long. It saturates at the largest int. Its time does not grow with
// the interval: where the delay no longer grows, it divides instead of counting.
func (p Policy) Restarts(run time.Duration, in Window) int {
	run, in.To = max(run, 0), min(in.To, math.MaxInt64-1)
	if run > p.ResetThreshold() {
		return countSteps(0, addDuration(run, p.Delay(1)), math.MaxInt, in)
	}
	// The free restarts, then the growing ones, then those whose delay stays.
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

// countSteps returns how many of the instants start + k*step, k = 1..steps, lie
// in the interval.
func countSteps(start, step time.Duration, steps int, in Window) int {
	until := func(end time.Duration) uint64 { // how many lie at or before end
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
