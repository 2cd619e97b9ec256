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

// recordTracker records a Tracker that is driven as the kubelet drives its own.
func recordTracker(folder string) {
	type event struct {
		at  time.Duration
		key string
		age time.Duration // of the event
	}
	before := []event{
		{0, "default/web", 0},
		{11 * second, "default/web", second},
		{40 * second, "default/web", 2 * second},
		{41 * second, "default/pull", 0},
		{60 * second, "kube-system/proxy", 3 * second},
	}
	after := []event{
		{61 * second, "default/web", second},
		{90 * second, "default/web", 29 * second},
		{95 * second, "kube-system/proxy", 0},
		{800 * second, "default/pull", second}, // expired
		{801 * second, "default/new", 0},
	}
	clock := &clock{now: start}
	newTracker := func() *backoff.Tracker[string] {
		t, err := backoff.NewTracker[string](backoff.CrashLoop(), backoff.Options{Clock: clock})
		must(err)
		return t
	}
	t := newTracker()
	ask := func(e event) asked {
		at := clock.set(e.at)
		a := asked{At: at, Key: e.key, Event: at.Add(-e.age)}
		a.Held, a.Remaining = t.IsInBackOffSince(e.key, a.Event), t.Remaining(e.key, a.Event).String()
		if !a.Held {
			t.Next(e.key, a.Event)
		}
		a.Delay = t.Get(e.key).String()
		return a
	}
	for _, e := range before {
		ask(e)
	}
	clock.set(60 * second)
	text, err := json.Marshal(maps.Collect(t.All()))
	must(err)
	write(folder, "tracker.json", json.RawMessage(text))
	var states map[string]backoff.State
	must(json.Unmarshal(text, &states))
	t = newTracker()
	for key, s := range states {
		must(t.Restore(key, s))
	}
	var steps []asked
	for _, e := range after {
		steps = append(steps, ask(e))
	}
	write(folder, "tracker.expected.json", map[string]any{"saved": start.Add(60 * second), "steps": steps})
}
