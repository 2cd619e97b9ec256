package backoff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"
)

// Restarter decides about exits: it joins a container's restart policy, a backoff
// per key, a limit per key and a rate over all keys into one step.
//
// Call Exited for every exit; do what the Decision says, and if that is a
// restart, sleep Remaining first. The step is atomic and idempotent: the same
// exit again returns the same Decision, so a caller that gives Run or Finished may
// tell everything it sees, as often as it sees it. A key has one count of failures
// in a row, whatever the outcomes; a run longer than ResetAfter starts it over, by
// the length of the run itself, so that neither waiting nor asking changes it. Exit
// code 0 counts like any exit when it is restarted (KEP-4603, On Success and the 10
// minute recovery threshold).
//
// A clock that is set back, and an exit that finished later than the clock,
// lengthen no wait. Invariants, for every key and instant: (1) a Delay is within
// [0, Max] of its policy, or ends at the key's turn under Rate; (2) Remaining is
// within [0, Delay]; (3) within Window at most Limit restarts are decided; (4)
// any n instants of restarts fit n <= Rate*t + Burst in the time t they span.
//
// Make one with NewRestarter; the zero value is not usable. The option Rand must not
// call the Restarter. A Restarter is safe for concurrent use by multiple
// goroutines.
type Restarter[K comparable] struct {
	policy  Policy
	options RestarterOptions[K]
	clock   *steady
	bucket  *bucket // nil without a Rate
	records store[K, *record]
}

// RestarterOptions is what a Restarter can be given besides its policy. The zero
// value is ready to use. They are read once, by NewRestarter; what they hold is
// called by whoever calls the Restarter, at the same time.
type RestarterOptions[K comparable] struct {
	Clock     clock.PassiveClock         // nil: the real clock
	Rand      func() float64             // in [0, 1); nil: math/rand/v2; called only if Jitter > 0; must be safe for concurrent use
	PolicyFor func(key K, e Exit) Policy // another policy per key or outcome; nil or a zero Policy: the Restarter's, as for an invalid one, which the Decision shows; pure
	Limit     int                        // restarts of a key allowed within Window, then GiveUp; 0: no limit
	Window    time.Duration              // of Limit; 0: for ever
	Rate      float64                    // restarts per second over all keys, the node's ceiling; 0: none
	Burst     int                        // restarts at once under Rate; 0 means 1; the bucket starts full
}

// Validate returns FieldErrors with every option that is out of bounds or would
// have no effect, or nil: a Window without a Limit, a Burst without a Rate.
func (o RestarterOptions[K]) Validate() error {
	var errs FieldErrors
	o.validate(&errs)
	return errs.Err()
}

func (o RestarterOptions[K]) validate(errs *FieldErrors) {
	errs.check(o.Limit >= 0, "Limit", o.Limit, ">= 0 (0 means none)")
	errs.check(o.Window >= 0, "Window", o.Window, ">= 0 (0 means for ever)")
	errs.check(o.Rate >= 0 && !math.IsInf(o.Rate, 1), "Rate", o.Rate, ">= 0 and finite (0 means none)")
	errs.check(o.Burst >= 0, "Burst", o.Burst, ">= 0 (0 means 1)")
	errs.check(o.Window <= 0 || o.Limit != 0, "Window", o.Window, "0 without a Limit")
	errs.check(o.Burst <= 0 || o.Rate != 0, "Burst", o.Burst, "0 without a Rate")
}

