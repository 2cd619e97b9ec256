package pleg

import (
	"context"
	"iter"
)

// A queue coalesces: it has one slot per key, in the order in which the keys came
// in, so a slow reader needs memory per key and not per event. The zero value is
// an empty queue. Its owner locks it.
type queue[K comparable, V any] struct {
	slots       map[K]*queueSlot[K, V]
	first, last *queueSlot[K, V]
}

type queueSlot[K comparable, V any] struct {
	key        K
	value      V
	prev, next *queueSlot[K, V]
}

// put returns the value of key's slot. A new slot goes to the end of the queue.
// The pointer is valid until the slot is taken or dropped.
func (q *queue[K, V]) put(key K) *V {
	if s, ok := q.slots[key]; ok {
		return &s.value
	}
	s := &queueSlot[K, V]{key: key, prev: q.last}
	if q.slots == nil {
		q.slots = map[K]*queueSlot[K, V]{}
	}
	q.slots[key] = s
	if q.last == nil {
		q.first = s
	} else {
		q.last.next = s
	}
	q.last = s
	return &s.value
}

// take removes the first slot.
func (q *queue[K, V]) take() (key K, value V, ok bool) {
	s := q.first
	if s == nil {
		return key, value, false
	}
	q.drop(s.key)
	return s.key, s.value, true
}

// drop removes the slot of key, if there is one.
func (q *queue[K, V]) drop(key K) {
	s, ok := q.slots[key]
	if !ok {
		return
	}
	delete(q.slots, key)
	if s.prev == nil {
		q.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.last = s.prev
	} else {
		s.next.prev = s.prev
	}
}

// keys yields the keys in order. The body may drop the key that it got.
func (q *queue[K, V]) keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for s := q.first; s != nil; s = s.next {
			if !yield(s.key) {
				return
			}
		}
	}
}

func (q *queue[K, V]) len() int { return len(q.slots) }

// signal leaves a token in a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// isClosed reports whether done is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// pump calls step again and again, and after one that was not ok waits for wake.
// It returns when ctx ends, when step wants no more, or when step is not ok after
// done was closed: then there is nothing left.
func pump(ctx context.Context, wake, done <-chan struct{}, step func() (ok, more bool)) {
	for ctx.Err() == nil {
		closed := isClosed(done)
		switch ok, more := step(); {
		case !more, !ok && closed:
			return
		case ok:
			continue
		}
		select {
		case <-wake:
		case <-done:
		case <-ctx.Done():
		}
	}
}
