package statuscache

import (
	"hash/maphash"
	"iter"
	"sync/atomic"
)

// A table maps keys to nodes. find and all take no lock, so readers of the cache wait
// neither for writers nor for each other. add and remove require the cache's lock. Each
// bucket is a chain of nodes, and the number of buckets is a power of two. A resize
// copies the nodes, so a reader of the old table sees the state as of its start. (In
// benchmarks this was faster than shards of RWMutex and map, read-only maps and
// sync.Map, with one and with two readers.)
type table[K comparable, S any] struct {
	seed    maphash.Seed
	buckets atomic.Pointer[buckets[K, S]]
	len     int // for writers
}

type buckets[K comparable, S any] []atomic.Pointer[node[K, S]]

// A node holds the version of one key, which is present or has a tombstone.
type node[K comparable, S any] struct {
	key  K
	last atomic.Pointer[version[S]] // never nil
	next atomic.Pointer[node[K, S]]
}

const fewestBuckets = 8

// init makes t ready for use.
func (t *table[K, S]) init() {
	t.seed = maphash.MakeSeed()
	t.buckets.Store(&buckets[K, S]{})
	t.resize(fewestBuckets)
}

// bucket returns the head of the chain for a hash.
func (b buckets[K, S]) bucket(hash uint64) *atomic.Pointer[node[K, S]] {
	return &b[hash&uint64(len(b)-1)]
}

// find returns the node of key, or nil.
func (t *table[K, S]) find(key K) *node[K, S] {
	return t.findHash(key, maphash.Comparable(t.seed, key))
}

// findHash is find with a precomputed hash.
func (t *table[K, S]) findHash(key K, hash uint64) *node[K, S] {
	n := (*t.buckets.Load()).bucket(hash).Load()
	for n != nil && n.key != key {
		n = n.next.Load()
	}
	return n
}

// all yields the nodes of the table as of its start.
func (t *table[K, S]) all() iter.Seq[*node[K, S]] {
	return func(yield func(*node[K, S]) bool) {
		b := *t.buckets.Load()
		for i := range b {
			for n := b[i].Load(); n != nil; n = n.next.Load() {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// add is for a key that the table lacks.
func (t *table[K, S]) add(key K, v *version[S]) {
	if t.len++; t.len > len(*t.buckets.Load()) {
		t.resize(2 * t.len)
	}
	t.chain(*t.buckets.Load(), key, v)
}

// remove removes the node of key, which must exist.
func (t *table[K, S]) remove(key K) {
	b := *t.buckets.Load()
	at := b.bucket(maphash.Comparable(t.seed, key))
	n := at.Load()
	for ; n.key != key; n = at.Load() {
		at = &n.next
	}
	at.Store(n.next.Load())
	if t.len--; len(b) > fewestBuckets && t.len < len(b)/8 {
		t.resize(2 * t.len)
	}
}

// resize publishes a table of at least n buckets.
func (t *table[K, S]) resize(n int) {
	size := fewestBuckets
	for size < n {
		size *= 2
	}
	b := make(buckets[K, S], size)
	for n := range t.all() {
		t.chain(b, n.key, n.last.Load())
	}
	t.buckets.Store(&b)
}

// chain adds a new node to b.
func (t *table[K, S]) chain(b buckets[K, S], key K, v *version[S]) {
	at := b.bucket(maphash.Comparable(t.seed, key))
	n := &node[K, S]{key: key}
	n.last.Store(v)
	n.next.Store(at.Load())
	at.Store(n)
}
