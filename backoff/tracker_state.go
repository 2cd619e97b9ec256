package backoff

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/restartkit/restart/field"
)

// TrackerState is what a Tracker knows about one key, for display and to be stored.
// Restore does not accept the zero value. A TrackerState is a plain value, to be
// copied and shared.
type TrackerState struct {
	Failures int           `json:"failures"` // in a row; >= 1
	Delay    time.Duration `json:"delay"`    // in force
	Updated  time.Time     `json:"updated"`  // the clock's time at the last Next
}

// State returns the state of key, and whether there is one.
func (t *Tracker[K]) State(key K) (TrackerState, bool) {
	e := t.load(key)
	if e.failures == 0 {
		return TrackerState{}, false
	}
	return TrackerState{Failures: e.failures, Delay: e.delay, Updated: t.scale.time(e.updated)}, true
}

// All yields every key and its state, in no order. It is weakly consistent: a key
// that changes meanwhile is yielded at most once, in a state that it had. The
// Tracker may be used inside the loop.
func (t *Tracker[K]) All() iter.Seq2[K, TrackerState] {
	return func(yield func(K, TrackerState) bool) {
		for key := range t.entries.keys() {
			if s, ok := t.State(key); ok && !yield(key, s) {
				return
			}
		}
	}
}

// Restore sets the state of key to s, usually one that an earlier Tracker returned.
// It keeps a Delay that this Tracker's policy can give for that many failures, and
// computes any other anew, so that none is above Max. If s is out of bounds or later
// than the clock, nothing changes, and the error wraps field.Errors with every
// mistake; paths are those of the JSON.
func (t *Tracker[K]) Restore(key K, s TrackerState) error {
	updated := t.scale.instantBefore(s.Updated)
	now := t.scale.now()
	var errs field.Errors
	errs.Check(s.Failures >= 1, "failures", s.Failures, ">= 1")
	errs.Check(s.Delay >= 0, "delay", s.Delay, ">= 0")
	errs.Check(updated <= now, "updated", s.Updated, fmt.Sprintf("at most the clock's %v", t.scale.time(now)))
	errs.Check(updated > math.MinInt64, "updated", s.Updated, "less than 292 years ago")
	if err := errs.Err(); err != nil {
		return fmt.Errorf("backoff: Tracker.Restore(%s): %w", keyText(key), err)
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

// trackerJSON writes a field beside the others, which it hides.
type trackerJSON struct {
	*trackerFields
	Delay storedDuration `json:"delay"`
}

// MarshalJSON returns the state with Delay as a text.
func (s TrackerState) MarshalJSON() ([]byte, error) {
	return json.Marshal(trackerJSON{(*trackerFields)(&s), storedDuration(s.Delay)})
}

// UnmarshalJSON reads what MarshalJSON returns. Unknown fields are ignored.
func (s *TrackerState) UnmarshalJSON(text []byte) error {
	j := trackerJSON{(*trackerFields)(s), storedDuration(s.Delay)}
	err := json.Unmarshal(text, &j)
	s.Delay = time.Duration(j.Delay)
	return err
}

type trackerFields TrackerState
