package statuscache

import "github.com/restartkit/restart/pleg/internal/queue"

// A watcher is the state of one Watch loop.
type watcher[K comparable] struct {
	due   queue.Queue[K, struct{}] // keys whose entries are to be yielded
	shown map[K]struct{}           // keys that were yielded as present
	wake  chan struct{}            // holds one token if there may be something to yield
}

// mark notes that key was written or deleted.
func (w *watcher[K]) mark(key K, present bool) {
	if _, shown := w.shown[key]; !present && !shown {
		w.due.Drop(key)
		return
	}
	w.due.Put(key)
	queue.Signal(w.wake)
}
