package backoff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/restartkit/restart/field"
	"k8s.io/utils/clock"
)

// Restarter decides whether and when to restart a key after an exit. It applies a
// restart policy and rules, a backoff and a limit per key, and a Rate across all keys,
// which gives each restart a turn.
//
// Call Exited after every exit and follow its Decision; before a restart, sleep for
// Remaining. Exited is atomic and idempotent; see Exit.
//
// A key has one count of failures in a row, and one more for each rule with a Delay. A
// run longer than ResetAfter starts a count over; a long wait does not. Exit code 0
// counts as a failure if it leads to a restart (KEP-4603, On Success and the 10 minute
// recovery threshold).
//
// Neither setting the clock back nor an exit in the future lengthens a wait.
// Invariants, for every key and instant:
//
//  1. a Delay is within [0, Max] of its curve, or ends at the key's turn under Rate
//  2. Remaining is within [0, Delay]
//  3. within Window, each rule with a Limit decides at most Limit restarts; all other restarts share the option Limit
//  4. any n restarts that span a time t satisfy n <= Rate*t + Burst
//
// Create one with NewRestarter; the zero value is not usable. A Restarter is safe for
// concurrent use, but its option Rand must not call it.
type Restarter[K comparable] struct {
	policy  Policy
	reset   time.Duration // ResetThreshold of policy
	options RestarterOptions[K]
	clock   *steady
	bucket  *bucket // nil without a Rate
	keys    store[K, *history]
	waiters waiters[K]
	lowered atomic.Int64 // see Lowered
}

// RestarterOptions configures a Restarter. Functions must be safe for concurrent use.
type RestarterOptions[K comparable] struct {
	Clock clock.PassiveClock // nil means the real clock
	Rand  func() float64     // in [0, 1), called only if Jitter > 0; nil means math/rand/v2
	// PolicyFor returns the policy for an exit and must depend only on its arguments.
	// If it is nil or returns a zero Policy, the Restarter's policy applies. An invalid
	// Policy has the same effect and sets Decision.PolicyInvalid.
	PolicyFor func(key K, e Exit) Policy
	Limit     int           // restarts of a key within Window before GiveUp; 0 means no limit
	Window    time.Duration // period of Limit; 0 means forever
	Rate      float64       // restarts per second across all keys; 0 means no limit
	Burst     int           // restarts allowed at once under Rate; 0 means 1
	History   int           // earlier exits to keep per key, with their Decisions; 0 to 1000
	// RefuseFuture makes Restore reject times later than the clock instead of lowering
	// them.
	RefuseFuture bool
}

// maxHistory bounds RestarterOptions.History.
const maxHistory = 1000

// Validate returns field.Errors listing every option that is out of bounds or has no
// effect, or nil.
func (o RestarterOptions[K]) Validate() error {
	var errs field.Errors
	o.validate(&errs)
	return errs.Err()
}

func (o RestarterOptions[K]) validate(errs *field.Errors) {
	errs.Check(o.Limit >= 0, "Limit", o.Limit, ">= 0 (0 means none)")
	errs.Check(o.Window >= 0, "Window", o.Window, ">= 0 (0 means forever)")
	errs.Check(o.Rate >= 0 && !math.IsInf(o.Rate, 1), "Rate", o.Rate, ">= 0 and finite (0 means none)")
	errs.Check(o.Burst >= 0, "Burst", o.Burst, ">= 0 (0 means 1)")
	errs.Check(o.History >= 0 && o.History <= maxHistory, "History", o.History, fmt.Sprintf("in 0..%d", maxHistory))
	errs.Check(o.Window <= 0 || o.Limit != 0, "Window", o.Window, "0 without a Limit")
	errs.Check(o.Burst <= 0 || o.Rate != 0, "Burst", o.Burst, "0 without a Rate")
}

// NewRestarter returns an empty Restarter. The error wraps field.Errors listing every
// mistake in p and o.
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

// Exited decides about an exit of key under c. If the exit is not new, Exited returns
// the last Decision; see Exit.
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
	t := r.terms(&policy, valid)
	t.next(h, &c, &e, clockTime, now)
	h.keep = r.keepFor(policy.ResetThreshold(), h.counts)
	r.book(h, h.last.finished(clockTime), clockTime, now)
	r.waiters.wake(key)
	return h.decision
}

func (r *Restarter[K]) terms(curve *Policy, valid bool) terms {
	o := &r.options
	return terms{curve, valid, o.Rand, o.Limit, o.Window, o.History}
}

// book assigns a restart its turn under Rate, possibly after it is due. A delayed
// restart has its Delay counted from the time from.
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

// unbook gives back the turn of a pending restart.
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

// policyFor returns the policy in force; valid is false if it replaces an invalid one.
func (r *Restarter[K]) policyFor(key K, e Exit) (p Policy, valid bool) {
	if r.options.PolicyFor == nil {
		return r.policy, true
	}
	if p = r.options.PolicyFor(key, e); p.valid() {
		return p, true
	}
	return r.policy, p == Policy{}
}

// keepFor returns how long a key matters after its restart. This covers the windows of
// limits, and a run that starts late, lasts ResetAfter and is reported late.
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

// Remaining returns how long to sleep before restarting key, or 0 if no restart is
// pending.
func (r *Restarter[K]) Remaining(key K) time.Duration {
	shard, hash, _, now := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if !ok {
		return 0
	}
	return h.remaining(now)
}

// RestartNow ends the wait of key, for instance because a dependency is back. The key
// restarts now, or at its turn under Rate, and its failures still count. RestartNow
// returns the key's Decision, with a Delay counted from now unless the wait was over.
// If key should not restart, ok is false.
func (r *Restarter[K]) RestartNow(key K) (d Decision, ok bool) {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if !ok || !h.decision.Action.restarts() {
		return Decision{}, false
	}
	if h.remaining(now) > 0 {
		r.unbook(h, now)
		h.schedule(0, clockTime, clockTime, now)
		r.book(h, clockTime, clockTime, now)
		r.waiters.wake(key)
	}
	return h.decision, true
}

// Reset forgets key.
func (r *Restarter[K]) Reset(key K) {
	shard, hash, _, now := r.lock(key)
	defer shard.mu.Unlock()
	if h, ok := lookup(shard, hash, key); ok {
		r.unbook(h, now)
		shard.remove(hash, key)
		r.waiters.wake(key)
	}
}

// GC drops keys that no longer matter and returns their number; call it occasionally. A
// key matters until both the longest Window and twice the longest ResetAfter in use
// have passed since its restart was due and its exit was last reported. With a Limit
// but no Window, it matters until Reset.
func (r *Restarter[K]) GC() int {
	dropped := 0
	for i := range r.keys.shards {
		now := time.Duration(math.MinInt64) // read under the lock, because the origin may move
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

// lookup returns the history of key, if known.
func lookup[K comparable](shard *shard[K, *history], hash uint64, key K) (*history, bool) {
	if found := shard.find(hash, key); found != nil {
		return *found, true
	}
	return nil, false
}
