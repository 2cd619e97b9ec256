package statuscache

import (
	"context"
	"iter"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// Watch yields every present entry, and then the latest entry of each key written or
// deleted since, with Present false for a deletion. A slow loop may miss intermediate
// states, and keys that come and go, but never the latest state. A later global time is
// not a change. Unlike WaitFor, Watch does not make a Generator inspect pods.
//
// Each loop starts afresh. It ends at once with ctx, and after Close once it has
// yielded its pending entries.
func (c *Cache[K, S]) Watch(ctx context.Context) iter.Seq2[K, Entry[S]] {
	return func(yield func(K, Entry[S]) bool) {
		w := c.watch()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.watchers, w)
		}()
		queue.Pump(ctx, w.wake, c.done, func() (ok, more bool) {
			key, e, ok := c.next(w)
			return ok, !ok || yield(key, e)
		})
	}
}

func (c *Cache[K, S]) watch() *watcher[K] {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &watcher[K]{shown: map[K]struct{}{}, wake: make(chan struct{}, 1)}
	for n := range c.nodes.all() {
		w.mark(n.key, n.last.Load().entry.Present)
	}
	c.watchers[w] = struct{}{}
	return w
}

// next takes the next pending entry, if any.
func (c *Cache[K, S]) next(w *watcher[K]) (key K, e Entry[S], ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key, _, ok = w.due.Take(); !ok {
		return key, e, false
	}
	e = c.entry(c.lookup(key))
	if e.Present {
		w.shown[key] = struct{}{}
	} else {
		delete(w.shown, key)
	}
	return key, e, true
}

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
