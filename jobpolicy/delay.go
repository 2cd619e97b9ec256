package jobpolicy

import "time"

// Remaining returns how long to wait before a replacement: BaseDelay, doubled for
// every failure in a row after the first until MaxDelay, less the time that has
// passed since the last one ended; never below 0. failures counts that last one
// too: 0 has no delay, and a negative number counts as 1. As in Kubernetes
// MaxDelay bounds only the doubling, so a BaseDelay above it is the first delay.
// Unlike there, a failure in the future (sinceLast below 0) counts as one that
// happens now, so that the wait never exceeds the delay (KEP-3850, "Exponential
// backoff delay per index").
//
// Which failures to count is the caller's choice: those of the Job, or of an
// index; Kubernetes counts ignored ones too.
func (e Engine) Remaining(failures int, sinceLast time.Duration) time.Duration {
	return remaining(e.baseDelay(), e.maxDelay(), failures, sinceLast)
}

func remaining(base, max time.Duration, failures int, sinceLast time.Duration) time.Duration {
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
	switch {
	case sinceLast < 0:
		sinceLast = 0
	case sinceLast >= delay:
		return 0
	}
	return delay - sinceLast
}

// jobWait is how long the Job-wide streak holds replacements back.
func (e Engine) jobWait(m State, now time.Time) time.Duration {
	wait := e.Remaining(m.Failures, now.Sub(m.LastFailure))
	if e.IgnoredDelay == DelaySeparately {
		wait = max(wait, e.Remaining(m.Ignored, now.Sub(m.LastIgnored)))
	}
	return wait
}

// indexWait is how long an index waits after its last failed pod, which ended at
// last, of which the policy said m and before which the index had so many
// failures.
func (e Engine) indexWait(failures, ignored int, m Match, last, now time.Time) time.Duration {
	switch {
	case e.IgnoredDelay == DelayLikeFailure:
		failures = addCounts(failures, ignored)
	case m.Counted():
	case e.IgnoredDelay == NoDelay:
		return 0
	default:
		failures = ignored
	}
	return e.Remaining(addCounts(failures, 1), now.Sub(last))
}
