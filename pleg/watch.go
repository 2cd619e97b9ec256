package pleg

import (
	"context"
	"iter"
)

// Watch yields what is known, from the start of the loop: first every present
// entry, then each key that was written or deleted since, with its entry as it
// is when it is yielded; Present is false for a deletion. A loop that is slow
// skips states, never the last one, and costs memory by key, however long it
// sleeps; a key that came and went unseen is not yielded. A later global time
// is not a change. A loop makes a Generator look at nothing: it waits for what
// events and relists bring.
//
// Each loop has a place of its own. It ends with the context at once, after
// Close when it has yielded what is pending, and leaves nothing behind when the
// body breaks.
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

// A watcher is the place of one Watch loop: the keys whose entries it has yet
// to yield, and those it has yielded as present.
type watcher[K comparable] struct {
	due   mailbox[K, struct{}]
	shown map[K]struct{}
	wake  chan struct{} // holds one token while the loop has reason to look
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
	poke(w.wake)
}

// poke leaves a token in a channel of one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// progress is how a watcher stands.
type progress int

const (
	pending progress = iota // there is an entry to yield
	idle                    // not now
	ended                   // nor ever
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
	e = c.entry(c.look(key))
	if e.Present {
		w.shown[key] = struct{}{}
	} else {
		delete(w.shown, key)
	}
	return key, e, pending
}
