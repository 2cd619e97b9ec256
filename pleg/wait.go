package pleg

import (
	"container/heap"
	"container/list"
	"context"
	"time"
)

// GetNewerThan returns what is known of key as soon as that knowledge is newer
// than min: an entry, a deletion or a global time later than min. Data that is
// there already comes back at once, whatever the context, and without
// allocation. The answer may be unchanged data; to wait for a change use
// WaitFor or Watch. The error is the context's, or ErrClosed.
func (c *Cache[K, S]) GetNewerThan(ctx context.Context, key K, min time.Time) (Entry[S], error) {
	i := c.instant(min)
	for {
		r, floor := c.look(key)
		switch {
		case r != nil && r.at >= floor && r.at > i:
			return r.entry, nil
		case max(r.when(), floor) > i:
			return c.entry(r, floor), nil
		}
		if err := c.wait(ctx, &waiter[K]{key: key, min: i}, r); err != nil {
			return Entry[S]{}, err
		}
	}
}

// WaitFor returns what is known of key as soon as ok accepts it. ok is asked at
// once and again whenever the entry was written or deleted or is known as of a
// later time; states that pass faster than this goroutine runs are not seen. It
// is called on this goroutine, under no lock. The error is the context's, or
// ErrClosed.
//
// A Generator that runs looks at the pod whenever this has waited for WaitLimit
// since the last look, so ok sees also what no event told of.
func (c *Cache[K, S]) WaitFor(ctx context.Context, key K, ok func(Entry[S]) bool) (Entry[S], error) {
	for {
		r, floor := c.look(key)
		if e := c.entry(r, floor); ok(e) {
			return e, nil
		}
		if err := c.wait(ctx, &waiter[K]{key: key, min: max(r.when(), floor), any: true}, r); err != nil {
			return Entry[S]{}, err
		}
	}
}

// wait waits until w is freed, unless seen, the record that did not do, is not
// the last one any more, or too old.
func (c *Cache[K, S]) wait(ctx context.Context, w *waiter[K], seen *record[S]) error {
	c.mu.Lock()
	r := c.record(w.key)
	switch {
	case r != seen, max(r.when(), c.floor()) > w.min:
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
	if !w.waiting() { // freed meanwhile: the answer is there
		return nil
	}
	c.waits.remove(w)
	return ctx.Err()
}

// A waiter is one call that waits. It stands in two lists: by time, so that
// UpdateTime touches only those it frees, and by key for the writes.
type waiter[K comparable] struct {
	key        K
	min        instant // freed by knowledge newer than this
	any        bool    // freed by every write of the key
	done       chan struct{}
	place      int           // in byTime, plus one; 0: not waiting
	prev, next *waiter[K]    // of the same key; next also links the freed ones
	asked      time.Time     // when its pod was last asked for, or the wait began
	age        *list.Element // in byAge
}

func (w *waiter[K]) waiting() bool { return w.place > 0 }

// wake wakes w and all that follow it.
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
	byKey  map[K]*waiter[K] // the first of each key
	byAge  list.List        // all, the longest asked first
	began  chan struct{}    // holds one token once byAge has begun to fill
}

func (q *waits[K]) add(w *waiter[K]) {
	heap.Push(&q.byTime, w)
	w.age = q.byAge.PushBack(w)
	if q.byAge.Len() == 1 {
		poke(q.began)
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

// written removes and links the waiters that a write of key frees, after which
// the key is known as of known.
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

// upTo removes and links waiters that a global time of known frees, a hundred of
// them, and reports whether more are left.
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

// overdue returns the keys that somebody has waited for longer than limit, for
// any change or for a time that has come: whatever was to free them has failed
// to (KEP-3386, "stuck at GetNewerThan"). However many wait for a key, it is not
// returned again for as long. next is when to ask again, never if nobody waits.
func (c *Cache[K, S]) overdue(now time.Time, limit time.Duration) (keys []K, next wakeup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.waits.byAge.Front(); e != nil; e = c.waits.byAge.Front() {
		w := e.Value.(*waiter[K])
		if at := w.asked.Add(limit); at.After(now) {
			return keys, wakeAt(at)
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
	return keys, wakeup{}
}

// again lets w wait anew before its key is asked for.
func (q *waits[K]) again(w *waiter[K], now time.Time) {
	w.asked = now
	q.byAge.MoveToBack(w.age)
}

// byTime is a heap of waiters, the earliest min first.
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
