package backoff

import (
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// shardCount is how many parts the keys spread over. It bounds how long growing
// and GC hold up who adds or removes keys of a part: to 8,000 keys' time at a
// million keys, a fraction of a millisecond.
const shardCount = 128

// shards is a hash table from keys to entries in parts, for any number of readers
// and writers. A part's lock is taken to add and remove keys; entries of the keys
// that are there are read and replaced without it.
type shards[K comparable] struct {
	hasher[K]
	all [shardCount]shard[K]
}

// A shard's invariants, under its lock: (1) a key is in at most one slot of the
// table, in the run of full groups and the one after it that starts at its home;
// (2) live <= used, at most 7/8 of the slots; used counts the slots with a key,
// live those with an entry; (3) no slot is frozen.
type shard[K comparable] struct {
	mu    sync.Mutex
	table atomic.Pointer[table[K]] // nil: empty
	used  int
	live  int
	_     [32]byte // a cache line each
}

// table is open addressing by groups of eight slots. A slot gets its key once and
// keeps it as long as the table lives: so readers may compare keys at any time,
// and the slot of a deleted key is only taken up again by the same key. A shard
// grows, shrinks and gets rid of deleted keys by a new table.
//
// The tags tell most keys apart without a look at the slots: a million of them
// are a megabyte, the slots of a million pods forty.
type table[K comparable] struct {
	tags  []atomic.Uint64 // a group each: a byte per slot, 0: no key, else the tag of its key's hash
	slots []slot[K]
}

const groupSize = 8

func newShards[K comparable]() shards[K] {
	return shards[K]{hasher: newHasher[K]()}
}

// of returns the shard of the keys with that hash.
func (s *shards[K]) of(hash uint64) *shard[K] { return &s.all[hash%shardCount] }

// tag is what a hash puts into a group's word, apart from the bits that choose the
// shard and, nearly always, those that choose the group. It is never 0.
func tag(hash uint64) uint64 { return hash>>8&0x7f | 0x80 }

// Every byte of a group's word, its lowest or its highest bit.
const (
	lowest  = 0x01_01_01_01_01_01_01_01
	highest = lowest << 7
)

// delay returns the delay of key's entry, 0 if there is none.
func (s *shards[K]) delay(key K) time.Duration {
	hash := s.hash(key)
	if slot := s.of(hash).find(hash, key); slot != nil {
		return slot.loadDelay()
	}
	return 0
}

// load returns the entry of key, or the zero entry.
func (s *shards[K]) load(key K) entry {
	hash := s.hash(key)
	if slot := s.of(hash).find(hash, key); slot != nil {
		e, _ := slot.load()
		return e
	}
	return entry{}
}

// find returns the slot of key, nil if it has none.
func (s *shard[K]) find(hash uint64, key K) *slot[K] {
	if t := s.table.Load(); t != nil {
		return t.find(hash, key)
	}
	return nil
}

func (t *table[K]) find(hash uint64, key K) *slot[K] {
	for g := t.home(hash); ; g = t.after(g) {
		tags := t.tags[g].Load()
		differ := tags ^ lowest*tag(hash)
		// The highest bit of each byte that is 0, and of some that are 1.
		for same := (differ - lowest) &^ differ & highest; same != 0; same &= same - 1 {
			if slot := &t.slots[g*groupSize+bits.TrailingZeros64(same)/8]; slot.key == key {
				return slot
			}
		}
		if ^tags&highest != 0 {
			return nil
		}
	}
}

// home is the group where the search for a key begins.
func (t *table[K]) home(hash uint64) int {
	home, _ := bits.Mul64(hash, uint64(len(t.tags)))
	return int(home)
}

// after is the group to go on with.
func (t *table[K]) after(g int) int {
	if g++; g < len(t.tags) {
		return g
	}
	return 0
}

// add puts a key that is not in the table into the first free slot.
func (t *table[K]) add(hash uint64, key K, e entry) {
	g := t.home(hash)
	for t.tags[g].Load()&highest == highest {
		g = t.after(g)
	}
	tags := t.tags[g].Load()
	i := bits.TrailingZeros64(^tags&highest) / 8
	slot := &t.slots[g*groupSize+i]
	slot.key = key
	slot.put(e)
	t.tags[g].Store(tags | tag(hash)<<(8*i))
}

// all yields the slots that have a key.
func (t *table[K]) all() iter.Seq[*slot[K]] {
	return func(yield func(*slot[K]) bool) {
		if t == nil {
			return
		}
		for g := range t.tags {
			for used := t.tags[g].Load() & highest; used != 0; used &= used - 1 {
				if !yield(&t.slots[g*groupSize+bits.TrailingZeros64(used)/8]) {
					return
				}
			}
		}
	}
}

// update replaces the entry of key by what next makes of it; next may be called
// more than once, and without a lock.
func (s *shards[K]) update(key K, next func(was entry) entry) entry {
	hash := s.hash(key)
	sh := s.of(hash)
	for {
		var was entry
		slot, open := sh.find(hash, key), false
		if slot != nil {
			was, open = slot.load()
		}
		e := next(was)
		if open && slot.replace(was, e) || !open && sh.set(&s.hasher, hash, key, was, e) {
			return e
		}
	}
}

// set replaces the entry was of key, which none or a replaced table had, and
// reports whether it still is that entry.
func (s *shard[K]) set(h *hasher[K], hash uint64, key K, was, e entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.find(hash, key)
	if slot == nil {
		if was.failures == 0 {
			s.insert(h, hash, key, e)
			return true
		}
		return false
	}
	if was.failures > 0 {
		return slot.replace(was, e)
	}
	if slot.failures.Load() != 0 {
		return false
	}
	slot.put(e)
	s.live++
	return true
}

// insert adds a key that has no slot. At 7/8 a table makes way for a new one that
// is 70 % full: 47 to 60 bytes a key, for keys of two words.
func (s *shard[K]) insert(h *hasher[K], hash uint64, key K, e entry) {
	t := s.table.Load()
	if t == nil || s.used >= len(t.slots)/groupSize*(groupSize-1) {
		t = s.rebuild(h, s.live+1)
	}
	t.add(hash, key, e)
	s.used++
	s.live++
}

// drop deletes the entry of key.
func (s *shard[K]) drop(hash uint64, key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot := s.find(hash, key); slot != nil && slot.drop(func(entry) bool { return true }) {
		s.live--
	}
}

// sweep drops the entries that expired reports, returns how many, and gives back
// memory when less than 40 % of it is in use.
func (s *shard[K]) sweep(h *hasher[K], expired func(entry) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.live
	t := s.table.Load()
	for slot := range t.all() {
		if slot.drop(expired) {
			s.live--
		}
	}
	switch {
	case s.live == 0:
		s.used = 0
		s.table.Store(nil)
	case len(t.slots)*2 > s.live*5 && len(t.slots) > groupSize:
		s.rebuild(h, s.live)
	}
	return before - s.live
}

// rebuild moves the entries to a new table with room for n.
func (s *shard[K]) rebuild(h *hasher[K], n int) *table[K] {
	groups := (n*10/7 + groupSize - 1) / groupSize
	t := &table[K]{make([]atomic.Uint64, groups), make([]slot[K], groups*groupSize)}
	for slot := range s.table.Load().all() {
		if e := slot.freeze(); e.failures > 0 {
			t.add(h.hash(slot.key), slot.key, e)
		}
	}
	s.used = s.live
	s.table.Store(t)
	return t
}

// len returns the number of entries.
func (s *shards[K]) len() int {
	n := 0
	for i := range s.all {
		s.all[i].mu.Lock()
		n += s.all[i].live
		s.all[i].mu.Unlock()
	}
	return n
}

// keys yields the keys there may be entries for, each once, without a lock.
func (s *shards[K]) keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for i := range s.all {
			for slot := range s.all[i].table.Load().all() {
				if !yield(slot.key) {
					return
				}
			}
		}
	}
}
