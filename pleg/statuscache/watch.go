package statuscache

import (
	"context"
	"iter"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// Watch yields what is known from the start of the loop: first every present
// entry, then each key that was written or deleted since, with its entry as it is
// when Watch yields it. Present is false for a deletion. A slow loop misses states
// in between but never the last one; it does not see a key that came and went. It
// needs memory per key, however slow it is. A later global time is not a change. A
// loop does not make a Generator look at a pod: it yields what events and relists
// bring.
//
// Every loop starts anew. It ends at once with the context, and after Close when
// it has yielded what is pending. It leaves nothing behind if the body breaks.
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

// next takes the next entry to yield, if there is one.
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
