package pleg

import "iter"

// A mailbox is a queue that coalesces: one slot per key, in the order in which
// the keys came in, so a reader that sleeps costs memory by key and not by
// event. The zero value is an empty one. It locks nothing; its owner does.
type mailbox[K comparable, V any] struct {
	slots       map[K]*slot[K, V]
	first, last *slot[K, V]
}

type slot[K comparable, V any] struct {
	key        K
	value      V
	prev, next *slot[K, V]
}

// put returns the value of key's slot, at the end of the queue if it is new.
// The pointer is good until the slot is taken or dropped.
func (m *mailbox[K, V]) put(key K) *V {
	if s, ok := m.slots[key]; ok {
		return &s.value
	}
	s := &slot[K, V]{key: key, prev: m.last}
	if m.slots == nil {
		m.slots = map[K]*slot[K, V]{}
	}
	m.slots[key] = s
	if m.last == nil {
		m.first = s
	} else {
		m.last.next = s
	}
	m.last = s
	return &s.value
}

// take removes the first slot.
func (m *mailbox[K, V]) take() (key K, value V, ok bool) {
	s := m.first
	if s == nil {
		return key, value, false
	}
	m.drop(s.key)
	return s.key, s.value, true
}

// drop removes the slot of key, if there is one.
func (m *mailbox[K, V]) drop(key K) {
	s, ok := m.slots[key]
	if !ok {
		return
	}
	delete(m.slots, key)
	if s.prev == nil {
		m.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		m.last = s.prev
	} else {
		s.next.prev = s.prev
	}
}

// keys yields the keys in order. The body may drop the key that it got.
func (m *mailbox[K, V]) keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for s := m.first; s != nil; s = s.next {
			if !yield(s.key) {
				return
			}
		}
	}
}

func (m *mailbox[K, V]) len() int { return len(m.slots) }
