package statuscache

import (
	"context"
	"time"
)

// GetNewerThan returns the entry of key once its Modified is later than min, and at
// once if it already is, even if ctx is done. The entry may be unchanged; to wait for a
// change use WaitFor or Watch. The error is the context's or ErrClosed.
func (c *Cache[K, S]) GetNewerThan(ctx context.Context, key K, min time.Time) (Entry[S], error) {
	i := c.instant(min)
	for {
		v, global := c.lookup(key)
		switch {
		case v != nil && v.at >= global && v.at > i:
			return v.entry, nil
		case max(v.when(), global) > i:
			return c.entry(v, global), nil
		}
		if err := c.wait(ctx, &waiter[K]{key: key, min: i}, v); err != nil {
			return Entry[S]{}, err
		}
	}
}

// WaitFor returns the entry of key once ok accepts it. It calls ok at once, and again
// after each write, deletion or later global time. ok may miss short-lived states. The
// error is the context's or ErrClosed.
//
// A running Generator of package pleg looks at the pod each time WaitFor has waited for
// WaitLimit since the last look, so ok also sees changes without an event.
func (c *Cache[K, S]) WaitFor(ctx context.Context, key K, ok func(Entry[S]) bool) (Entry[S], error) {
	for {
		v, global := c.lookup(key)
		if e := c.entry(v, global); ok(e) {
			return e, nil
		}
		if err := c.wait(ctx, &waiter[K]{key: key, min: max(v.when(), global), any: true}, v); err != nil {
			return Entry[S]{}, err
		}
	}
}

// wait waits until w is freed. It returns at once if the key has a version other than
// the rejected seen, or if the global time already frees w.
func (c *Cache[K, S]) wait(ctx context.Context, w *waiter[K], seen *version[S]) error {
	c.mu.Lock()
	v := c.last(w.key)
	switch {
	case v != seen, max(v.when(), c.globalTime()) > w.min:
		c.mu.Unlock()
		return nil
	case c.closed:
		c.mu.Unlock()
		return ErrClosed
	}
	w.done = make(chan struct{})
	w.asked = c.clock.Now()
	c.waits.add(w)
	c.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !w.waiting() { // freed meanwhile, so the answer is ready
		return nil
	}
	c.waits.remove(w)
	return ctx.Err()
}

// overdue returns the keys of waits longer than limit, for any change or for a time now
// past, because the write that should have ended them was lost (KEP-3386, "stuck at
// GetNewerThan"). It returns a key at most once per limit. While waits are in progress,
// waiting is true and next is when to call it again. It is for a single caller,
// which fetches the statuses.
func (c *Cache[K, S]) overdue(now time.Time, limit time.Duration) (keys []K, next time.Time, waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit = max(limit, 1) // or the loop would come back to the waits of now
	for e := c.waits.byAge.Front(); e != nil; e = c.waits.byAge.Front() {
		w := e.Value.(*waiter[K])
		if at := w.asked.Add(limit); at.After(now) {
			return keys, at, true
		}
		if !w.any && w.min >= c.instant(now) {
			c.waits.again(w, now)
			continue
		}
		keys = append(keys, w.key)
		for w = c.waits.byKey[w.key]; w != nil; w = w.next {
			c.waits.again(w, now)
		}
	}
	return keys, time.Time{}, false
}
