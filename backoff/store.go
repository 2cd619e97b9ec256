package backoff

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"sync"

	"github.com/restartkit/restart/internal/quote"
)

// shardCount is the number of shards. Growing and GC block the callers of one shard at
// a time, which holds about 32,000 of a million keys, for less than a millisecond.
const shardCount = 32

// store is a map divided into shards with a lock each. Its zero value is not usable;
// see newStore. An empty store takes two kilobytes, and a shard allocates its slots
// with its first key.
//
// A call hashes its key once, locks one shard, finds, inserts and deletes under the
// lock, and unlocks. A plain lock costs less than a read-write lock here, because calls
// spend nearly all their time reading the clock, hashing and loading the key, and two
// callers rarely meet in one of 32 shards.
type store[K comparable, V any] struct {
	seed   maphash.Seed
	shards [shardCount]shard[K, V]
}

// shard is a hash table with open addressing and linear probing. It keeps the hash
// beside the key, so that growing calls no hash function. Invariants, under the lock:
//
// 1. live counts the taken slots, at most 4/5 of all, so that a search ends
// 2. every slot from a key's home up to the key's own is taken
// 3. a key has one slot
type shard[K comparable, V any] struct {
	mu    sync.Mutex
	slots []slot[K, V]
	live  int
	_     [24]byte // a cache line each
}

type slot[K comparable, V any] struct {
	hash  uint64 // 0 means that the slot is free
	key   K
	value V
}

// taken is a bit set in every kept hash, so that no hash is 0. The bits below it choose
// the shard, and the highest ones the home, below 2^58 slots.
const taken = shardCount

func newStore[K comparable, V any]() store[K, V] {
	return store[K, V]{seed: maphash.MakeSeed()}
}

// lock locks the shard of a key and returns the shard and the key's hash.
func (s *store[K, V]) lock(key K) (*shard[K, V], uint64) {
	hash := maphash.Comparable(s.seed, key) | taken
	sh := &s.shards[hash%shardCount]
	sh.mu.Lock()
	return sh, hash
}

// len returns the number of keys.
func (s *store[K, V]) len() int {
	n := 0
	for i := range s.shards {
		s.shards[i].mu.Lock()
		n += s.shards[i].live
		s.shards[i].mu.Unlock()
	}
	return n
}

// keys yields the keys in no particular order and without a lock. Keys that come or go
// meanwhile may be yielded or not; no key is yielded twice.
func (s *store[K, V]) keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for i := range s.shards {
			for _, key := range s.shards[i].keys() {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// find returns the value of a key, or nil if the key is absent. The pointer is valid
// under the lock until the next insert or remove.
func (s *shard[K, V]) find(hash uint64, key K) *V {
	if i := s.index(hash, key); i >= 0 {
		return &s.slots[i].value
	}
	return nil
}

func (s *shard[K, V]) index(hash uint64, key K) int {
	if s.live == 0 {
		return -1
	}
	for i := s.home(hash); s.slots[i].hash != 0; i = s.after(i) {
		if s.slots[i].hash == hash && s.slots[i].key == key {
			return i
		}
	}
	return -1
}

// home returns the slot where the search for a key begins.
func (s *shard[K, V]) home(hash uint64) int {
	home, _ := bits.Mul64(hash, uint64(len(s.slots)))
	return int(home)
}

func (s *shard[K, V]) after(i int) int {
	if i++; i < len(s.slots) {
		return i
	}
	return 0
}

// insert adds an absent key.
func (s *shard[K, V]) insert(hash uint64, key K, value V) {
	if s.live >= len(s.slots)*4/5 {
		s.rebuild(s.live + 1)
	}
	s.add(slot[K, V]{hash, key, value})
}

func (s *shard[K, V]) add(new slot[K, V]) {
	i := s.home(new.hash)
	for s.slots[i].hash != 0 {
		i = s.after(i)
	}
	s.slots[i] = new
	s.live++
}

// remove deletes a key, if present, and moves up keys behind it that its slot kept from
// their homes.
func (s *shard[K, V]) remove(hash uint64, key K) {
	free := s.index(hash, key)
	if free < 0 {
		return
	}
	for i := s.after(free); s.slots[i].hash != 0; i = s.after(i) {
		if home := s.home(s.slots[i].hash); s.distance(home, i) >= s.distance(free, i) {
			s.slots[free], free = s.slots[i], i
		}
	}
	s.slots[free] = slot[K, V]{}
	s.live--
}

// distance returns the number of slots from from to to.
func (s *shard[K, V]) distance(from, to int) int {
	if to < from {
		to += len(s.slots)
	}
	return to - from
}

// sweep drops the keys for which drop returns true, releases unused memory and returns
// the number of dropped keys.
func (s *shard[K, V]) sweep(drop func(*V) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.live
	defer func() { // restore invariant 2, even if drop panics
		if s.live < before || s.live*5 < len(s.slots)*2 {
			s.rebuild(s.live)
		}
	}()
	for i := range s.slots {
		if s.slots[i].hash != 0 && drop(&s.slots[i].value) {
			s.slots[i] = slot[K, V]{}
			s.live--
		}
	}
	return before - s.live
}

// rebuild moves all keys to new slots, of which n keys take three fifths.
func (s *shard[K, V]) rebuild(n int) {
	old := s.slots
	s.slots, s.live = nil, 0
	if n > 0 {
		s.slots = make([]slot[K, V], max(4, n*5/3))
	}
	for i := range old {
		if old[i].hash != 0 {
			s.add(old[i])
		}
	}
}

// keys returns a copy of the shard's keys.
func (s *shard[K, V]) keys() []K {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]K, 0, s.live)
	for i := range s.slots {
		if s.slots[i].hash != 0 {
			keys = append(keys, s.slots[i].key)
		}
	}
	return keys
}

// keyText prints a key for a message.
func keyText(key any) string { return quote.Text(fmt.Sprint(key)) }
