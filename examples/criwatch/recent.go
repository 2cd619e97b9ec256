package main

import (
	"cmp"
)

// rememberedExits is how many exits are remembered.
const rememberedExits = 4096

// recent is a map that, when it is full, drops the key that was put first. The zero
// value is empty and has room for rememberedExits.
type recent[V any] struct {
	limit  int // 0 means rememberedExits
	values map[string]V
	keys   []string // a ring once it is full
	next   int      // in keys, the oldest then
}

// put sets the value of a key, which keeps its place if it has one.
func (r *recent[V]) put(key string, v V) {
	if _, ok := r.values[key]; ok {
		r.values[key] = v
		return
	}
	if r.values == nil {
		r.values = map[string]V{}
	}
	if len(r.keys) < cmp.Or(r.limit, rememberedExits) {
		r.keys = append(r.keys, key)
	} else {
		delete(r.values, r.keys[r.next])
		r.keys[r.next] = key
		r.next = (r.next + 1) % len(r.keys)
	}
	r.values[key] = v
}

// inOrder returns the keys, oldest first.
func (r *recent[V]) inOrder() []string {
	return append(append([]string(nil), r.keys[r.next:]...), r.keys[:r.next]...)
}
