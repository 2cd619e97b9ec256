package backoff

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/restartkit/restart/field"
	"k8s.io/utils/clock"
)

// Tracker holds one backoff per key, like client-go's flowcontrol.Backoff.
//
// Use it as the kubelet does. Once IsInBackOffSince(key, finished) returns false, call
// Next(key, finished) and start. Then the first restart is immediate, each delay holds
// back the restart after the next failure, and a run longer than ResetAfter makes the
// key expire, which starts its curve over. Calling Next at the failure itself delays
// even the first restart, but counts waiting as running. A Restarter delays it without
// counting the wait.
//
// An event later than the clock counts as happening at the last Next. If the clock was
// set back to before that Next, the key is not held back.
//
// Create one with NewTracker; the zero value is not usable. A Tracker is safe for
// concurrent use, but its options' functions must not call it.
type Tracker[K comparable] struct {
	policy  Policy
	reset   time.Duration // policy.ResetThreshold()
	expired func(event, updated time.Time, max time.Duration) bool
	rand    func() float64
	scale   timescale
	entries store[K, tracked]
}

// tracked is the state of one key. The zero value stands for an unknown key.
type tracked struct {
	failures int // > 0
	delay    time.Duration
	updated  time.Duration // on the Tracker's timescale
}

// TrackerOptions configures a Tracker. Functions must be safe for concurrent use.
type TrackerOptions struct {
	Clock clock.PassiveClock // nil means the real clock
	Rand  func() float64     // in [0, 1), called only if Jitter > 0; nil means math/rand/v2
	// Expired reports whether event starts the curve over for a key whose last Next was
	// at updated; max is the policy's Max. It must depend only on its arguments. Nil
	// means event-updated > ResetAfter.
	Expired func(event, updated time.Time, max time.Duration) bool
}

// NewTracker returns an empty Tracker. The error wraps that of p.Validate.
func NewTracker[K comparable](p Policy, o TrackerOptions) (*Tracker[K], error) {
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
		reset:   p.ResetThreshold(),
		expired: o.Expired,
		rand:    o.Rand,
		scale:   newTimescale(o.Clock),
		entries: newStore[K, tracked](),
	}, nil
}

// Next counts a failure of key that happened at the time event. The delay grows. It
// starts over if key is new, or if event is more than ResetAfter later than the last Next
// (see TrackerOptions.Expired).
func (t *Tracker[K]) Next(key K, event time.Time) {
	t.next(key, &event)
}

// next is Next, and returns the new delay. A nil event is the clock's time.
func (t *Tracker[K]) next(key K, event *time.Time) time.Duration {
	now := t.scale.now()
	shard, hash := t.entries.lock(key)
	defer shard.mu.Unlock()
	e := shard.find(hash, key)
	if e == nil {
		first := t.after(tracked{}, now, event)
		shard.insert(hash, key, first)
		return first.delay
	}
	*e = t.after(*e, now, event)
	return e.delay
}

// load returns the entry of key, or the zero entry.
func (t *Tracker[K]) load(key K) (e tracked) {
	shard, hash := t.entries.lock(key)
	if found := shard.find(hash, key); found != nil {
		e = *found
	}
	shard.mu.Unlock()
	return e
}

// after returns the entry that follows was, which may be zero, after one more failure
// at event, reported at now.
func (t *Tracker[K]) after(was tracked, now time.Duration, event *time.Time) tracked {
	e := tracked{failures: 1, updated: now}
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
	e.delay = t.jittered(t.policy.delay(e.failures))
	return e
}

// jittered draws a delay.
func (t *Tracker[K]) jittered(d time.Duration) time.Duration {
	if t.policy.Jitter == 0 || d <= 0 {
		return d
	}
	return t.policy.jittered(d, t.rand())
}

// Get returns the delay in force for key, or 0 if key is unknown.
func (t *Tracker[K]) Get(key K) time.Duration {
	return t.load(key).delay
}

