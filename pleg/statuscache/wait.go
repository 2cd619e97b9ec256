package statuscache

import (
	"container/heap"
	"container/list"
	"context"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
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
// A running Generator of package pleg inspects the pod each time WaitFor has waited for
// WaitLimit since the last inspection, so ok also sees changes without an event.
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

// overdue implements cachewriter.Writer.
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

// A waiter is a call in progress of GetNewerThan or WaitFor. It is in byTime, so that
// UpdateTime touches only the waiters that it frees, in byKey for writes and in byAge
// for overdue.
type waiter[K comparable] struct {
	key        K
	min        instant // freed by an entry newer than this
	any        bool    // freed by every write of the key
	done       chan struct{}
	place      int           // index in byTime plus one; 0 if not waiting
	prev, next *waiter[K]    // of the same key; next also links freed waiters
	asked      time.Time     // start of the wait, or of its limit after overdue saw it
	age        *list.Element // in byAge
}

func (w *waiter[K]) waiting() bool { return w.place > 0 }

// wake wakes w and all waiters linked after it.
func (w *waiter[K]) wake() {
	for w != nil {
		next := w.next
		w.next = nil
		close(w.done)
		w = next
	}
}

// waits are the waiters of a cache.
type waits[K comparable] struct {
	byTime byTime[K]
	byKey  map[K]*waiter[K] // the first waiter of each key
	byAge  list.List        // all waiters, by asked
	began  chan struct{}    // holds one token after byAge became non-empty
}

func (q *waits[K]) add(w *waiter[K]) {
	heap.Push(&q.byTime, w)
	w.age = q.byAge.PushBack(w)
	if q.byAge.Len() == 1 {
		queue.Signal(q.began)
	}
	w.next = q.byKey[w.key]
	if w.next != nil {
		w.next.prev = w
	}
	q.byKey[w.key] = w
}

func (q *waits[K]) remove(w *waiter[K]) {
	heap.Remove(&q.byTime, w.place-1)
	q.byAge.Remove(w.age)
	if w.next != nil {
		w.next.prev = w.prev
	}
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case w.next != nil:
		q.byKey[w.key] = w.next
	default:
		delete(q.byKey, w.key)
	}
	w.prev, w.next = nil, nil
}

// written removes and links the waiters freed by a write of key, whose entry now holds
// as of known.
func (q *waits[K]) written(key K, known instant) (freed *waiter[K]) {
	for w := q.byKey[key]; w != nil; {
		next := w.next
		if w.any || known > w.min {
			q.remove(w)
			w.next, freed = freed, w
		}
		w = next
	}
	return freed
}

// upTo removes and links up to a hundred waiters freed by the global time known, and
// reports whether more may be left.
func (q *waits[K]) upTo(known instant) (freed *waiter[K], more bool) {
	for range 100 {
		if len(q.byTime) == 0 || q.byTime[0].min >= known {
			return freed, false
		}
		w := q.byTime[0]
		q.remove(w)
		w.next, freed = freed, w
	}
	return freed, true
}

// all removes and links every waiter.
func (q *waits[K]) all() (freed *waiter[K]) {
	for len(q.byTime) > 0 {
		w := q.byTime[len(q.byTime)-1]
		q.remove(w)
		w.next, freed = freed, w
	}
	return freed
}

// again restarts the limit after which w is overdue.
func (q *waits[K]) again(w *waiter[K], now time.Time) {
	w.asked = now
	q.byAge.MoveToBack(w.age)
}

// byTime is a heap of waiters, with the earliest min first.
type byTime[K comparable] []*waiter[K]

func (h byTime[K]) Len() int           { return len(h) }
func (h byTime[K]) Less(i, j int) bool { return h[i].min < h[j].min }
func (h byTime[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *byTime[K]) Push(x any) {
	w := x.(*waiter[K])
	*h = append(*h, w)
	w.place = len(*h)
}

func (h *byTime[K]) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.place = 0
	return w
}
