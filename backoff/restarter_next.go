package backoff

import (
	"slices"
	"time"
)

// terms are what decides about an exit besides its ExitPolicy.
type terms struct {
	curve   *Policy // of the key
	valid   bool    // it is what PolicyFor gave
	rand    func() float64
	limit   int // restarts within window; 0: no limit
	window  time.Duration
	history int // exits to remember before the last
}

// next returns the history h after the new exit e under c, with the decision about it.
// It reads no clock and takes no lock; the caller adds the turn under Rate. The memory of
// h passes to the result.
func (t *terms) next(h history, c *ExitPolicy, e Exit, clockTime time.Time, now time.Duration) history {
	if t.history > 0 && h.decision.Action != "" {
		h.remember(t.history)
	}
	e = e.reportedAt(clockTime)
	failures := h.decision.Failures
	if e.ran() > t.curve.ResetThreshold() {
		failures = 0
	}
	action, rule := c.decide(&e, addCount(failures, 1))
	if action != ActionStop || e.Code != 0 {
		failures = addCount(failures, 1)
	}
	h.setLast(e, clockTime)
	h.reported, h.due = now, now
	h.decision = Decision{Action: action, Failures: failures, Rule: rule, PolicyInvalid: !t.valid}
	curve, count := t.curve, failures
	if rule >= 0 {
		h.decision.RuleName = c.Rules[rule].Name
	}
	if h.counts != nil || rule >= 0 && c.Rules[rule].counts() {
		curve, count = h.countByRule(c.Rules, curve, now)
	}
	if t.limit > 0 && h.decision.Action.restarts() && !(rule >= 0 && c.Rules[rule].Limit > 0) &&
		!allow(&h.recent, t.limit, t.window, now) {
		h.decision.Action = ActionGiveUp
	}
	if h.decision.Action.restarts() {
		delay := curve.jittered(curve.delay(count), t.rand)
		if e.RetryAfter > delay {
			delay = min(e.RetryAfter, curve.Max)
		}
		h.schedule(delay, e.finished(clockTime), clockTime, now)
	}
	return h
}

// schedule sets when the key is restarted: delay after finished.
func (h *history) schedule(delay time.Duration, finished, clockTime time.Time, now time.Duration) {
	h.due = max(add(now, delay-clockTime.Sub(finished)), now)
	h.decision.Delay = delay
	h.decision.NotBefore = finished.Round(0).Add(delay) // without the monotonic reading, which JSON would lose
}

// allow counts one more restart against a limit, or reports that it is used up.
func allow(recent *[]time.Duration, limit int, window, now time.Duration) bool {
	if window > 0 {
		*recent = slices.DeleteFunc(*recent, func(at time.Duration) bool { return subtract(now, at) >= window })
	}
	if len(*recent) >= limit {
		return false
	}
	*recent = append(*recent, now)
	return true
}
