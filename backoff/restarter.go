package backoff

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/restartkit/restart/field"
	"k8s.io/utils/clock"
)

// Restarter decides about many things that restart, each under a key. It is a map of
// States with a clock, random numbers, a Rate for all keys together, and one JSON
// document.
//
// Report every exit to Exited and follow its Decision. Then call Wait, which returns nil
// when the key may start, or ask CanStart in a loop of your own and say Started. A
// Restarter gives every answer as a State does; see there for the rules.
//
// Invariants, for every key and time:
//
//  1. a wait is within [0, Max] of its curve, is a GiveUpFor, or ends at the key's turn
//     under Rate; a clock far behind may double it
//  2. a decision allows one start
//  3. within its Window, a limit allows at most Limit restarts, unless it was reached and a
//     long run started it over
//  4. the waits that end within any time t are at most Rate*t + Burst
//
// Create one with NewRestarter; the zero value is not usable. A Restarter is safe for
// concurrent use by multiple goroutines.
type Restarter[K comparable] struct {
	policy  ExitPolicy
	options RestarterOptions[K]
	rate    *rate // nil without a Rate
	keys    store[K, *entry]
	waiters waiters[K]
	bound   atomic.Int64 // longest wait of all policies so far
}

// entry is the memory of a Restarter about a key. Its State is not shared.
type entry struct {
	State
	keep      time.Duration // GC keeps the key this long after its last event
	seen      time.Time     // the last report of an exit, new or not
	slot      time.Duration // booked under Rate, if isBooked
	isBooked  bool
	isInvalid bool // the last exit was not decided, because its policy was invalid
}

// RestarterOptions configures a Restarter. The zero value is ready to use.
type RestarterOptions[K comparable] struct {
	Clock clock.PassiveClock // nil means the real clock
	// Rand returns numbers in [0, 1). It is called once per report under a policy with
	// Jitter. Nil means math/rand/v2. It must be safe for concurrent use.
	Rand func() float64
	// Rate is the number of starts per second across all keys; 0 means no limit. A first start
	// takes its turn when CanStart or Wait first asks about the key. Finding a turn takes
	// time in proportion to the starts that already have one.
	Rate    float64
	Burst   int // starts allowed at once under Rate; 0 means 1
	History int // earlier exits to keep per key, with their decisions; 0 to 1000
}

func (o *RestarterOptions[K]) validate(errs *field.Errors) {
	errs.Check(o.Rate >= 0 && !math.IsInf(o.Rate, 1), "Rate", o.Rate, ">= 0 and finite (0 means none)")
	errs.Check(o.Burst >= 0, "Burst", o.Burst, ">= 0 (0 means 1)")
	errs.Check(o.Burst <= 0 || o.Rate != 0, "Burst", o.Burst, "0 without a Rate")
	errs.Check(o.History >= 0 && o.History <= maxHistory, "History", o.History, fmt.Sprintf("in 0..%d", maxHistory))
}

// NewRestarter returns an empty Restarter. Each zero field in the policy of an
// Exited takes its value from p; Limit and Window do so together. Do not change the curves
// and rules of p afterwards. The error wraps field.Errors listing every mistake in p and o.
//
// After loading, only p tells how long waits and windows can be. Put a GiveUpFor, Max or
// Window above a day into p, and not only into the policies of single exits.
func NewRestarter[K comparable](p ExitPolicy, o RestarterOptions[K]) (*Restarter[K], error) {
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
	r := &Restarter[K]{policy: p, options: o, keys: newStore[K, *entry]()}
	r.bound.Store(int64(p.bound()))
	if o.Rate > 0 {
		r.rate = newRate(o.Rate, o.Burst, o.Clock.Now())
	}
	return r, nil
}

