package main

import (
	"sync"
	"time"
)

// eventTimes holds the timestamps of the runtime's latest exit events, by container. The
// zero value is empty. It is safe for concurrent use by multiple goroutines.
type eventTimes struct {
	mu       sync.Mutex
	new, old map[string]time.Time // old is dropped once new is full
}

// mostEventTimes is the number of containers in each half.
const mostEventTimes = 4096

// note records the timestamp of an event. Only a container's first one counts.
func (t *eventTimes) note(container string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.old[container]; ok {
		return
	}
	if _, ok := t.new[container]; ok {
		return
	}
	if t.new == nil || len(t.new) >= mostEventTimes {
		t.new, t.old = map[string]time.Time{}, t.new
	}
	t.new[container] = at
}

// take removes and returns the timestamp of a container, or zero.
func (t *eventTimes) take(container string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.new[container]
	if !ok {
		at = t.old[container]
	}
	delete(t.new, container)
	delete(t.old, container)
	return at
}
