package jobpolicy

import "time"

// Remaining returns the time left until a replacement, at least 0, given the time since
// the last failed pod ended. The delay is BaseDelay, doubled for each further failure
// in a row, up to MaxDelay (KEP-3850, "Exponential backoff delay per index"). As in
// Kubernetes, MaxDelay does not limit BaseDelay itself. Unlike Kubernetes, Remaining
// treats a negative sinceLast (a failure in the future) as 0, so the wait never exceeds
// the delay.
//
// The caller chooses which failures to count. Kubernetes includes ignored ones.
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

// jobWait returns how long the Job-wide streak delays replacements.
func (e Engine) jobWait(m State, now time.Time) time.Duration {
	wait := e.Remaining(m.Failures, now.Sub(m.LastFailure))
	if e.IgnoredDelay == DelaySeparately {
		wait = max(wait, e.Remaining(m.Ignored, now.Sub(m.LastIgnored)))
	}
	return wait
}

// indexWait returns how long an index waits after its last failed pod, which ended at
// last with the Match m. failures and ignored are the counts before that pod.
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
