package plegtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Faults are the fault rates of a Runtime. A rate of 0 means never, 1 always.
type Faults struct {
	// Events.
	Drop      float64       // never sent
	Duplicate float64       // sent twice, up to Delay apart
	Late      float64       // arrives up to Delay late
	Reorder   float64       // arrives up to Delay late, and before others due at the same time
	Delay     time.Duration // limit for Duplicate, Late, Reorder and Lag; 0 means 2s
	Bare      float64       // carries no exit
	Nameless  float64       // names no pod
	Strange   float64       // has an unknown type
	Skew      float64       // has no timestamp, or a wrong one

	// Streams.
	Disconnect float64 // ends with ErrInjected after an event
	EndAtOnce  float64 // ends as soon as it is opened, without an error
	Replay     float64 // starts with the last earlier events
	Lose       float64 // loses its first events, except on the first stream

	// Calls.
	Error  float64       // fails with ErrInjected
	Hang   float64       // returns only when its context ends
	Slow   float64       // takes up to SlowBy, and answers as of its start or its end
	SlowBy time.Duration // 0 means 3s
	Deaf   float64       // ignores its context while slow
	Empty  float64       // is a list without pods
	Terse  float64       // is a list without exits, as in the CRI
	Lag    float64       // an exit or a removal is shown up to Delay after its event
}

// withDefaults returns f with defaults for its durations.
func (f Faults) withDefaults() Faults {
	if f.Delay == 0 {
		f.Delay = 2 * time.Second
	}
	if f.SlowBy == 0 {
		f.SlowBy = 3 * time.Second
	}
	return f
}

// A dice makes random decisions that depend on a seed and a subject, but not on their
// order.
type dice uint64

// float returns a number in [0, 1) for the subject at.
func (d dice) float(at ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, at...)
	return rand.New(rand.NewPCG(uint64(d), h.Sum64())).Float64()
}

// roll reports whether a fault affects the subject at, and counts it.
func (r *Runtime[K]) roll(fault string, rate float64, at ...any) bool {
	if rate <= 0 || r.dice.float(append([]any{fault}, at...)...) >= rate {
		return false
	}
	r.inject(fault)
	return true
}

// inject counts an injected fault.
func (r *Runtime[K]) inject(fault string) { r.injected[fault]++ }

// stamp returns the timestamp of the event of the last change.
func (r *Runtime[K]) stamp() time.Time {
	now := r.now()
	if !r.roll("Skew", r.faults.Skew, r.changes) {
		return now
	}
	wrong := []time.Time{{}, time.Unix(0, now.Unix()), now.Add(time.Hour), now.AddDate(0, 0, -1)}
	return wrong[int(r.dice.float("stamp", r.changes)*float64(len(wrong)))]
}
