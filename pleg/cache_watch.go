package pleg

import (
	"context"
	"iter"
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
		defer c.unwatch(w)
		for ctx.Err() == nil {
			key, e, state := c.next(w)
			switch state {
			case pending:
				if !yield(key, e) {
					return
				}
			case ended:
				return
			case idle:
				select {
				case <-w.wake:
				case <-c.done:
				case <-ctx.Done():
				}
			}
		}
	}
}

// A watcher is the state of one Watch loop.
type watcher[K comparable] struct {
	due   queue[K, struct{}] // keys whose entries are to be yielded
	shown map[K]struct{}     // keys that were yielded as present
	wake  chan struct{}      // holds one token if there may be something to yield
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

func (c *Cache[K, S]) unwatch(w *watcher[K]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchers, w)
}

// mark notes that key was written or deleted.
func (w *watcher[K]) mark(key K, present bool) {
	if _, shown := w.shown[key]; !present && !shown {
		w.due.drop(key)
		return
	}
	w.due.put(key)
	signal(w.wake)
}

// progress says whether a watcher has something to yield.
type progress int

const (
	pending progress = iota // there is an entry to yield
	idle                    // there is none now
	ended                   // there will be none
)

// next takes the next entry to yield.
func (c *Cache[K, S]) next(w *watcher[K]) (key K, e Entry[S], state progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, _, ok := w.due.take()
	switch {
	case ok:
	case c.closed:
		return key, e, ended
	default:
		return key, e, idle
	}
	e = c.entry(c.lookup(key))
	if e.Present {
		w.shown[key] = struct{}{}
	} else {
		delete(w.shown, key)
	}
	return key, e, pending
}
