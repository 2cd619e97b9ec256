// Package queue implements a queue that coalesces by key, and the loop of its readers.
package queue

import (
	"context"
	"iter"
)

// A Queue has one slot per key, in order of arrival, so a slow reader needs memory per
// key, not per event. The zero value is an empty queue. The owner must lock it.
type Queue[K comparable, V any] struct {
	slots       map[K]*slot[K, V]
	first, last *slot[K, V]
}

type slot[K comparable, V any] struct {
	key        K
	value      V
	prev, next *slot[K, V]
}

// Put returns the value of key's slot, after adding a slot at the end if key has none.
// The pointer is valid until the slot is taken or dropped.
func (q *Queue[K, V]) Put(key K) *V {
	if s, ok := q.slots[key]; ok {
		return &s.value
	}
	s := &slot[K, V]{key: key, prev: q.last}
	if q.slots == nil {
		q.slots = map[K]*slot[K, V]{}
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

// Get returns the value of key's slot, or nil.
func (q *Queue[K, V]) Get(key K) *V {
	if s, ok := q.slots[key]; ok {
		return &s.value
	}
	return nil
}

// First returns the first slot, or nil.
func (q *Queue[K, V]) First() (key K, value *V) {
	if q.first == nil {
		return key, nil
	}
	return q.first.key, &q.first.value
}

// Take removes and returns the first slot.
func (q *Queue[K, V]) Take() (key K, value V, ok bool) {
	s := q.first
	if s == nil {
		return key, value, false
	}
	q.Drop(s.key)
	return s.key, s.value, true
}

// Drop removes the slot of key, if any.
func (q *Queue[K, V]) Drop(key K) {
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

// Keys yields the keys in order. The loop body may drop the current key.
func (q *Queue[K, V]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for s := q.first; s != nil; s = s.next {
			if !yield(s.key) {
				return
			}
		}
	}
}

// Len returns the number of slots.
func (q *Queue[K, V]) Len() int { return len(q.slots) }

// Signal puts a token into c, which has a capacity of one, unless it is full.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// IsClosed reports whether done is closed.
func IsClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Pump calls step repeatedly, waiting for wake whenever step is not ok. It returns when
// ctx ends, when more is false, or when step is not ok after done was closed.
func Pump(ctx context.Context, wake, done <-chan struct{}, step func() (ok, more bool)) {
	for ctx.Err() == nil {
		closed := IsClosed(done)
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
