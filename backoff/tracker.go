package backoff

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/internal/quote"
)

// Tracker holds one backoff per key: how often the key failed in a row, the
// delay that follows from it, and when it was last told. It does what client-go's
// flowcontrol.Backoff does for the kubelet.
//
// Drive it as the kubelet does: ask IsInBackOffSince(key, finished); when it says
// no, call Next(key, finished) and start. Then the delay holds back the next
// failure, the first restart is free, the time of Next is the time of the start,
// and a run longer than ResetAfter starts the curve over. Calling Next at the
// failure itself makes the delay apply at once, but counts the waiting as
// running when it comes to starting over; who needs both uses a Restarter.
//
// An event later than the clock counts as the time of the last Next. If that is
// later than the clock too, the clock was set back, and nothing is held back.
//
// Make one with NewTracker; the zero value is not usable. Options.Expired and
// Options.Rand must not call the Tracker. A Tracker is safe for concurrent use by
// multiple goroutines.
type Tracker[K comparable] struct {
	policy  Policy
	reset   time.Duration // policy.resetAfter()
	expired func(event, updated time.Time, max time.Duration) bool
	rand    func() float64
	scale   timescale
	entries store[K, entry]
}

// entry is the state of one key. The zero entry is none.
type entry struct {
	failures int // > 0
	delay    time.Duration
	updated  time.Duration // on the Tracker's timescale
}

// Options is what a Tracker can be given besides its policy. The zero value is
// ready to use. Options are read once, by NewTracker; what they hold is called by
// whoever calls the Tracker, at the same time.
type Options struct {
	Clock   clock.PassiveClock                                     // nil: the real clock
	Rand    func() float64                                         // in [0, 1); nil: math/rand/v2; called only if Jitter > 0; must be safe for concurrent use
	Expired func(event, updated time.Time, max time.Duration) bool // replaces ResetAfter; pure; nil: event-updated > ResetAfter
}

// NewTracker returns an empty Tracker. The error wraps the policy's FieldErrors;
// see Policy.Validate.
func NewTracker[K comparable](p Policy, o Options) (*Tracker[K], error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("backoff: NewTracker: %w", err)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return &Tracker[K]{
		policy:  p,
		reset:   p.resetAfter(),
		expired: o.Expired,
		rand:    o.Rand,
		scale:   newTimescale(o.Clock),
		entries: newStore[K, entry](),
	}, nil
}

// Next records one more failure of key, which happened at event: the delay grows,
// or starts over if the key is new or its entry expired before event.
func (t *Tracker[K]) Next(key K, event time.Time) {
	t.next(key, &event)
}

// next is Next; it returns the new delay. A nil event is the clock's time.
func (t *Tracker[K]) next(key K, event *time.Time) time.Duration {
	now := t.scale.now()
	shard, hash := t.entries.lock(key)
	defer shard.mu.Unlock()
	e := shard.find(hash, key)
	if e == nil {
		first := t.after(entry{}, now, event)
		shard.insert(hash, key, first)
		return first.delay
	}
	*e = t.after(*e, now, event)
	return e.delay
}

// load returns the entry of key, or the zero entry.
func (t *Tracker[K]) load(key K) (e entry) {
	shard, hash := t.entries.lock(key)
	if found := shard.find(hash, key); found != nil {
		e = *found
	}
	shard.mu.Unlock()
	return e
}

// after is the entry that follows on one, or on none, when one more failure is
// told at now.
func (t *Tracker[K]) after(was entry, now time.Duration, event *time.Time) entry {
	e := entry{failures: 1, updated: now}
	if was.failures > 0 {
		at := now
		if event != nil {
			if at = t.scale.instant(*event); at > now {
				at = was.updated
			}
		}
		if !t.isExpired(at, was.updated, event) {
			e.failures = addCount(was.failures, 1)
		}
	}
	e.delay = t.policy.jittered(t.policy.delay(e.failures), t.rand)
	return e
}

// Get returns the delay in force for key, 0 if there is none.
func (t *Tracker[K]) Get(key K) time.Duration {
	return t.load(key).delay
}

// Remaining returns how much of the delay of key is left if it is counted from
// event: within [0, Get(key)], and above 0 exactly while IsInBackOffSince.
func (t *Tracker[K]) Remaining(key K, event time.Time) time.Duration {
	now, at := t.scale.now(), t.scale.instant(event) // first: reading the clock waits for earlier loads
	e := t.load(key)
	if e.failures == 0 {
		return 0
	}
	if at > now {
		if at = e.updated; at > now {
			return 0
		}
	}
	left := e.delay - subtract(now, at)
	if left <= 0 || t.isExpired(at, e.updated, &event) {
		return 0
	}
	return left
}

