package backoff

import (
	"sync"
	"sync/atomic"
)

// waiters holds the signals that end the waits for keys.
type waiters[K comparable] struct {
	some  atomic.Bool // byKey is not empty; spares callers without waiters the lock
	mu    sync.Mutex
	byKey map[K]*signal
}

// signal is closed when the wait for a key changes.
type signal struct {
	changed chan struct{}
	users   int
}

// add returns the signal of key.
func (w *waiters[K]) add(key K) *signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.byKey[key]
	if s == nil {
		if w.byKey == nil {
			w.byKey = make(map[K]*signal)
		}
		s = &signal{changed: make(chan struct{})}
		w.byKey[key] = s
		w.some.Store(true)
	}
	s.users++
	return s
}

// remove ends one use of a signal.
func (w *waiters[K]) remove(key K, s *signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.users--; s.users == 0 && w.byKey[key] == s {
		w.drop(key)
	}
}

// wake signals that the wait for key has changed.
func (w *waiters[K]) wake(key K) {
	if !w.some.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.byKey[key]; s != nil {
		close(s.changed)
		w.drop(key)
	}
}

func (w *waiters[K]) drop(key K) {
	delete(w.byKey, key)
	w.some.Store(len(w.byKey) > 0)
}
