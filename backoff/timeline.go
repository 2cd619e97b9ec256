package backoff

import (
	"iter"
	"math"
	"time"
)

// Timeline yields when a workload restarts, measured from its first start, if
// its n-th run (the first is 1) lasts run(n) and then fails: what the curve does
// to a node, before it is rolled out. Jitter is left out, a negative run counts
// as 0. The sequence has no end but the largest duration, 292 years.
func (p Policy) Timeline(run func(n int) time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		var at time.Duration
		failures := 0
		for n := 1; ; n++ {
			length := max(run(n), 0)
			if length > p.resetAfter() {
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

// Restarts counts the restarts of a Timeline whose runs all last run in the
// window (from, to]. It saturates at the largest int. Where the delay no longer
// grows it divides instead of counting, so a long window costs nothing.
func (p Policy) Restarts(run, from, to time.Duration) int {
	run, to = max(run, 0), min(to, math.MaxInt64-1)
	if run > p.resetAfter() {
		return countSteps(0, addDuration(run, p.Delay(1)), math.MaxInt, from, to)
	}
	// The free restarts, then the growing ones, then those whose delay stays.
	total := countSteps(0, run, p.Free, from, to)
	at := multiplyDuration(run, p.Free)
	for failures := addCount(p.Free, 1); at <= to; failures = addCount(failures, 1) {
		delay := p.Delay(failures)
		if delay == p.Max || p.Factor == 1 || failures == math.MaxInt {
			return addCount(total, countSteps(at, addDuration(run, delay), math.MaxInt, from, to))
		}
		at = addDuration(at, addDuration(run, delay))
		total = addCount(total, countSteps(at, 0, 1, from, to))
	}
	return total
}

// countSteps returns how many of the instants start + k*step, k = 1..steps, lie
// in (from, to].
func countSteps(start, step time.Duration, steps int, from, to time.Duration) int {
	until := func(end time.Duration) uint64 { // how many lie at or before end
		switch {
		case end < start:
			return 0
		case step == 0:
			return uint64(steps)
		}
		return min((uint64(end)-uint64(start))/uint64(step), uint64(steps))
	}
	if to <= from {
		return 0
	}
	return int(min(until(to)-until(from), math.MaxInt))
}

// addCount returns a+b for a, b >= 0, at most the largest int.
func addCount(a, b int) int {
	return a + min(b, math.MaxInt-a)
}

// multiplyDuration returns d*n for d, n >= 0, at most the largest duration.
func multiplyDuration(d time.Duration, n int) time.Duration {
	if d > 0 && int64(n) > math.MaxInt64/int64(d) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}