// Remaining returns the time left of key's delay, counted from event. It is positive
// exactly while IsInBackOffSince is true.
func (t *Tracker[K]) Remaining(key K, event time.Time) time.Duration {
	now, at := t.scale.now(), t.scale.instant(event) // before load, because reading the clock waits for earlier loads
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

// IsInBackOffSince reports whether less than key's delay has passed since event,
// usually the end of key's last run, and key had not expired at event. If so, hold key
// back.
func (t *Tracker[K]) IsInBackOffSince(key K, event time.Time) bool {
	return t.Remaining(key, event) > 0
}

// IsInBackOffSinceUpdate reports whether, at now, less than key's delay has passed
// since its last Next and key has not expired.
func (t *Tracker[K]) IsInBackOffSinceUpdate(key K, now time.Time) bool {
	e := t.load(key)
	at := t.scale.instant(now)
	if e.failures == 0 || t.isExpired(at, e.updated, &now) {
		return false
	}
	if at >= e.updated {
		return subtract(at, e.updated) < e.delay
	}
	// Before the last Next, let go only if the clock was set back.
	return e.delay > 0 && t.scale.now() >= e.updated
}

// isExpired reports whether an entry had expired at the instant at. The option Expired
// receives the event itself if at is its instant.
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

// GC drops keys that no longer matter and returns their number; call it occasionally. A
// key matters until it has been expired for longer than its delay plus ResetAfter. GC
// does not affect IsInBackOffSince, nor a Next called within ResetAfter of its event.
// It locks few keys at a time.
func (t *Tracker[K]) GC() int {
	dropped := 0
	for i := range t.entries.shards {
		now := t.scale.now()
		dropped += t.entries.shards[i].sweep(func(e *tracked) bool {
			return t.isExpired(subtract(subtract(now, e.delay), t.reset), e.updated, nil)
		})
	}
	return dropped
}

// Len returns the number of keys.
func (t *Tracker[K]) Len() int {
	return t.entries.len()
}

// TrackerState is the state of one key, for display and storage.
type TrackerState struct {
	Failures int           `json:"failures"` // failures in a row; >= 1
	Delay    time.Duration `json:"delay"`    // in force
	Updated  time.Time     `json:"updated"`  // the clock's time at the last Next
}

// State returns the state of key and reports whether key is known.
func (t *Tracker[K]) State(key K) (TrackerState, bool) {
	e := t.load(key)
	if e.failures == 0 {
		return TrackerState{}, false
	}
	return TrackerState{Failures: e.failures, Delay: e.delay, Updated: t.scale.time(e.updated)}, true
}

// All yields every key with its state, in no particular order. A key that changes
// meanwhile is yielded at most once, in a state it had. The loop may use the Tracker.
func (t *Tracker[K]) All() iter.Seq2[K, TrackerState] {
	return func(yield func(K, TrackerState) bool) {
		for key := range t.entries.keys() {
			if s, ok := t.State(key); ok && !yield(key, s) {
				return
			}
		}
	}
}

// Restore sets the state of key to s. A Delay that the Tracker's policy cannot produce
// for s.Failures is recomputed, so no delay exceeds Max, and an Updated later than the
// clock becomes the clock's time. If s is out of bounds, nothing changes, and the error
// wraps field.Errors listing every mistake by its JSON path.
func (t *Tracker[K]) Restore(key K, s TrackerState) error {
	e, errs := t.accept(s)
	if err := errs.Err(); err != nil {
		return fmt.Errorf("backoff: Tracker.Restore(%s): %w", keyText(key), err)
	}
	t.set(key, e)
	return nil
}

// accept returns a state as the Tracker keeps it, and the mistakes in it.
func (t *Tracker[K]) accept(s TrackerState) (tracked, field.Errors) {
	updated := min(t.scale.instant(s.Updated), t.scale.now())
	var errs field.Errors
	errs.Check(s.Failures >= 1, "failures", s.Failures, ">= 1")
	errs.Check(s.Delay >= 0, "delay", s.Delay, ">= 0")
	errs.Check(updated > math.MinInt64, "updated", s.Updated, "less than 292 years ago")
	return tracked{failures: s.Failures, delay: t.policy.drawn(s.Failures, s.Delay), updated: updated}, errs
}

// set sets the entry of key.
func (t *Tracker[K]) set(key K, e tracked) {
	shard, hash := t.entries.lock(key)
	defer shard.mu.Unlock()
	if old := shard.find(hash, key); old != nil {
		*old = e
	} else {
		shard.insert(hash, key, e)
	}
}

// trackerJSON is a TrackerState with its Delay as a string.
type trackerJSON struct {
	*trackerFields
	Delay durationText `json:"delay"`
}

// MarshalJSON encodes Delay as a string.
func (s TrackerState) MarshalJSON() ([]byte, error) {
	return json.Marshal(trackerJSON{(*trackerFields)(&s), durationText(s.Delay)})
}

// UnmarshalJSON ignores unknown fields.
func (s *TrackerState) UnmarshalJSON(text []byte) error {
	j := trackerJSON{(*trackerFields)(s), durationText(s.Delay)}
	err := json.Unmarshal(text, &j)
	s.Delay = time.Duration(j.Delay)
	return err
}

type trackerFields TrackerState

// RateLimiter is a view of a Tracker that implements client-go's
// workqueue.TypedRateLimiter[K]. Get one from Tracker.RateLimiter; the zero value is
// not usable. A RateLimiter is safe for concurrent use.
type RateLimiter[K comparable] struct {
	tracker *Tracker[K]
}

// RateLimiter returns a view of t in which When calls Next with the current time. After
// more than ResetAfter without such a call, a key's delay starts over.
func (t *Tracker[K]) RateLimiter() RateLimiter[K] {
	return RateLimiter[K]{tracker: t}
}

// When counts a failure of item and returns how long to wait before its retry.
func (r RateLimiter[K]) When(item K) time.Duration {
	return r.tracker.next(item, nil)
}

// Forget forgets the failures of item.
func (r RateLimiter[K]) Forget(item K) { r.tracker.Reset(item) }

// NumRequeues returns item's number of failures in a row.
func (r RateLimiter[K]) NumRequeues(item K) int {
	s, _ := r.tracker.State(item)
	return s.Failures
}
