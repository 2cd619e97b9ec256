package backoff

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/field"
)

// RestarterState is the state of one key, for display and storage. Restoring it
// preserves idempotence, backoff and Limit. A caller that numbers its runs must
// continue with Last.Run+1; see Exit.
//
// JSON represents states exactly, except for times outside the years 0 to 9999. To this
// end, State converts times to UTC if JSON cannot represent their zone's offset, and
// replaces invalid UTF-8 with U+FFFD, so a rule with such a name starts counting anew.
type RestarterState struct {
	// Last is the last exit. A Finished that was zero or in the future is replaced by
	// the time of the report.
	Last Exit `json:"last"`
	// Finished is the reported Finished of Last if that was in the future. It is zero
	// if that was after the year 9999, which JSON cannot represent.
	Finished time.Time    `json:"finished,omitzero"`
	Decision Decision     `json:"decision"`          // about Last
	Started  bool         `json:"started,omitempty"` // Restarter.Started was called for the restart
	Recent   []time.Time  `json:"recent,omitempty"`  // when restarts counted by Limit were decided, oldest first
	Rules    []RuleState  `json:"rules,omitempty"`   // counts of rules with a Delay or a Limit
	History  []ExitRecord `json:"history,omitempty"` // exits before Last, oldest first; at most the option History
}

// State returns the state of key and reports whether key is known.
func (r *Restarter[K]) State(key K) (RestarterState, bool) {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if !ok {
		return RestarterState{}, false
	}
	clockTime = storable(clockTime)
	last := h.last
	last.Finished = last.Finished.Add(-h.ahead)
	state := RestarterState{Last: last.storedAt(clockTime), Decision: h.decision, Started: h.started, Recent: timesOf(h.recent, clockTime, now)}
	if at := storable(h.last.Finished); at.After(state.Last.Finished) && at.Year() <= 9999 {
		state.Finished = at
	}
	d := &state.Decision
	d.RuleName = storableText(d.RuleName)
	d.NotBefore = earlier(storable(d.NotBefore), clockTime.Add(max(subtract(h.due, now), 0)))
	for _, n := range h.counts {
		name := storableText(n.name)
		if len(state.Rules) == maxRules || name != "" && slices.ContainsFunc(state.Rules, func(o RuleState) bool { return o.Name == name }) {
			continue // Restore rejects the surplus rules and repeated names of an invalid policy
		}
		state.Rules = append(state.Rules, RuleState{n.rule, name, n.failures, n.used, timesOf(n.recent, clockTime, now), n.keep, n.reset})
	}
	state.History = h.earlier.list()
	for i := range state.History {
		o := &state.History[i]
		o.Exit = o.Exit.storedAt(clockTime)
		o.Decision.RuleName = storableText(o.Decision.RuleName)
		if !o.Decision.NotBefore.IsZero() {
			o.Decision.NotBefore = earlier(storable(o.Decision.NotBefore), clockTime.Add(o.Decision.Delay))
		}
	}
	return state, true
}

// storedAt returns e in a form that JSON can represent. Times later than the clock,
// which was set back, become the clock's time.
func (e Exit) storedAt(clockTime time.Time) Exit {
	e.Reason = storableText(e.Reason)
	e.Started = earlier(storable(e.Started), clockTime)
	e.Finished = earlier(storable(e.Finished), clockTime)
	return e
}

// storableText returns s as it would come back from JSON.
func storableText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// storable returns t without its monotonic reading. It converts t to UTC if JSON cannot
// represent the zone's offset, because losing an offset's seconds would move the
// instant.
func storable(t time.Time) time.Time {
	const day = 24 * 60 * 60
	if _, offset := t.Zone(); offset%60 != 0 || offset <= -day || offset >= day {
		t = t.UTC()
	}
	return t.Round(0)
}

