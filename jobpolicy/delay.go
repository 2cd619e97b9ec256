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

// Memory is what a Job's passes hand on to one another and its status has no
// room for. Keep it with the Job: Kubernetes holds its like in memory only and
// loses it at every restart. The zero value is the memory of a new Job.
type Memory struct {
	// The Job-wide streak of failures since the last success; without a limit
	// per index it delays replacements.
	Failures    int       `json:"failures,omitempty"`
	LastFailure time.Time `json:"lastFailure,omitzero"`

	// The same of ignored failures, under IgnoredOwn.
	Ignored     int       `json:"ignored,omitempty"`
	LastIgnored time.Time `json:"lastIgnored,omitzero"`

	// Ahead holds, by UID, the failed pods that the next attempt of their index
	// waits for and whose end lies in the future, with the time at which that was
	// noticed: from then on they wait, however long the clock needs to catch up.
	Ahead map[string]time.Time `json:"ahead,omitempty"`

	// Handled holds the UIDs of finished pods that were decided on but are still
	// there and have no place in the status, so that they are not decided on twice.
	Handled []string `json:"handled,omitempty"`

	// Released holds the UIDs of pods whose end was recorded and whose finalizer
	// was to go. Once the status does not name them any more they are counted, and
	// a view of them that is older than that counts nothing.
	Released []string `json:"released,omitempty"`
}

// after returns the memory after these pods have finished.
func (m Memory) after(succeeded, failed []time.Time) Memory {
	m.Failures, m.LastFailure = streak(m.Failures, m.LastFailure, succeeded, failed)
	return m
}

// streak continues a streak of n failures: any success starts it over, and then
// only failures after the latest success count.
func streak(n int, last time.Time, succeeded, failed []time.Time) (int, time.Time) {
	var success time.Time
	if len(succeeded) > 0 {
		n, last = 0, time.Time{}
		for _, t := range succeeded {
			success = later(success, t)
		}
	}
	var failure time.Time
	counted := 0
	for _, t := range failed {
		if len(succeeded) == 0 || t.After(success) {
			counted++
			failure = later(failure, t)
		}
	}
	if counted == 0 {
		return n, last
	}
	return addCounts(n, counted), failure
}

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
