package statuscache

import "github.com/restartkit/restart/pleg/internal/queue"

// A watcher is the state of one Watch loop.
type watcher[K comparable] struct {
	due   queue.Queue[K, struct{}] // keys whose entries are pending
	shown map[K]struct{}           // keys last yielded as present
	wake  chan struct{}            // holds one token if an entry may be pending
}

// mark records a write or deletion of key.
func (w *watcher[K]) mark(key K, present bool) {
	if _, shown := w.shown[key]; !present && !shown {
		w.due.Drop(key)
		return
	}
	w.due.Put(key)
	queue.Signal(w.wake)
}