// timesOf returns steady times as wall-clock times.
func timesOf(recent []time.Duration, clockTime time.Time, now time.Duration) (times []time.Time) {
	for _, at := range recent {
		times = append(times, clockTime.Add(subtract(at, now)))
	}
	return times
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// All yields every key with its state, in no particular order. A key that changes
// meanwhile is yielded at most once, in a state it had. The loop may use the Restarter.
func (r *Restarter[K]) All() iter.Seq2[K, RestarterState] {
	return func(yield func(K, RestarterState) bool) {
		for key := range r.keys.keys() {
			if s, ok := r.State(key); ok && !yield(key, s) {
				return
			}
		}
	}
}

// Restore sets the state of key to s. A Delay above the current policy's Max is lowered
// to Max, unless it comes from a rule's curve. A restart whose wait is not over takes a
// new turn under Rate, regardless of restarts before s was stored; see Start for others.
//
// Times later than the clock are lowered to the clock's time, but a NotBefore only to
// Delay after it; Lowered counts them. With the option RefuseFuture, such times are
// mistakes. If s is invalid or contradictory, nothing changes, and the error wraps
// field.Errors listing every mistake by its JSON path.
func (r *Restarter[K]) Restore(key K, s RestarterState) error {
	s, lowered, errs := r.accept(s)
	if err := errs.Err(); err != nil {
		return fmt.Errorf("backoff: Restarter.Restore(%s): %w", keyText(key), err)
	}
	policy, _ := r.policyFor(key, s.Last)
	r.restore(key, s, policy)
	r.lowered.Add(int64(lowered))
	return nil
}

// Lowered returns how many timestamps in restored states were lowered because they were
// later than the clock. A number above 0 means that the clock was set back, or the
// state comes from a machine whose clock is ahead.
func (r *Restarter[K]) Lowered() int { return int(r.lowered.Load()) }

// accept returns s as Restore takes it, the number of lowered times, and the mistakes.
func (r *Restarter[K]) accept(s RestarterState) (RestarterState, int, field.Errors) {
	clockTime, _ := r.clock.now()
	lowered := 0
	if !r.options.RefuseFuture {
		s, lowered = s.lowered(clockTime)
	}
	return s, lowered, s.validate(clockTime)
}

// lowered returns s without times later than now, and their number. A reported Finished
// stays in s.Finished, to recognize the same exit.
func (s RestarterState) lowered(now time.Time) (RestarterState, int) {
	n := 0
	lower := func(at *time.Time, limit time.Time) {
		if at.After(limit) {
			*at = limit
			n++
		}
	}
	record := func(e *Exit, d *Decision) {
		lower(&e.Started, now)
		lower(&e.Finished, now)
		lower(&d.NotBefore, now.Add(max(d.Delay, 0)))
	}
	times := func(recent []time.Time) []time.Time {
		recent = slices.Clone(recent)
		for i := range recent {
			lower(&recent[i], now)
		}
		return recent
	}
	if now = now.Round(0); s.Last.Finished.After(now) && s.Finished.IsZero() {
		s.Finished = s.Last.Finished
	}
	record(&s.Last, &s.Decision)
	s.Recent = times(s.Recent)
	s.Rules = slices.Clone(s.Rules)
	for i := range s.Rules {
		s.Rules[i].Recent = times(s.Rules[i].Recent)
	}
	s.History = slices.Clone(s.History)
	for i := range s.History {
		record(&s.History[i].Exit, &s.History[i].Decision)
	}
	return s, n
}

// restore sets the state of key to s, which was valid a moment ago.
func (r *Restarter[K]) restore(key K, s RestarterState, policy Policy) {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	old, known := lookup(shard, hash, key)
	if known {
		r.unbook(old, now)
	}
	h := &history{decision: s.Decision, due: now, reported: now}
	last := s.Last.reportedAt(clockTime)
	ended := last.Finished
	if !s.Finished.IsZero() {
		last.Finished = s.Finished
	}
	h.setLast(last, ended)
	for _, rule := range s.Rules {
		h.counts = append(h.counts, ruleCount{rule.Rule, rule.Name, rule.Failures, rule.Used, steadyTimes(rule.Recent, maxLimit, clockTime, now), rule.Keep, rule.Reset})
	}
	h.keep = r.keepFor(policy.ResetThreshold(), h.counts)
	if h.started = s.Started; h.decision.Action.restarts() {
		r.resume(h, policy, clockTime, now)
	}
	if r.options.Limit > 0 {
		h.recent = steadyTimes(s.Recent, r.options.Limit, clockTime, now)
	}
	if n := min(len(s.History), r.options.History); n > 0 {
		h.earlier = &outcomes{ring: slices.Clone(s.History[len(s.History)-n:])}
	}
	if known {
		*old = *h
	} else {
		shard.insert(hash, key, h)
	}
	r.waiters.wake(key)
}

// steadyTimes returns the newest n times as steady times, oldest first.
func steadyTimes(times []time.Time, n int, clockTime time.Time, now time.Duration) (recent []time.Duration) {
	times = slices.SortedFunc(slices.Values(times), time.Time.Compare)
	for _, at := range times[max(0, len(times)-n):] {
		recent = append(recent, add(now, at.Sub(clockTime)))
	}
	return recent
}

// resume continues the wait of a restored decision.
func (r *Restarter[K]) resume(h *history, policy Policy, clockTime time.Time, now time.Duration) {
	d := &h.decision
	pending := d.NotBefore.After(clockTime)
	if over := d.Delay - policy.Max; over > 0 && d.RuleFailures == 0 {
		d.Delay -= over
		d.NotBefore = d.NotBefore.Add(-over)
	}
	h.due = add(now, min(d.NotBefore.Sub(clockTime), d.Delay)) // the clock may have been set back since
	if r.bucket == nil || !pending || h.started {
		return
	}
	free := max(h.due, now)
	h.due, h.booked = r.bucket.book(now, free), true
	if later := h.due - free; later > 0 {
		d.Delay = add(d.Delay, later)
	}
	d.NotBefore = clockTime.Round(0).Add(h.due - now)
}

// validate returns every field that is out of bounds at the clock's now or contradicts
// another field.
func (s RestarterState) validate(now time.Time) (errs field.Errors) {
	v := stateChecker{&errs, now}
	v.times("last.", s.Last)
	v.errs.Check(s.Finished.IsZero() || s.Finished.After(s.Last.Finished), "finished", s.Finished, fmt.Sprintf("later than last.finished, %v", s.Last.Finished))
	v.decision("decision.", s.Decision, s.Last)
	v.errs.Check(!s.Started || s.Decision.Action.restarts(), "started", s.Started, "false without a restart")
	for i, at := range s.Recent {
		v.notAfter(at, fmt.Sprintf("recent[%d]", i), now)
	}
	for i, rule := range s.Rules {
		v.rule(fmt.Sprintf("rules[%d].", i), rule)
		for _, other := range s.Rules[:min(i, maxRules)] {
			if rule.Name == other.Name && (rule.Name != "" || rule.Rule == other.Rule) {
				errs.Add(field.Duplicate, fmt.Sprintf("rules[%d]", i), nil, "must not repeat a rule")
			}
		}
	}
	for i, o := range s.History {
		path := fmt.Sprintf("history[%d].", i)
		v.times(path+"exit.", o.Exit)
		v.decision(path+"decision.", o.Decision, o.Exit)
	}
	errs.Check(len(s.Rules) <= maxRules, "rules", len(s.Rules), fmt.Sprintf("at most %d", maxRules))
	errs.Check(len(s.History) <= maxHistory, "history", len(s.History), fmt.Sprintf("at most %d", maxHistory))
	return errs
}

// stateChecker collects values that no Restarter returns.
type stateChecker struct {
	errs *field.Errors
	now  time.Time // of the clock
}

func (v *stateChecker) notAfter(at time.Time, path string, limit time.Time) {
	v.errs.Check(!at.After(limit), path, at, fmt.Sprintf("at most %v", limit))
}

func (v *stateChecker) times(path string, e Exit) {
	v.notAfter(e.Started, path+"started", v.now)
	v.notAfter(e.Finished, path+"finished", v.now)
}

func (v *stateChecker) decision(path string, d Decision, e Exit) {
	errs, restarts := v.errs, d.Action.restarts()
	if d.Action != ActionStop && !d.Action.decides() {
		errs.Add(field.NotSupported, path+"action", string(d.Action), "must be Stop, Restart, RestartAllContainers or GiveUp")
	}
	errs.Check(d.Delay >= 0, path+"delay", d.Delay, ">= 0")
	v.notAfter(d.NotBefore, path+"notBefore", v.now.Add(max(d.Delay, 0)))
	errs.Check(d.Failures >= 0, path+"failures", d.Failures, ">= 0")
	errs.Check(d.Rule >= -1, path+"rule", d.Rule, ">= -1")
	errs.Check(d.RuleFailures >= 0, path+"ruleFailures", d.RuleFailures, ">= 0")
	// Fields in bounds that contradict each other.
	errs.Check(d.Failures != 0 || d.Action == ActionStop && e.Code == 0, path+"failures", d.Failures, ">= 1 after an exit that counts")
	errs.Check(restarts || d.Delay <= 0, path+"delay", d.Delay, "0 without a restart")
	errs.Check(restarts || d.NotBefore.IsZero(), path+"notBefore", d.NotBefore, "zero without a restart")
	errs.Check(d.Delay <= 0 || !d.NotBefore.IsZero(), path+"notBefore", d.NotBefore, "given with a delay")
	errs.Check(d.Action != ActionStop || d.Rule < 0, path+"rule", d.Rule, "-1 with action Stop")
	errs.Check(d.Action != ActionRestartAll || d.Rule != -1, path+"rule", d.Rule, ">= 0 with action RestartAllContainers")
	errs.Check(d.RuleName == "" || d.Rule != -1, path+"ruleName", d.RuleName, "empty without a rule")
	errs.Check(d.RuleFailures <= 0 || d.Rule != -1, path+"ruleFailures", d.RuleFailures, "0 without a rule")
}

func (v *stateChecker) rule(path string, s RuleState) {
	v.errs.Check(s.Rule >= 0, path+"rule", s.Rule, ">= 0")
	v.errs.Check(s.Failures >= 0, path+"failures", s.Failures, ">= 0")
	v.errs.Check(s.Used >= 0, path+"used", s.Used, ">= 0")
	v.errs.Check(s.Keep >= 0, path+"keep", s.Keep, ">= 0")
	v.errs.Check(s.Reset >= 0, path+"reset", s.Reset, ">= 0")
	for i, at := range s.Recent {
		v.notAfter(at, fmt.Sprintf("%srecent[%d]", path, i), v.now)
	}
}
