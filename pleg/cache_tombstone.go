package pleg

import (
	"container/heap"
	"iter"
)

// A tombstone is a deletion that the cache has to remember.
type tombstone[K comparable] struct {
	key K
	at  instant
}

// tombstones is a heap, the oldest first. A key has at most one tombstone in it;
// if the key was deleted again, that is of the first deletion.
type tombstones[K comparable] []tombstone[K]

func (t tombstones[K]) Len() int           { return len(t) }
func (t tombstones[K]) Less(i, j int) bool { return t[i].at < t[j].at }
func (t tombstones[K]) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *tombstones[K]) Push(x any)        { *t = append(*t, x.(tombstone[K])) }
func (t *tombstones[K]) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// add remembers a deletion.
func (t *tombstones[K]) add(key K, at instant) { heap.Push(t, tombstone[K]{key, at}) }

// upTo removes and yields the keys of the deletions up to at.
func (t *tombstones[K]) upTo(at instant) iter.Seq[K] {
	return func(yield func(K) bool) {
		for len(*t) > 0 && (*t)[0].at <= at {
			if !yield(heap.Pop(t).(tombstone[K]).key) {
				return
			}
		}
	}
}