// Exited decides about an exit of key under p, whose zero fields are those of the
// Restarter's policy. If the exit is not new, it returns the last decision; see Exit. If
// the policy is invalid, it decides to stop and remembers nothing, but CanStart allows no
// start until an exit is decided.
func (r *Restarter[K]) Exited(key K, p ExitPolicy, e Exit) Decision {
	p = p.withDefaults(&r.policy)
	now, draw := r.options.Clock.Now(), 0.0 // no function of the caller runs under a lock
	if p.jitters() {
		draw = r.options.Rand()
	}
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	x := find(shard, hash, key)
	if x == nil {
		x = r.newEntry()
		shard.insert(hash, key, x)
	}
	x.seen = now
	var before Outcome
	if r.options.History > 0 {
		before = x.Outcome
	}
	d := x.Exited(&p, e, now, draw)
	if !d.New {
		return d
	}
	if x.isInvalid = d.Invalid != nil; x.isInvalid {
		return d
	}
	if r.options.History > 0 && before.Action != "" {
		x.History = append(x.History, before)
		x.History = slices.Delete(x.History, 0, max(0, len(x.History)-r.options.History))
	}
	x.keep = p.keep()
	r.raiseBound(p.bound())
	r.book(x, now)
	r.waiters.wake(key)
	d = x.Decision()
	d.New = true
	return d
}

// newEntry returns the entry of a key without an exit.
func (r *Restarter[K]) newEntry() *entry { return &entry{keep: r.policy.keep()} }

// Complete returns p with its zero fields replaced by those of the Restarter's policy, as
// Exited uses it.
func (r *Restarter[K]) Complete(p ExitPolicy) ExitPolicy { return p.withDefaults(&r.policy) }

// keep returns how long counts matter after a start was due: as long as the windows of
// limits, and a run that starts late, lasts ResetAfter and is reported late.
func (p *ExitPolicy) keep() time.Duration {
	keep := max(p.Window, p.GiveUpFor)
	for curve := range p.curves {
		reset := curve.resetThreshold()
		keep = max(keep, addDuration(reset, reset))
	}
	if p.Limit > 0 && p.Window == 0 {
		return Forever
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; r.Limit > 0 && r.Window == 0 {
			return Forever
		}
		keep = max(keep, p.Rules[i].Window)
	}
	return keep
}

// raiseBound makes the bound of waits at least d.
func (r *Restarter[K]) raiseBound(d time.Duration) {
	for {
		bound := r.bound.Load()
		if int64(d) <= bound || r.bound.CompareAndSwap(bound, int64(d)) {
			return
		}
	}
}

// book gives x a slot under Rate for the start that its decision allows, and gives back
// the slot that it had.
func (r *Restarter[K]) book(x *entry, now time.Time) {
	r.unbook(x, now)
	x.Turn = time.Time{}
	if r.rate == nil || x.NotBefore.IsZero() {
		return
	}
	wait := x.rest(time.Duration(r.bound.Load()), now)
	slot, until := r.rate.book(now, wait)
	x.slot, x.isBooked = slot, true
	if until > wait {
		x.Turn = inYears(now.Add(until))
	}
}

// unbook gives back the slot booked for x, if any. One that has passed stays used.
func (r *Restarter[K]) unbook(x *entry, now time.Time) {
	if x.isBooked {
		r.rate.cancel(now, x.slot)
		x.isBooked = false
	}
}

// CanStart reports whether key may start now. If not, wait is how long until it may, or
// Forever if only another exit, Lost, Forgive or Reset can change the answer: the key was
// stopped or given up, its start was used up by Started or Wait, or its policy was invalid.
// A key that never exited may start at once, or at its turn under Rate. After Started it may
// not.
func (r *Restarter[K]) CanStart(key K) (ok bool, wait time.Duration) {
	now := r.options.Clock.Now()
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	x := find(shard, hash, key)
	if x == nil {
		if r.rate == nil {
			return true, 0
		}
		x = r.newEntry() // for its turn
		shard.insert(hash, key, x)
	}
	return r.canStart(x, now)
}

func (r *Restarter[K]) canStart(x *entry, now time.Time) (ok bool, wait time.Duration) {
	if x.isInvalid {
		return false, Forever
	}
	if r.rate != nil && x.Action == "" && x.NotBefore.IsZero() && x.StartedAt.IsZero() {
		x.From, x.NotBefore = now, now // the first start
		r.book(x, now)
	}
	ok, wait = x.canStart(time.Duration(r.bound.Load()), now)
	if wait != Forever && x.isBooked { // the slot includes the wait, and no clock moves it
		wait = r.rate.until(now, x.slot)
		ok = wait == 0
	}
	return ok, wait
}

