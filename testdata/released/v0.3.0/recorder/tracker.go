package main

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/restartkit/restart/backoff"
)

// asked is a question to a Tracker about an event, and its answers. After it, if the key
// is not held back, the recording calls Next.
type asked struct {
	At        time.Time `json:"at"`
	Key       string    `json:"key"`
	Event     time.Time `json:"event"`
	Held      bool      `json:"held"`
	Remaining string    `json:"remaining"`
	Delay     string    `json:"delay"` // after Next
}

// An event of a key is asked about at a time after start, age after it happened.
type event struct {
	at  time.Duration
	key string
	age time.Duration
}

var (
	trackedBefore = []event{
		{0, "default/web", 0},
		{11 * second, "default/web", second},
		{40 * second, "default/web", 2 * second},
		{41 * second, "default/pull", 0},
		{60 * second, "kube-system/proxy", 3 * second},
	}
	trackedAfter = []event{
		{61 * second, "default/web", second},
		{90 * second, "default/web", 29 * second},
		{95 * second, "kube-system/proxy", 0},
		{800 * second, "default/pull", second}, // expired
		{801 * second, "default/new", 0},
	}
)

// ask asks about the event at its time.
func (e event) ask(t *backoff.Tracker[string], clock *clock) asked {
	at := clock.set(e.at)
	a := asked{At: at, Key: e.key, Event: at.Add(-e.age)}
	a.Held, a.Remaining = t.IsInBackOffSince(e.key, a.Event), t.Remaining(e.key, a.Event).String()
	if !a.Held {
		t.Next(e.key, a.Event)
	}
	a.Delay = t.Get(e.key).String()
	return a
}

// recordTracker records a Tracker that is driven as the kubelet drives its own.
func recordTracker(folder string) {
	clock := newClock(start)
	t, err := readTracker(clock, []byte("{}"))
	must(err)
	for _, e := range trackedBefore {
		e.ask(t, clock)
	}
	saved := clock.set(60 * second)
	text, err := json.Marshal(maps.Collect(t.All()))
	must(err)
	write(folder, "tracker.json", json.RawMessage(text))
	t, err = readTracker(clock, text) // the next run of the program
	must(err)
	var steps []asked
	for _, e := range trackedAfter {
		steps = append(steps, e.ask(t, clock))
	}
	write(folder, "tracker.expected.json", map[string]any{"saved": saved, "steps": steps})
}

// readTracker returns a Tracker with the states in text.
func readTracker(clock *clock, text []byte) (*backoff.Tracker[string], error) {
	t, err := backoff.NewTracker[string](backoff.CrashLoop(), backoff.TrackerOptions{Clock: clock})
	must(err)
	var states map[string]backoff.TrackerState
	if err := json.Unmarshal(text, &states); err != nil {
		return nil, err
	}
	for key, s := range states {
		if err := t.Restore(key, s); err != nil {
			return nil, err
		}
	}
	return t, nil
}
