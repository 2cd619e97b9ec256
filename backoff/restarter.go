package backoff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/restartkit/restart/field"
	"k8s.io/utils/clock"
)

// Restarter decides what to do about exits. One step applies a container's restart
// policy and rules, a backoff per key, a limit per key and a rate over all keys.
//
// Call Exited for every exit and do what the Decision says; before a restart, sleep
// for Remaining. Exited is atomic and idempotent: the last exit and older ones, reported
// again, return the last Decision, so a caller may report every exit it sees, as often
// as it sees it, if exits have a Run or a Finished; see Exit. A key has one count of
// failures in a row, whatever the outcomes, and one for each rule that has a Delay. A
// run longer than ResetAfter starts a count over; only the length of the run matters, so
// neither waiting nor reading changes it. Exit code 0 counts like any other when it is
// restarted (KEP-4603, On Success and the 10 minute recovery threshold).
//
// Neither a clock that is set back nor an exit that finished later than the clock
// makes a wait longer. Invariants, for every key and instant:
//
//  1. a Delay is within [0, Max] of the curve it is from, or ends at the key's turn under Rate
//  2. Remaining is within [0, Delay]
//  3. within Window at most Limit restarts are decided by a rule with a Limit, and by all others together
//  4. any n instants of restarts fit n <= Rate*t + Burst in the time t they span
//
// Make one with NewRestarter; the zero value is not usable. The option Rand must not
// call the Restarter. A Restarter is safe for concurrent use by multiple
// goroutines.
type Restarter[K comparable] struct {
	policy  Policy
	reset   time.Duration // ResetThreshold of policy
	options RestarterOptions[K]
	clock   *steady
	bucket  *bucket // nil without a Rate
	keys    store[K, *history]
}

// RestarterOptions is what a Restarter can be given besides its policy. The zero
// value is ready to use. NewRestarter reads it once. Its functions are called by
// whoever calls the Restarter, by several goroutines at a time.
type RestarterOptions[K comparable] struct {
	Clock clock.PassiveClock // nil: the real clock
	Rand  func() float64     // in [0, 1); nil: math/rand/v2; called only if Jitter > 0
	// PolicyFor returns the policy of a key or an exit. A zero Policy means the Restarter's;
	// so does an invalid one, and the Decision says so. The result must depend on the
	// arguments only. Nil: every key has the Restarter's.
	PolicyFor func(key K, e Exit) Policy
	Limit     int           // restarts of a key within Window, then GiveUp; 0: no limit. A Rule's Limit is apart
	Window    time.Duration // of Limit; 0: for ever
	Rate      float64       // restarts per second over all keys; 0: no limit
	Burst     int           // restarts at once under Rate, allowed from the start; 0 means 1
	History   int           // exits of a key to keep before the last, with their Decisions; at most 1000; 0: none
}

// maxHistory bounds RestarterOptions.History.
const maxHistory = 1000

// Validate returns field.Errors with every option that is out of bounds, or has no
// effect because Limit or Rate is 0; or nil.
func (o RestarterOptions[K]) Validate() error {
	var errs field.Errors
	o.validate(&errs)
	return errs.Err()
}

func (o RestarterOptions[K]) validate(errs *field.Errors) {
	errs.Check(o.Limit >= 0, "Limit", o.Limit, ">= 0 (0 means none)")
	errs.Check(o.Window >= 0, "Window", o.Window, ">= 0 (0 means for ever)")
	errs.Check(o.Rate >= 0 && !math.IsInf(o.Rate, 1), "Rate", o.Rate, ">= 0 and finite (0 means none)")
	errs.Check(o.Burst >= 0, "Burst", o.Burst, ">= 0 (0 means 1)")
	errs.Check(o.History >= 0 && o.History <= maxHistory, "History", o.History, fmt.Sprintf("in 0..%d", maxHistory))
	errs.Check(o.Window <= 0 || o.Limit != 0, "Window", o.Window, "0 without a Limit")
	errs.Check(o.Burst <= 0 || o.Rate != 0, "Burst", o.Burst, "0 without a Rate")
}

// NewRestarter returns a Restarter without keys. The error wraps field.Errors with
// every mistake in the policy and in the options; see their Validate.
func NewRestarter[K comparable](p Policy, o RestarterOptions[K]) (*Restarter[K], error) {
	var errs field.Errors
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
	r := &Restarter[K]{policy: p, reset: p.ResetThreshold(), options: o, clock: newSteady(o.Clock), keys: newStore[K, *history]()}
	if o.Rate > 0 {
		r.bucket = newBucket(o.Rate, o.Burst)
	}
	return r, nil
}

// Exited decides about an exit of key under c. For the same exit again, and for an
// older one, it returns the last Decision; see Exit for which those are.
func (r *Restarter[K]) Exited(key K, c ExitPolicy, e Exit) Decision {
	policy, valid := r.policyFor(key, e)
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	h, known := lookup(shard, hash, key)
	if known && !h.isNew(&e, clockTime) {
		h.reported = now
		return h.decision
	}
	if !known {
		h = &history{}
		shard.insert(hash, key, h)
	}
	r.unbook(h, now)
	*h = r.terms(&policy, valid).next(*h, &c, e, clockTime, now)
	h.keep = r.keepFor(policy.ResetThreshold(), h.counts)
	r.book(h, h.last.finished(clockTime), clockTime, now)
	return h.decision
}