// Started says that key has started, or is about to, and uses up the start that CanStart
// allows. at is when it started; zero means now. Started reports whether the start was
// still unused, so of two goroutines that both call it before they start the key, one
// sees true. A second call with a later time, not zero, corrects when the run began.
// See State.Started for what a crash does.
func (r *Restarter[K]) Started(key K, at time.Time) bool {
	now := r.options.Clock.Now()
	return r.change(key, true, func(x *entry) bool {
		if at.IsZero() && x.StartedAt.IsZero() {
			return x.Started(now)
		}
		return x.Started(at)
	})
}

// Lost says that the run of key which Started or Wait announced ended without a reported
// exit, because the program that ran it has crashed, or the machine. It is no failure, and
// the start is allowed again, at once or at its turn under Rate. After loading a state, a
// program whose runs end with it calls Lost for every key, and so need not report the exits
// that its own shutdown causes:
//
//	for key := range r.All() {
//		r.Lost(key)
//	}
func (r *Restarter[K]) Lost(key K) {
	now := r.options.Clock.Now()
	r.change(key, false, func(x *entry) bool {
		if x.StartedAt.IsZero() {
			wasInvalid := x.isInvalid
			x.isInvalid = false
			return wasInvalid
		}
		x.isInvalid = false
		x.Lost()
		if x.Action == "" {
			x.From, x.NotBefore = time.Time{}, time.Time{} // its first start takes another turn
		}
		r.book(x, now)
		return true
	})
}

// Healthy says that the run of key which Started announced is still going on. Once it has
// lasted longer than ResetAfter, counts and limits start over, as they would at its exit.
// Healthy reports whether it changed the state of key, so that it has to be stored. p is
// as in Exited. Programs that poll call it; see State.Healthy.
func (r *Restarter[K]) Healthy(key K, p ExitPolicy) bool {
	now := r.options.Clock.Now()
	p = p.withDefaults(&r.policy)
	return r.change(key, false, func(x *entry) bool { return x.Healthy(&p, now) })
}

// Forgive starts the counts and limits of key over and, unless it runs, lets it start at
// once, or at its turn under Rate, even after a give-up or a stop. It is for a person or a
// program that knows the trouble is over, or that starts everything anew when it boots;
// RestartNow only ends a wait, and its failures still count. Forgive is a no-op if key is
// unknown.
func (r *Restarter[K]) Forgive(key K) {
	now := r.options.Clock.Now()
	r.change(key, false, func(x *entry) bool {
		if x.isInvalid { // its run has ended, although no policy has decided about that
			x.isInvalid = false
			x.Lost()
		}
		if x.Forgive(now); x.StartedAt.IsZero() {
			r.book(x, now)
		}
		return true
	})
}

// RestartNow ends the wait of key, for instance because a dependency is back. The key may
// start now, or at its turn under Rate, and its failures still count. RestartNow returns
// the key's Decision, with a Delay counted from now unless the wait was over. If no
// restart is waiting or due, ok is false.
func (r *Restarter[K]) RestartNow(key K) (d Decision, ok bool) {
	now := r.options.Clock.Now()
	ok = r.change(key, false, func(x *entry) bool {
		_, wait := r.canStart(x, now)
		if !x.RestartNow(now) {
			return false
		}
		if wait > 0 {
			x.startAt(now)
			r.book(x, now)
		}
		d = x.Decision()
		return true
	})
	return d, ok
}

// change calls f with the entry of key under its lock. If f reports a change, it wakes
// those who wait for the key, and returns true. If key is unknown, change adds it first
// if add is set, and otherwise returns false without calling f.
func (r *Restarter[K]) change(key K, add bool, f func(*entry) (changed bool)) bool {
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	x := find(shard, hash, key)
	if x == nil {
		if !add {
			return false
		}
		x = r.newEntry()
		shard.insert(hash, key, x)
	}
	changed := f(x)
	if changed {
		r.waiters.wake(key)
	}
	return changed
}

// Reset forgets key. Call it when the key is gone for good.
func (r *Restarter[K]) Reset(key K) {
	now := r.options.Clock.Now()
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	if x := find(shard, hash, key); x != nil {
		r.unbook(x, now)
		shard.remove(hash, key)
		r.waiters.wake(key)
	}
}