// IsInBackOffSince reports whether key is to be held back after an event, usually
// the end of its last run: less than its delay has passed since, and the entry
// had not expired by then.
func (t *Tracker[K]) IsInBackOffSince(key K, event time.Time) bool {
	return t.Remaining(key, event) > 0
}

// IsInBackOffSinceUpdate reports whether at now less than the delay of key has
// passed since its last Next, and the entry has not expired.
func (t *Tracker[K]) IsInBackOffSinceUpdate(key K, now time.Time) bool {
	e := t.load(key)
	at := t.scale.instant(now)
	if e.failures == 0 || t.isExpired(at, e.updated, &now) {
		return false
	}
	if at >= e.updated {
		return subtract(at, e.updated) < e.delay
	}
	// Only a clock that was set back is a reason to let go.
	return e.delay > 0 && t.scale.now() >= e.updated
}

// isExpired reports whether an entry expired before the event at the instant at.
// The event is only looked at by a rule of the caller's, and only if it is not
// nil and at is its own instant.
func (t *Tracker[K]) isExpired(at, updated time.Duration, event *time.Time) bool {
	if t.expired == nil {
		return subtract(at, updated) > t.reset
	}
	if event == nil || at == updated {
		return t.expired(t.scale.time(at), t.scale.time(updated), t.policy.Max)
	}
	return t.expired(*event, t.scale.time(updated), t.policy.Max)
}

// Reset forgets key.
func (t *Tracker[K]) Reset(key K) {
	shard, hash := t.entries.lock(key)
	defer shard.mu.Unlock()
	shard.remove(hash, key)
}

// GC drops the entries that can no longer matter, those that would have expired
// ResetAfter and their delay before now, and returns how many. Every answer of
// IsInBackOffSince, and every Next made within ResetAfter of the end of its wait,
// is the same with and without GC; Get, State, Len and All forget. Call it now
// and then; it locks a small part of the keys at a time and returns memory.
func (t *Tracker[K]) GC() int {
	dropped := 0
	for i := range t.entries.shards {
		now := t.scale.now()
		dropped += t.entries.shards[i].sweep(func(e *entry) bool {
			return t.isExpired(subtract(subtract(now, e.delay), t.reset), e.updated, nil)
		})
	}
	return dropped
}

// Len returns the number of entries.
func (t *Tracker[K]) Len() int {
	return t.entries.len()
}

// State is the entry of one key, for persistence and display. Its zero value is
// no entry and is not accepted by Restore. A State is a plain value, to be copied
// and shared.
type State struct {
	Failures int           `json:"failures"` // in a row; >= 1
	Delay    time.Duration `json:"delay"`    // in force; nanoseconds in JSON
	Updated  time.Time     `json:"updated"`  // the clock at the last Next
}

// State returns the entry of key, and whether there is one.
func (t *Tracker[K]) State(key K) (State, bool) {
	e := t.load(key)
	if e.failures == 0 {
		return State{}, false
	}
	return State{Failures: e.failures, Delay: e.delay, Updated: t.scale.time(e.updated)}, true
}

// All yields every entry, in no order. It is weakly consistent: an entry that
// changes meanwhile is yielded at most once, in a state it has had. The Tracker
// may be used inside the loop.
func (t *Tracker[K]) All() iter.Seq2[K, State] {
	return func(yield func(K, State) bool) {
		for key := range t.entries.keys() {
			if s, ok := t.State(key); ok && !yield(key, s) {
				return
			}
		}
	}
}

// Restore sets the entry of key to s, usually one that an earlier Tracker
// returned. A delay that this Tracker's policy gives for that many failures is
// kept, any other is computed anew, so it is never above Max. The error names the
// field that is out of bounds; an Updated later than the clock is.
func (t *Tracker[K]) Restore(key K, s State) error {
	updated := t.scale.instantBefore(s.Updated)
	now := t.scale.now()
	var errs FieldErrors
	errs.check(s.Failures >= 1, "failures", s.Failures, ">= 1")
	errs.check(s.Delay >= 0, "delay", s.Delay, ">= 0")
	errs.check(updated <= now, "updated", s.Updated, fmt.Sprintf("at most the clock's %v", t.scale.time(now)))
	errs.check(updated > math.MinInt64, "updated", s.Updated, "less than 292 years ago")
	if err := errs.Err(); err != nil {
		return fmt.Errorf("backoff: Tracker.Restore(%s): %w", quote.Text(fmt.Sprint(key)), err)
	}
	e := entry{failures: s.Failures, delay: t.policy.drawn(s.Failures, s.Delay), updated: updated}
	shard, hash := t.entries.lock(key)
	defer shard.mu.Unlock()
	if old := shard.find(hash, key); old != nil {
		*old = e
	} else {
		shard.insert(hash, key, e)
	}
	return nil
}
