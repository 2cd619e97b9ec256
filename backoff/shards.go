package backoff

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// entry is the state of one key of a Tracker. The zero entry is none.
type entry struct {
	failures int // > 0
	delay    time.Duration
	updated  time.Duration // on the Tracker's timescale
}

// shardCount is how many parts the keys spread over. It bounds how long growing
// and GC hold up a writer: to 16,000 keys' time at a million keys, a fraction of a
// millisecond. More would cost cache lines at 10,000 keys.
const shardCount = 64

// shards is a hash table from keys to entries in parts, for any number of writers
// and readers. Writers of a part take its lock; readers take none.
//
// It is open addressing with linear probing, and a slot gets its key once and
// keeps it as long as its table lives: so readers may compare keys at any time,
// and the slot of a deleted key is only taken up again by the same key. A part
// grows, shrinks and gets rid of deleted keys by a new table.
type shards[K comparable] struct {
	seed maphash.Seed
	all  *[shardCount]shard[K]
}

// A shard's invariants, under its lock: (1) a key is in at most one slot, in the
// run of used slots that starts at its home; (2) live <= used < len(slots), where
// used counts the slots with a key, live those with an entry; (3) version is odd
// exactly while an entry is being written.
type shard[K comparable] struct {
	mu      sync.Mutex
	version atomic.Uint32
	slots   atomic.Pointer[[]slot[K]]
	used    int
	live    int
	_       [24]byte // a cache line each
}

type slot[K comparable] struct {
	hash     atomic.Uint64 // 0: empty; written once, after the key and a first entry
	key      K
	failures atomic.Int64 // 0: deleted
	delay    atomic.Int64
	updated  atomic.Int64
}

func newShards[K comparable]() shards[K] {
	return shards[K]{seed: maphash.MakeSeed(), all: new([shardCount]shard[K])}
}

// hash returns the hash of key, which is never 0.
func (s *shards[K]) hash(key K) uint64 { return maphash.Comparable(s.seed, key) | 1 }

// of returns the shard of the keys with that hash.
func (s *shards[K]) of(hash uint64) *shard[K] { return &s.all[hash>>1%shardCount] }

// delay returns the delay of key's entry, 0 if there is none.
func (s *shards[K]) delay(key K) time.Duration {
	hash := s.hash(key)
	if slot := s.of(hash).find(hash, key); slot != nil && slot.failures.Load() > 0 {
		return time.Duration(slot.delay.Load())
	}
	return 0
}

// load returns the entry of key, or the zero entry.
func (s *shards[K]) load(key K) entry {
	hash := s.hash(key)
	sh := s.of(hash)
	version := sh.version.Load()
	e := sh.find(hash, key).entry()
	if version%2 == 0 && version == sh.version.Load() {
		return e
	}
	sh.mu.Lock() // an entry was written meanwhile
	defer sh.mu.Unlock()
	return sh.find(hash, key).entry()
}

// entry returns the entry of a slot, the zero entry for none.
func (s *slot[K]) entry() entry {
	if s == nil {
		return entry{}
	}
	failures := s.failures.Load()
	if failures == 0 {
		return entry{}
	}
	return entry{int(failures), time.Duration(s.delay.Load()), time.Duration(s.updated.Load())}
}

// put writes an entry, failures last: until then a deleted slot stays deleted.
func (s *slot[K]) put(e entry) {
	s.delay.Store(int64(e.delay))
	s.updated.Store(int64(e.updated))
	s.failures.Store(int64(e.failures))
}

// find returns the slot of key, nil if it has none.
func (s *shard[K]) find(hash uint64, key K) *slot[K] {
	slots := s.slots.Load()
	if slots == nil {
		return nil
	}
	if slot := probe(*slots, hash, key); slot.hash.Load() != 0 {
		return slot
	}
	return nil
}

// probe returns the slot of key, or the empty one where it belongs.
func probe[K comparable](slots []slot[K], hash uint64, key K) *slot[K] {
	home, _ := bits.Mul64(hash, uint64(len(slots)))
	for i := int(home); ; {
		slot := &slots[i]
		if h := slot.hash.Load(); h == 0 || h == hash && slot.key == key {
			return slot
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// set makes e the entry of key, whose slot is the one that find returned.
func (s *shard[K]) set(slot *slot[K], hash uint64, key K, e entry) {
	if slot == nil {
		s.insert(hash, key, e)
		return
	}
	if slot.failures.Load() == 0 {
		s.live++
	}
	s.version.Add(1)
	slot.put(e)
	s.version.Add(1)
}

// insert adds a key that has no slot. At 80 % a table makes way for a new one that
// is 64 % full: 60 to 75 bytes a key, for keys of two words.
func (s *shard[K]) insert(hash uint64, key K, e entry) {
	slots := s.slots.Load()
	if slots == nil || (s.used+1)*5 > len(*slots)*4 {
		slots = s.rebuild(s.live + 1)
	}
	slot := probe(*slots, hash, key)
	slot.put(e)
	slot.key = key
	slot.hash.Store(hash)
	s.used++
	s.live++
}

// drop deletes the entry of a slot that has one. It leaves the other words, so
// readers see the whole entry or none, and a sweep makes none of them wait.
func (s *shard[K]) drop(slot *slot[K]) {
	s.live--
	slot.failures.Store(0)
}

// rebuild moves the entries to a new table with room for n.
func (s *shard[K]) rebuild(n int) *[]slot[K] {
	old := s.slots.Load()
	slots := make([]slot[K], max(4, n+n*9/16))
	if old != nil {
		for i := range *old {
			from := &(*old)[i]
			if e := from.entry(); e.failures > 0 {
				hash := from.hash.Load()
				to := probe(slots, hash, from.key)
				to.put(e)
				to.key = from.key
				to.hash.Store(hash)
			}
		}
	}
	s.used = s.live
	s.slots.Store(&slots)
	return &slots
}

// sweep drops the entries that expired reports, returns how many, and gives back
// memory when less than 40 % of it is in use.
func (s *shard[K]) sweep(expired func(entry) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.slots.Load()
	if slots == nil {
		return 0
	}
	before := s.live
	for i := range *slots {
		slot := &(*slots)[i]
		if e := slot.entry(); e.failures > 0 && expired(e) {
			s.drop(slot)
		}
	}
	switch {
	case s.live == 0:
		s.used = 0
		s.slots.Store(nil)
	case len(*slots)*2 > s.live*5:
		s.rebuild(s.live)
	}
	return before - s.live
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
			slots := s.all[i].slots.Load()
			if slots == nil {
				continue
			}
			for j := range *slots {
				if slot := &(*slots)[j]; slot.hash.Load() != 0 && !yield(slot.key) {
					return
				}
			}
		}
	}
}