// GC drops keys that no longer matter and returns their number; call it occasionally. It
// drops a key that may start, once both the longest Window and twice the longest ResetAfter
// of its policy have passed since its start was due and its exit was last reported. An exit
// reported again later is then a new one.
//
// GC keeps a started, stopped or given-up key, since nothing must start it by
// mistake, and one with a limit that has no Window. Call Reset when such a key is gone for
// good.
func (r *Restarter[K]) GC() int {
	now := r.options.Clock.Now()
	dropped := 0
	for i := range r.keys.shards {
		dropped += r.keys.shards[i].sweep(func(x **entry) bool { return (*x).isOver(now) })
	}
	return dropped
}

func (x *entry) isOver(now time.Time) bool {
	if x.isInvalid || !x.StartedAt.IsZero() || !x.Action.restarts() && x.Action != "" || x.LimitReached || x.keep == Forever {
		return false
	}
	last := later(later(later(x.NotBefore, x.Turn), x.Reported), x.seen)
	return now.Sub(last) > x.keep
}

// Len returns the number of keys.
func (r *Restarter[K]) Len() int { return r.keys.len() }

// find returns the entry of a key, or nil.
func find[K comparable](shard *shard[K, *entry], hash uint64, key K) *entry {
	if found := shard.find(hash, key); found != nil {
		return *found
	}
	return nil
}

// Due yields every start allowed and not Started, soonest first, with those that
// still wait at now; see Decision.Remaining. A give-up that ends is among them. Pass the
// clock's time as now. Call Due after loading a state, because a crash may have prevented
// starts already decided. The sequence is a snapshot; the loop may use the Restarter.
func (r *Restarter[K]) Due(now time.Time) iter.Seq2[K, Decision] {
	return func(yield func(K, Decision) bool) {
		type start struct {
			key      K
			decision Decision
			wait     time.Duration
		}
		var due []start
		for key := range r.keys.keys() {
			if d, wait, ok := r.due(key, now); ok {
				due = append(due, start{key, d, wait})
			}
		}
		slices.SortStableFunc(due, func(a, b start) int {
			return cmp.Or(cmp.Compare(a.wait, b.wait), a.decision.NotBefore.Compare(b.decision.NotBefore))
		})
		for _, one := range due {
			if !yield(one.key, one.decision) {
				return
			}
		}
	}
}

// due returns the decision about key, and how long its start still has to wait. ok is
// false if key is unknown or has no start left. due changes NotBefore and Delay of the
// decision so that its Remaining(now) is the wait.
func (r *Restarter[K]) due(key K, now time.Time) (d Decision, wait time.Duration, ok bool) {
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	x := find(shard, hash, key)
	if x == nil {
		return d, 0, false
	}
	ok, wait = r.canStart(x, now)
	if wait == Forever {
		return d, 0, false
	}
	d = x.Decision()
	if wait > 0 {
		d.NotBefore = now.Add(wait)
	}
	d.Delay = max(d.Delay, wait)
	return d, wait, true // also before the first exit, with a decision of no action
}

// State returns a copy of the state of key and reports whether key is known.
func (r *Restarter[K]) State(key K) (State, bool) {
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	if x := find(shard, hash, key); x != nil {
		return x.Clone(), true
	}
	return State{}, false
}

// All yields every key with its state, in no particular order. A key that changes
// meanwhile is yielded at most once, in a state it had. The loop may use the Restarter.
func (r *Restarter[K]) All() iter.Seq2[K, State] {
	return func(yield func(K, State) bool) {
		for key := range r.keys.keys() {
			if s, ok := r.State(key); ok && !yield(key, s) {
				return
			}
		}
	}
}

// Restore sets the state of key to s, which may be damaged or edited. A wait longer than a
// day or, if that is longer, than every delay in use becomes that long. A start
// allowed and not used up takes a new turn under Rate.
func (r *Restarter[K]) Restore(key K, s State) {
	now := r.options.Clock.Now()
	s = s.Clone()
	s.repair(time.Duration(r.bound.Load()))
	s.History = s.History[max(0, len(s.History)-r.options.History):]
	x := &entry{State: s, keep: max(r.policy.keep(), minBound), seen: now}
	if s.Restarts > 0 || slices.ContainsFunc(s.Rules, func(n RuleCounts) bool { return n.Restarts > 0 }) {
		x.keep = Forever
	}
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	if old := find(shard, hash, key); old != nil {
		r.unbook(old, now)
		*old = *x
		x = old
	} else {
		shard.insert(hash, key, x)
	}
	if x.StartedAt.IsZero() {
		r.book(x, now)
	}
	r.waiters.wake(key)
}
