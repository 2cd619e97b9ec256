package plegtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Faults are the mistakes of a Runtime. Each is a rate from 0, never, to 1, always: the
// chance that it happens to an event, a stream, a call or a stamp, which the comments
// call "it". The zero value is a runtime without faults. Faults are a plain value.
type Faults struct {
	// Events.
	Drop      float64       // it is never sent
	Duplicate float64       // it is sent twice, up to Delay apart
	Late      float64       // it arrives up to Delay later
	Reorder   float64       // it arrives up to Delay later, and before those due at the same time
	Delay     time.Duration // the bound of the three above; 0 means 2s
	Stale     float64       // it carries older contents under its own, newer stamp
	Bare      float64       // it carries no contents
	Nameless  float64       // it names no pod
	Strange   float64       // its type is unknown

	// Streams.
	Disconnect float64 // it ends after an event, with ErrInjected
	EndAtOnce  float64 // it ends as soon as it is opened, without an error
	Replay     float64 // it begins with the last events of before
	Lose       float64 // it loses the first events after it was opened; not the first stream

	// Calls.
	Error  float64       // it fails with ErrInjected
	Beside float64       // a Status that fails so returns a status with the error
	Hang   float64       // it returns when its context ends
	Slow   float64       // it takes up to SlowBy; its answer is of its begin or of its end
	SlowBy time.Duration // 0 means 3s
	Deaf   float64       // a slow call does not end with its context

	// Stamps of events and statuses.
	Unstamped float64 // it is zero
	Seconds   float64 // it counts seconds as if they were nanoseconds: 1970
	Future    float64 // it is an hour ahead
	Step      float64 // it is a day off, either way
	Ahead     float64 // it is up to two seconds ahead

	// Ids: a Create of a container that was removed, or a Start of one that has
	// exited, makes another container of that id.
	Reuse float64
}

// withDefaults returns f with its durations filled in.
func (f Faults) withDefaults() Faults {
	if f.Delay == 0 {
		f.Delay = 2 * time.Second
	}
	if f.SlowBy == 0 {
		f.SlowBy = 3 * time.Second
	}
	return f
}

// dice decide by a seed and by what is asked, not by the order of the questions.
type dice uint64

// float is a number from 0 up to 1 for what at names.
func (d dice) float(at ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, at...)
	return rand.New(rand.NewPCG(uint64(d), h.Sum64())).Float64()
}

// roll reports whether a fault strikes what at names, and counts it.
func (r *Runtime[K]) roll(fault string, rate float64, at ...any) bool {
	if rate <= 0 || r.dice.float(append([]any{fault}, at...)...) >= rate {
		return false
	}
	r.inject(fault)
	return true
}

// inject counts an injected fault.
func (r *Runtime[K]) inject(fault string) { r.injected[fault]++ }

// stamp is the runtime's stamp of now.
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