func (r *Restarter[K]) terms(curve *Policy, valid bool) *terms {
	o := &r.options
	return &terms{curve, valid, o.Rand, o.Limit, o.Window, o.History}
}

// book gives a restart its turn under Rate, which may be later than it is due. Its Delay
// counts from the time from.
func (r *Restarter[K]) book(h *history, from, clockTime time.Time, now time.Duration) {
	if r.bucket == nil || !h.decision.Action.restarts() {
		return
	}
	free := h.due
	h.due = r.bucket.book(now, free)
	h.booked = true
	h.decision.NotBefore = clockTime.Round(0).Add(h.due - now)
	if h.due > free {
		h.decision.Delay = add(clockTime.Sub(from), h.due-now)
	}
}

// unbook gives back the turn of a restart that has not come yet.
func (r *Restarter[K]) unbook(h *history, now time.Duration) {
	if h.booked {
		r.bucket.cancel(now, h.due)
		h.booked = false
	}
}

// lock locks the shard of a key and reads the clock.
func (r *Restarter[K]) lock(key K) (shard *shard[K, *history], hash uint64, clockTime time.Time, now time.Duration) {
	shard, hash = r.keys.lock(key)
	if clockTime, now = r.clock.now(); now >= horizon {
		shard.mu.Unlock()
		r.moveOrigin()
		shard.mu.Lock()
		clockTime, now = r.clock.now()
	}
	return shard, hash, clockTime, now
}

// moveOrigin makes the present the origin of all steady times.
func (r *Restarter[K]) moveOrigin() {
	r.keys.lockAll()
	defer r.keys.unlockAll()
	by := r.clock.moveOrigin()
	for h := range r.keys.values() {
		(*h).moveOrigin(by)
	}
	if r.bucket != nil {
		r.bucket.moveOrigin(by)
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

// keepFor is how long after its restart a key can still matter: for a run that
// starts late, lasts ResetAfter and is reported late, and for the limits' windows.
func (r *Restarter[K]) keepFor(reset time.Duration, counts []ruleCount) time.Duration {
	reset = max(reset, r.reset)
	keep := addDuration(reset, reset)
	for i := range counts {
		keep = max(keep, counts[i].keep)
	}
	if r.options.Limit == 0 {
		return keep
	}
	if r.options.Window == 0 {
		return math.MaxInt64
	}
	return max(keep, r.options.Window)
}

// Remaining returns how long to sleep before key is restarted: within [0, Delay] of
// its last Decision, and 0 if it is not to be restarted.
func (r *Restarter[K]) Remaining(key K) time.Duration {
	shard, hash, _, now := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if !ok {
		return 0
	}
	return h.remaining(now)
}

// RestartNow ends the wait of key, for instance because what it waited for is back: key
// is restarted now, or at its turn under Rate, and its failures still count. It returns
// the Decision, which from then on is that of the key's last exit, with a Delay counted
// from now. If the wait is over, nothing changes. If key is not to be restarted, ok is
// false.
func (r *Restarter[K]) RestartNow(key K) (d Decision, ok bool) {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if !ok || !h.decision.Action.restarts() {
		return Decision{}, false
	}
	if h.due > now {
		r.unbook(h, now)
		h.schedule(0, clockTime, clockTime, now)
		r.book(h, clockTime, clockTime, now)
	}
	return h.decision, true
}

// Reset forgets key, its failures, its limit and its wait.
func (r *Restarter[K]) Reset(key K) {
	shard, hash, _, now := r.lock(key)
	defer shard.mu.Unlock()
	if h, ok := lookup(shard, hash, key); ok {
		r.unbook(h, now)
		shard.remove(hash, key)
	}
}

// GC drops the keys that can no longer matter and returns how many. A key goes when
// twice ResetAfter and Window have passed since its restart was due and since its exit
// was last reported; the longest of the Restarter's and the rules' count. With a Limit
// for ever GC drops none; use Reset. Call GC now and then.
func (r *Restarter[K]) GC() int {
	dropped := 0
	for i := range r.keys.shards {
		now := time.Duration(math.MinInt64) // is read under the lock, for the origin may move
		dropped += r.keys.shards[i].sweep(func(h **history) bool {
			if now == math.MinInt64 {
				_, now = r.clock.now()
			}
			return subtract(now, max((*h).due, (*h).reported)) > (*h).keep
		})
	}
	return dropped
}

// Len returns the number of keys.
func (r *Restarter[K]) Len() int { return r.keys.len() }

// lookup returns the history of a key, if there is one.
func lookup[K comparable](shard *shard[K, *history], hash uint64, key K) (*history, bool) {
	if found := shard.find(hash, key); found != nil {
		return *found, true
	}
	return nil, false
}