// NewRestarter returns a Restarter without keys. The error wraps FieldErrors with
// every mistake in the policy and in the options; see their Validate.
func NewRestarter[K comparable](p Policy, o RestarterOptions[K]) (*Restarter[K], error) {
	var errs FieldErrors
	p.validate(&errs)
	o.validate(&errs)
	if err := errs.Err(); err != nil {
		return nil, fmt.Errorf("backoff: NewRestarter: %w", err)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	r := &Restarter[K]{policy: p, options: o, clock: newSteady(o.Clock), records: newStore[K, *record]()}
	if o.Rate > 0 {
		r.bucket = newBucket(o.Rate, o.Burst)
	}
	return r, nil
}

// Exited decides about an exit of key under c. The same exit again returns the
// same Decision, and so does an old one; see Exit for which those are.
func (r *Restarter[K]) Exited(key K, c ContainerPolicy, e Exit) Decision {
	action, rule := c.Decide(e.Code)
	policy, valid := r.policyFor(key, e)
	shard, hash := r.records.lock(key)
	defer shard.mu.Unlock()
	rec, known := lookup(shard, hash, key)
	clockTime, now := r.clock.now()
	if known && !rec.last.supersededBy(e) {
		rec.told = now
		return rec.decision
	}
	if !known {
		rec = &record{}
		shard.insert(hash, key, rec)
	}
	r.unbook(rec, now)

	e = e.toldAt(clockTime)
	failures := rec.decision.Failures
	if e.ran() > policy.resetAfter() {
		failures = 0
	}
	if action.restarts() || e.Code != 0 {
		failures = addCount(failures, 1)
	}
	if action.restarts() && !rec.allow(r.options.Limit, r.options.Window, now) {
		action = GiveUp
	}
	rec.last, rec.told, rec.due = e, now, now
	rec.decision = Decision{Action: action, Failures: failures, Rule: rule, PolicyInvalid: !valid}
	if action.restarts() {
		delay := policy.jittered(policy.Delay(failures), r.options.Rand)
		r.schedule(rec, delay, e.finished(clockTime), clockTime, now)
	}
	rec.keep = r.keepFor(policy)
	return rec.decision
}

// schedule sets when rec is restarted: delay after finished, or at its turn.
func (r *Restarter[K]) schedule(rec *record, delay time.Duration, finished, clockTime time.Time, now time.Duration) {
	elapsed := clockTime.Sub(finished)
	rec.due = max(add(now, delay-elapsed), now)
	rec.decision.Delay = delay
	rec.decision.NotBefore = finished.Round(0).Add(delay) // without the monotonic reading, which JSON would lose
	if r.bucket == nil {
		return
	}
	free := rec.due
	rec.due = r.bucket.book(now, free)
	rec.booked = true
	rec.decision.NotBefore = clockTime.Round(0).Add(rec.due - now)
	if rec.due > free {
		rec.decision.Delay = add(elapsed, rec.due-now)
	}
}

// unbook gives back the turn of a restart that has not come yet.
func (r *Restarter[K]) unbook(rec *record, now time.Duration) {
	if rec.booked {
		r.bucket.cancel(now, rec.due)
		rec.booked = false
	}
}

// policyFor returns the policy in force, and false if it stands in for an invalid one.
func (r *Restarter[K]) policyFor(key K, e Exit) (p Policy, valid bool) {
	if r.options.PolicyFor == nil {
		return r.policy, true
	}
	if p = r.options.PolicyFor(key, e); p.valid() {
		return p, true
	}
	return r.policy, p == Policy{}
}

// keepFor is how long after its restart a record can still matter: a run that
// starts late, lasts ResetAfter and is told late; and the limit's window.
func (r *Restarter[K]) keepFor(p Policy) time.Duration {
	reset := max(p.resetAfter(), r.policy.resetAfter())
	keep := addDuration(reset, reset)
	if r.options.Limit == 0 {
		return keep
	}
	if r.options.Window == 0 {
		return math.MaxInt64
	}
	return max(keep, r.options.Window)
}

// Remaining returns how long to sleep before key is restarted: within [0, Delay]
// of its Decision, and 0 if it is not to be.
func (r *Restarter[K]) Remaining(key K) time.Duration {
	shard, hash := r.records.lock(key)
	defer shard.mu.Unlock()
	rec, ok := lookup(shard, hash, key)
	if !ok {
		return 0
	}
	_, now := r.clock.now()
	return rec.remaining(now)
}

// Wake ends the wait of key, for what it waited for is back: it is restarted now,
// or at its turn under Rate, and its history is kept. The Decision returned is
// from then on that of the last exit. ok is false, and nothing happens, if key is
// not to be restarted; a wait that is over stays over.
func (r *Restarter[K]) Wake(key K) (d Decision, ok bool) {
	shard, hash := r.records.lock(key)
	defer shard.mu.Unlock()
	rec, ok := lookup(shard, hash, key)
	if !ok || !rec.decision.Action.restarts() {
		return Decision{}, false
	}
	clockTime, now := r.clock.now()
	if rec.due > now {
		r.unbook(rec, now)
		r.schedule(rec, 0, clockTime, clockTime, now)
	}
	return rec.decision, true
}

// Reset forgets key, its failures, its limit and its wait.
func (r *Restarter[K]) Reset(key K) {
	shard, hash := r.records.lock(key)
	defer shard.mu.Unlock()
	if rec, ok := lookup(shard, hash, key); ok {
		_, now := r.clock.now()
		r.unbook(rec, now)
		shard.remove(hash, key)
	}
}

// GC drops the keys that can no longer matter and returns how many: those whose
// restart was due (NotBefore) and whose exit was last told more than twice
// ResetAfter and the Window ago. With a Limit for ever it drops none; use Reset.
func (r *Restarter[K]) GC() int {
	_, now := r.clock.now()
	dropped := 0
	for i := range r.records.shards {
		dropped += r.records.shards[i].sweep(func(rec **record) bool {
			return subtract(now, max((*rec).due, (*rec).told)) > (*rec).keep
		})
	}
	return dropped
}

// Len returns the number of keys.
func (r *Restarter[K]) Len() int { return r.records.len() }

func lookup[K comparable](shard *shard[K, *record], hash uint64, key K) (*record, bool) {
	if found := shard.find(hash, key); found != nil {
		return *found, true
	}
	return nil, false
}
