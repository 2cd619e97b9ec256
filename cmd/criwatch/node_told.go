package main

import (
	"sync"
	"time"
)

// told remembers for the containers whose end an event reported last, when that was
// according to the event. The zero value is empty. It is safe for concurrent use by
// multiple goroutines.
type told struct {
	mu       sync.Mutex
	new, old map[string]time.Time // the old ones are forgotten when there are enough new ones
}

// mostTold is how many containers each half remembers.
const mostTold = 4096

// note notes an event of that time. The first of a container counts.
func (t *told) note(container string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.old[container]; ok {
		return
	}
	if _, ok := t.new[container]; ok {
		return
	}
	if t.new == nil || len(t.new) >= mostTold {
		t.new, t.old = map[string]time.Time{}, t.new
	}
	t.new[container] = at
}

// take returns the time that was noted of a container and forgets it.
func (t *told) take(container string) time.Time {
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
