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
	Delay     time.Duration // limit for Duplicate, Late and Reorder; 0 means 2s
	Stale     float64       // carries older contents under its own, newer timestamp
	Bare      float64       // carries no contents
	Nameless  float64       // names no pod
	Strange   float64       // has an unknown type

	// Streams.
	Disconnect float64 // ends with ErrInjected after an event
	EndAtOnce  float64 // ends as soon as it is opened, without an error
	Replay     float64 // starts with the last earlier events
	Lose       float64 // loses its first events, except on the first stream

	// Calls.
	Error  float64       // fails with ErrInjected
	Beside float64       // returns a status with that error
	Hang   float64       // returns only when its context ends
	Slow   float64       // takes up to SlowBy, and answers as of its start or its end
	SlowBy time.Duration // 0 means 3s
	Deaf   float64       // ignores its context while slow

	// Timestamps of events and statuses.
	Unstamped float64 // zero
	Seconds   float64 // counts seconds as nanoseconds, so it is in 1970
	Future    float64 // an hour ahead
	Step      float64 // a day ahead or behind
	Ahead     float64 // up to two seconds ahead

	// Reuse is the rate at which Create of a removed container, or Start of an exited
	// one, makes a new container with the same id.
	Reuse float64
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

// stamp returns the runtime's timestamp for the current time.
func (r *Runtime[K]) stamp(at ...any) time.Time {
	now := r.now()
	chance := func(of string) float64 { return r.dice.float(append([]any{of}, at...)...) }
	switch {
	case r.roll("Unstamped", r.faults.Unstamped, at...):
		return time.Time{}
	case r.roll("Seconds", r.faults.Seconds, at...):
		return time.Unix(0, now.Unix())
	case r.roll("Future", r.faults.Future, at...):
		return now.Add(time.Hour)
	case r.roll("Step", r.faults.Step, at...):
		if chance("back") < 0.5 {
			return now.AddDate(0, 0, -1)
		}
		return now.AddDate(0, 0, 1)
	case r.roll("Ahead", r.faults.Ahead, at...):
		return now.Add(time.Duration(chance("ahead by") * float64(2*time.Second)))
	}
	return now
}
