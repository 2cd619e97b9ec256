package jobpolicy

import "time"

// Remaining returns how long to wait before a replacement, after failures in a
// row of which the last was at last: base, doubled for every failure after the
// first until max, less the time that has passed; never below 0. As in
// Kubernetes max bounds only the doubling, so a base above max is the first
// delay; a negative number of failures counts as one. Unlike there, a failure in
// the future counts as one that happens now, so that the wait never exceeds the
// delay (KEP-3850, "Exponential backoff delay per index").
func Remaining(base, max time.Duration, failures int, last, now time.Time) time.Duration {
	if failures == 0 || base <= 0 {
		return 0
	}
	delay := base
	for n := 1; n < failures; n++ {
		if delay >= max || delay >= max-delay { // the second cannot overflow once the first is false
			delay = max
			break
		}
		delay *= 2
	}
	elapsed := now.Sub(last)
	if elapsed < 0 {
		elapsed = 0
	}
	if elapsed >= delay {
		return 0
	}
	return delay - elapsed
}

// IgnoredDelay says whether failures that an Ignore rule matched lengthen the
// delay before a replacement.
type IgnoredDelay int

// The treatments of ignored failures.
const (
	IgnoredSame IgnoredDelay = iota // as any other failure (Kubernetes)
	IgnoredOwn                      // they have a streak of their own: neither lengthens the other's delay
	IgnoredNone                     // replaced without a delay (KEP-3850's text)
)

// jobWait is how long the Job-wide streak holds replacements back.
func (e Engine) jobWait(m Memory, now time.Time) time.Duration {
	wait := Remaining(e.baseDelay(), e.maxDelay(), m.Failures, m.LastFailure, now)
	if e.IgnoredDelay == IgnoredOwn {
		wait = max(wait, Remaining(e.baseDelay(), e.maxDelay(), m.Ignored, m.LastIgnored, now))
	}
	return wait
}

// indexWait is how long an index waits after its last failed pod, which ended at
// last, of which the policy said m and before which the index had so many
// failures.
func (e Engine) indexWait(failures, ignored int, m Match, last, now time.Time) time.Duration {
	switch {
	case e.IgnoredDelay == IgnoredSame:
		failures = addCounts(failures, ignored)
	case m.Counted():
	case e.IgnoredDelay == IgnoredNone:
		return 0
	default:
		failures = ignored
	}
	return Remaining(e.baseDelay(), e.maxDelay(), addCounts(failures, 1), last, now)
}

// readyIndexes splits off the candidates, which rise, that need not wait. If all
// of them must, wait is the shortest.
func readyIndexes(candidates []int, waitOf func(index int) time.Duration) (ready []int, wait time.Duration) {
	for _, i := range candidates {
		switch w := waitOf(i); {
		case w == 0:
			ready = append(ready, i)
		case wait == 0 || w < wait:
			wait = w
		}
	}
	if len(ready) > 0 {
		wait = 0
	}
	return ready, wait
}
