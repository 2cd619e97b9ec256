package backoff

import (
	"time"
)

// terms are the inputs of a decision besides the ExitPolicy.
type terms struct {
	curve   *Policy // of the key
	valid   bool    // false if curve replaces an invalid one
	rand    func() float64
	limit   int // restarts within window; 0: no limit
	window  time.Duration
	history int // exits to remember before the last
}

// next brings the history h to after the new exit e under c, with the decision about
// it. It reads no clock and takes no lock; the caller adds the turn under Rate. It works
// in place because copies of a history nearly double the time of Exited.
func (t *terms) next(h *history, c *ExitPolicy, e *Exit, clockTime time.Time, now time.Duration) {
	if t.history > 0 && h.decision.Action != "" {
		h.remember(t.history)
	}
	*e = e.reportedAt(clockTime)
	failures := h.decision.Failures
	if e.ran() > t.curve.ResetThreshold() {
		failures = 0
	}
	action, rule := c.decide(e, addCount(failures, 1))
	if action != ActionStop || e.Code != 0 {
		failures = addCount(failures, 1)
	}
	h.setLast(*e, clockTime)
	h.reported, h.due, h.started = now, now, false
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
}

// schedule sets the restart to delay after finished.
func (h *history) schedule(delay time.Duration, finished, clockTime time.Time, now time.Duration) {
	h.due = max(add(now, delay-clockTime.Sub(finished)), now)
	h.decision.Delay = delay
	h.decision.NotBefore = finished.Round(0).Add(delay) // without the monotonic reading, which JSON would lose
}

// countByRule updates the rules' own counts for the last exit and forgets those of
// removed rules; a policy without rules leaves all counts alone. It returns the curve
// of the exit's delay with the failures to apply it to. These belong to the rule that
// decided if it has a valid Delay, and to the key otherwise.
func (h *history) countByRule(rules Rules, curve *Policy, now time.Duration) (*Policy, int) {
	d := &h.decision
	ran := h.last.ran()
	own := -1
	kept := h.counts[:0]
	for i := range h.counts {
		n := &h.counts[i]
		if !n.find(rules) {
			continue
		}
		if ran > n.reset {
			n.failures = 0
		}
		if len(rules) > 0 && n.rule == d.Rule {
			own = len(kept)
		}
		kept = append(kept, *n)
	}
	clear(h.counts[len(kept):])
	h.counts = kept
	if d.Rule < 0 || !rules[d.Rule].counts() {
		return curve, d.Failures
	}
	rule := &rules[d.Rule]
	if own < 0 {
		own = len(h.counts)
		h.counts = append(h.counts, ruleCount{rule: d.Rule, name: rule.Name})
		h.counts[own].follow(rule)
	}
	n := &h.counts[own]
	failures := d.Failures
	if rule.Delay != nil && rule.Delay.valid() {
		n.failures = addCount(n.failures, 1)
		curve, failures = rule.Delay, n.failures
		d.RuleFailures = n.failures
	} else if rule.Delay != nil {
		d.PolicyInvalid = true
	}
	if rule.Limit > 0 && !n.allow(rule, now) {
		d.Action = ActionGiveUp
	}
	return curve, failures
}
