package backoff

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/restartkit/restart/internal/quote"
)

// RestarterState is everything a Restarter knows about one key, for persistence
// and display: with it idempotence, backoff and Limit survive the end of the
// process. After Restore, a caller that numbers its runs goes on with Last.Run+1:
// an exit with Last.Run is taken for Last itself, and one with a lower Run for an
// older one unless it finished later. The zero value is not accepted by Restore. A
// RestarterState is safe for concurrent use by multiple goroutines while nobody
// writes to it.
type RestarterState struct {
	Failures int         `json:"failures"`         // in a row; >= 0, the same as in Decision
	Last     Exit        `json:"last"`             // the exit decided about; no later than the clock; Finished is when it was told if it did not say
	Decision Decision    `json:"decision"`         // about it
	Recent   []time.Time `json:"recent,omitempty"` // when the restarts that Limit counts were decided, oldest first
}

// State returns the state of key, and whether there is one.
func (r *Restarter[K]) State(key K) (RestarterState, bool) {
	shard, hash := r.records.lock(key)
	defer shard.mu.Unlock()
	rec, ok := lookup(shard, hash, key)
	if !ok {
		return RestarterState{}, false
	}
	clockTime, now := r.clock.now()
	clockTime = clockTime.Round(0)
	state := RestarterState{Failures: rec.decision.Failures, Last: rec.last, Decision: rec.decision}
	// What lies beyond the clock, because the clock was set back, is held to it.
	state.Last.Started = earlier(rec.last.Started.Round(0), clockTime)
	state.Last.Finished = earlier(rec.last.Finished.Round(0), clockTime)
	if d := &state.Decision; d.NotBefore.After(clockTime.Add(d.Delay)) {
		d.NotBefore = clockTime.Add(rec.remaining(now))
	}
	for _, at := range rec.recent {
		state.Recent = append(state.Recent, clockTime.Add(at-now))
	}
	return state, true
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// All yields the state of every key, in no order. It is weakly consistent: a key
// that changes meanwhile is yielded at most once, in a state it has had. The
// Restarter may be used inside the loop.
func (r *Restarter[K]) All() iter.Seq2[K, RestarterState] {
	return func(yield func(K, RestarterState) bool) {
		for key := range r.records.keys() {
			if s, ok := r.State(key); ok && !yield(key, s) {
				return
			}
		}
	}
}

// Restore sets the state of key to s, usually one that an earlier Restarter
// returned. A Delay above the Max of the present policy is cut to it; a restart
// that is still to come takes its turn under Rate anew, in a bucket that knows of
// no restart before. The error names every field that is out of bounds; times
// later than the clock are, and what no Restarter returns.
func (r *Restarter[K]) Restore(key K, s RestarterState) error {
	policy, _ := r.policyFor(key, s.Last)
	shard, hash := r.records.lock(key)
	defer shard.mu.Unlock()
	clockTime, now := r.clock.now()
	if err := s.validate(clockTime).Err(); err != nil {
		return fmt.Errorf("backoff: Restarter.Restore(%s): %w", quote.Text(fmt.Sprint(key)), err)
	}
	old, known := lookup(shard, hash, key)
	if known {
		r.unbook(old, now)
	}
	rec := &record{last: s.Last.toldAt(clockTime), decision: s.Decision, due: now, told: now, keep: r.keepFor(policy)}
	if rec.decision.Action.restarts() {
		r.resume(rec, policy, clockTime, now)
	}
	if r.options.Limit > 0 {
		recent := slices.SortedFunc(slices.Values(s.Recent), time.Time.Compare)
		for _, at := range recent[max(0, len(recent)-r.options.Limit):] {
			rec.recent = append(rec.recent, add(now, at.Sub(clockTime)))
		}
	}
	if known {
		*old = *rec
	} else {
		shard.insert(hash, key, rec)
	}
	return nil
}

// resume takes up the wait of a restored decision.
func (r *Restarter[K]) resume(rec *record, policy Policy, clockTime time.Time, now time.Duration) {
	d := &rec.decision
	pending := d.NotBefore.After(clockTime)
	if over := d.Delay - policy.Max; over > 0 {
		d.Delay -= over
		d.NotBefore = d.NotBefore.Add(-over)
	}
	rec.due = add(now, d.NotBefore.Sub(clockTime))
	if r.bucket == nil || !pending {
		return
	}
	free := max(rec.due, now)
	rec.due, rec.booked = r.bucket.book(now, free), true
	if later := rec.due - free; later > 0 {
		d.Delay = add(d.Delay, later)
	}
	d.NotBefore = clockTime.Round(0).Add(rec.due - now)
}

// validate returns every field that is out of bounds at the clock's now, and those
// that do not fit each other.
func (s RestarterState) validate(now time.Time) (errs FieldErrors) {
	notAfter := func(at time.Time, field string, limit time.Time) {
		errs.check(!at.After(limit), field, at, fmt.Sprintf("at most %v", limit))
	}
	d, restarts := s.Decision, s.Decision.Action.restarts()
	errs.check(s.Failures >= 0, "failures", s.Failures, ">= 0")
	notAfter(s.Last.Started, "last.started", now)
	notAfter(s.Last.Finished, "last.finished", now)
	if d.Action != Stop && d.Action != GiveUp && !restarts {
		errs.Add(ErrorTypeNotSupported, "decision.action", string(d.Action), "must be Stop, Restart, RestartAllContainers or GiveUp")
	}
	errs.check(d.Delay >= 0, "decision.delay", d.Delay, ">= 0")
	notAfter(d.NotBefore, "decision.notBefore", now.Add(max(d.Delay, 0)))
	errs.check(d.Failures >= 0, "decision.failures", d.Failures, ">= 0")
	errs.check(d.Rule >= -1, "decision.rule", d.Rule, ">= -1")
	for i, at := range s.Recent {
		notAfter(at, fmt.Sprintf("recent[%d]", i), now)
	}
	// What no Restarter returns, although each field is in bounds.
	errs.check(s.Failures != 0 || d.Action == Stop && s.Last.Code == 0, "failures", s.Failures, ">= 1 after an exit that counts")
	errs.check(d.Failures == s.Failures || s.Failures < 0, "decision.failures", d.Failures, fmt.Sprintf("failures (%d)", s.Failures))
	errs.check(restarts || d.Delay <= 0, "decision.delay", d.Delay, "0 without a restart")
	errs.check(restarts || d.NotBefore.IsZero(), "decision.notBefore", d.NotBefore, "zero without a restart")
	errs.check(d.Delay <= 0 || !d.NotBefore.IsZero(), "decision.notBefore", d.NotBefore, "given with a delay")
	errs.check(d.Action != Stop || d.Rule < 0, "decision.rule", d.Rule, "-1 if nothing is restarted")
	errs.check(d.Action != RestartAll || d.Rule != -1, "decision.rule", d.Rule, ">= 0, for only a rule restarts all containers")
	return errs
}
