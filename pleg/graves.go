package pleg

import (
	"container/heap"
	"iter"
)

// A grave is the time of a deletion that the cache has to remember.
type grave[K comparable] struct {
	key K
	at  instant
}

// graves is a heap of them, the oldest first, at most one for a key: for one
// that was deleted again, of the first deletion.
type graves[K comparable] []grave[K]

func (g graves[K]) Len() int           { return len(g) }
func (g graves[K]) Less(i, j int) bool { return g[i].at < g[j].at }
func (g graves[K]) Swap(i, j int)      { g[i], g[j] = g[j], g[i] }
func (g *graves[K]) Push(x any)        { *g = append(*g, x.(grave[K])) }
func (g *graves[K]) Pop() any {
	last := (*g)[len(*g)-1]
	*g = (*g)[:len(*g)-1]
	return last
}

// add remembers a deletion.
func (g *graves[K]) add(key K, at instant) { heap.Push(g, grave[K]{key, at}) }

// upTo removes and yields the keys of the deletions up to at.
func (g *graves[K]) upTo(at instant) iter.Seq[K] {
	return func(yield func(K) bool) {
		for len(*g) > 0 && (*g)[0].at <= at {
			if !yield(heap.Pop(g).(grave[K]).key) {
				return
			}
		}
	}
}
