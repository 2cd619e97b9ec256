package jobpolicy

import "time"

// Remaining returns the time left until a replacement, at least 0, given the number of
// failures in a row and the time since the last failed pod ended. The delay is
// BaseDelay after the first failure and doubles with each further one, up to MaxDelay
// (KEP-3850, "Exponential backoff delay per index"). As in Kubernetes, MaxDelay does
// not limit BaseDelay itself.
//
// Unlike in Kubernetes, a negative number of failures counts as none, and a negative
// sinceLast, which is a failure in the future, as 0. The wait therefore never exceeds
// the delay.
//
// The caller chooses which failures to count. Kubernetes includes ignored ones.
func (e Engine) Remaining(failures int, sinceLast time.Duration) time.Duration {
	return remaining(e.baseDelay(), e.maxDelay(), failures, sinceLast)
}

func remaining(base, max time.Duration, failures int, sinceLast time.Duration) time.Duration {
	if failures <= 0 || base <= 0 {
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

// jobWait returns how long the failures in a row of the whole Job delay replacements.
func (e Engine) jobWait(s State, now time.Time) time.Duration {
	wait := e.Remaining(s.Failures, now.Sub(s.LastFailure))
	if e.IgnoredDelay == DelaySeparately {
		wait = max(wait, e.Remaining(s.Ignored, now.Sub(s.LastIgnored)))
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

// withNewEnds returns the State of the Input, updated with the pods that have ended since
// the last plan: the failures in a row, and the ends that lie in the future.
func (v *view) withNewEnds() State {
	var succeeded, failed, ignored []time.Time
	for _, p := range v.pods {
		switch {
		case p.handled || !p.newlyEnded():
		case p.succeeded():
			succeeded = append(succeeded, p.finish)
		case p.match.Counted() || v.engine.IgnoredDelay == DelayLikeFailure:
			failed = append(failed, p.finish)
		case v.engine.IgnoredDelay == DelaySeparately:
			ignored = append(ignored, p.finish)
		}
	}
	s := v.in.State
	s.Failures, s.LastFailure = failuresInARow(s.Failures, s.LastFailure, succeeded, failed)
	s.Ignored, s.LastIgnored = failuresInARow(s.Ignored, s.LastIgnored, succeeded, ignored)

	// A failure in the future counts as now. The state keeps this time, because otherwise
	// the delay would start anew with every plan.
	s.LastFailure = earlier(s.LastFailure, v.in.Now)
	s.LastIgnored = earlier(s.LastIgnored, v.in.Now)
	s.Ahead = v.ahead()
	return s
}

// failuresInARow returns the number of failures in a row and the time of the last one. n
// and last are those before the newly ended pods. A success starts the count over, and
// only failures after the latest success are added.
func failuresInARow(n int, last time.Time, succeeded, failed []time.Time) (int, time.Time) {
	var latestSuccess time.Time
	if len(succeeded) > 0 {
		n, last = 0, time.Time{}
		for _, t := range succeeded {
			latestSuccess = later(latestSuccess, t)
		}
	}
	var latestFailure time.Time
	added := 0
	for _, t := range failed {
		if len(succeeded) == 0 || t.After(latestSuccess) {
			added++
			latestFailure = later(latestFailure, t)
		}
	}
	if added == 0 {
		return n, last
	}
	return addCounts(n, added), latestFailure
}

// ahead returns the predecessors that end in the future, with the time when this was
// first noticed, or nil.
func (v *view) ahead() map[string]time.Time {
	var ahead map[string]time.Time
	for _, p := range v.predecessors {
		if end := v.endOf(p); end.Before(p.finish) {
			if ahead == nil {
				ahead = make(map[string]time.Time)
			}
			ahead[p.identity()] = end
		}
	}
	return ahead
}

// endOf returns when the predecessor ended or, for an end in the future, when this was
// first noticed.
func (v *view) endOf(p *podView) time.Time {
	end := p.finish
	if noticed, ok := v.in.State.Ahead[p.identity()]; ok {
		end = earlier(end, noticed)
	}
	return earlier(end, v.in.Now)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// requeue is when to plan again without a change; the zero value means never.
type requeue struct {
	after  time.Duration
	reason RequeueReason
}

// or returns the earlier of the two.
func (r requeue) or(s requeue) requeue {
	if s.reason == "" || r.reason != "" && r.after <= s.after {
		return r
	}
	return s
}

// requeueAfter returns when to plan again after a delay. It postpones short delays to
// MinRequeue, so that replacements that are due at nearly the same time share a plan.
func (e Engine) requeueAfter(delay time.Duration) requeue {
	switch least := e.minRequeue(); {
	case delay == 0:
		return requeue{}
	case delay < least:
		return requeue{least, RequeueBatch}
	}
	return requeue{delay, RequeueDelay}
}
