package jobpolicy

import "time"

// continued returns the state with the streaks extended by newly ended pods, and with
// the ends in the future.
func (v *view) continued() State {
	var succeeded, failed, ignored []time.Time
	for _, p := range v.pods {
		switch {
		case p.handled || !p.newlyEnded():
		case p.succeeded:
			succeeded = append(succeeded, p.finish)
		case p.match.Counted() || v.engine.IgnoredDelay == DelayLikeFailure:
			failed = append(failed, p.finish)
		case v.engine.IgnoredDelay == DelaySeparately:
			ignored = append(ignored, p.finish)
		}
	}
	m := v.in.State
	m.Failures, m.LastFailure = streak(m.Failures, m.LastFailure, succeeded, failed)
	m.Ignored, m.LastIgnored = streak(m.Ignored, m.LastIgnored, succeeded, ignored)

	// Move ends in the future to now, once; otherwise they would be now forever.
	m.LastFailure = earlier(m.LastFailure, v.in.Now)
	m.LastIgnored = earlier(m.LastIgnored, v.in.Now)
	m.Ahead = v.ahead()
	return m
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

// streak extends a streak of n failures. A success resets it, and then only failures
// after the latest success count.
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
