package backoff

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/restartkit/restart/field"
)

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
// for s.Failures is recomputed, so no delay exceeds Max. If s is out of bounds or later
// than the clock, nothing changes, and the error wraps field.Errors listing every
// mistake by its JSON path.
func (t *Tracker[K]) Restore(key K, s TrackerState) error {
	updated := t.scale.instantBefore(s.Updated)
	now := t.scale.now()
	var errs field.Errors
	errs.Check(s.Failures >= 1, "failures", s.Failures, ">= 1")
	errs.Check(s.Delay >= 0, "delay", s.Delay, ">= 0")
	errs.Check(updated <= now, "updated", s.Updated, fmt.Sprintf("at most the clock's time, %v", t.scale.time(now)))
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

// trackerJSON adds a field that hides one of the same name.
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
