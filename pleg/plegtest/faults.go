package plegtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Faults are what a Runtime does wrong: rates from 0 to 1, the chance of each
// event, call or connection to suffer from it, unless the comment says
// otherwise. The zero value is a runtime without faults.
type Faults struct {
	// Of events.
	Drop      float64       // it is never sent
	Duplicate float64       // it is sent twice, up to Delay apart
	Late      float64       // it arrives up to Delay later
	Reorder   float64       // it arrives before what was sent at the same time, or up to Delay later than what comes after it
	Delay     time.Duration // bound of the three above; 0 means 2s
	Stale     float64       // it carries older contents under its own, newer stamp
	Bare      float64       // it carries no contents
	Nameless  float64       // it names no pod
	Strange   float64       // its type is unknown

	// Of streams.
	Disconnect float64 // it ends after an event
	EndAtOnce  float64 // it ends as soon as it is opened
	Replay     float64 // it begins with the last events of before
	Lose       float64 // it loses the first events after it was opened, but for the first connection

	// Of calls.
	Error  float64       // it fails
	Beside float64       // a Status that fails returns one all the same
	Hang   float64       // it waits for the end of its context
	Slow   float64       // it takes up to SlowBy; the answer is of its begin or of its end
	SlowBy time.Duration // 0 means 3s
	Deaf   float64       // a slow one does not heed its context

	// Of stamps, of events and of statuses.
	Unstamped float64 // there is none
	Seconds   float64 // it counts seconds where nanoseconds are due: 1970
	Future    float64 // it is an hour ahead
	Step      float64 // the runtime's clock is a day off, either way
	Ahead     float64 // it is up to two seconds ahead

	// Of ids. A Create of a container that was removed, or a Start of one that has
	// exited, is obeyed; without it these do nothing.
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

// FaultNames returns the names under which injected faults are counted.
func FaultNames() []string {
	return []string{
		"drop", "duplicate", "late", "reorder", "stale", "bare", "nameless", "strange",
		"disconnect", "end at once", "replay", "lose", "restart", "unsupported",
		"error", "hang", "slow", "deaf", "unstamped", "seconds", "future", "step", "ahead", "reuse", "beside",
	}
}

// dice decide by a seed and what is at stake, not by the order of the questions.
type dice uint64

func (d dice) float(at ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, at...)
	return rand.New(rand.NewPCG(uint64(d), h.Sum64())).Float64()
}

func (d dice) roll(rate float64, at ...any) bool { return rate > 0 && d.float(at...) < rate }

// inject counts an injected fault. It returns true.
func (r *Runtime[K]) inject(fault string) bool {
	r.history.Injected[fault]++
	return true
}

// stamp is the runtime's stamp of now.
func (r *Runtime[K]) stamp(at ...any) time.Time {
	now := time.Now().Round(0)
	roll := func(fault string, rate float64) bool {
		return !r.honest && r.dice.roll(rate, append([]any{fault}, at...)...) && r.inject(fault)
	}
	switch {
	case roll("unstamped", r.faults.Unstamped):
		return time.Time{}
	case roll("seconds", r.faults.Seconds):
		return time.Unix(0, now.Unix())
	case roll("future", r.faults.Future):
		return now.Add(time.Hour)
	case roll("step", r.faults.Step):
		if r.dice.roll(0.5, append([]any{"back"}, at...)...) {
			return now.AddDate(0, 0, -1)
		}
		return now.AddDate(0, 0, 1)
	case roll("ahead", r.faults.Ahead):
		return now.Add(time.Duration(r.dice.float(append([]any{"ahead by"}, at...)...) * float64(2*time.Second)))
	}
	return now
}
