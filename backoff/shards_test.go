package backoff

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// valid checks the invariants of every shard; nobody may be writing.
func (s *shards[K]) valid() error {
	for i := range s.all {
		sh := &s.all[i]
		used, live, room := 0, 0, 0
		if t := sh.table.Load(); t != nil {
			room = len(t.slots) / groupSize * (groupSize - 1)
			if len(t.slots) != groupSize*len(t.tags) {
				return fmt.Errorf("%d slots in %d groups", len(t.slots), len(t.tags))
			}
			for slot := range t.all() {
				used++
				switch failures := slot.failures.Load(); {
				case failures > 0:
					live++
				case failures < 0:
					return fmt.Errorf("(3) key %v is frozen or busy: %d", slot.key, failures)
				}
				if hash := s.hash(slot.key); s.of(hash) != sh || sh.find(hash, slot.key) != slot {
					return fmt.Errorf("(1) key %v is not found in its slot", slot.key)
				}
			}
		}
		if used != sh.used || live != sh.live || live > used || used > room {
			return fmt.Errorf("(2) %d used, %d live; counted %d, %d; room for %d", used, live, sh.used, sh.live, room)
		}
	}
	return nil
}

// put makes e the entry of key.
func (s *shards[K]) put(key K, e entry) { s.update(key, func(entry) entry { return e }) }

func (s *shards[K]) remove(key K) {
	hash := s.hash(key)
	s.of(hash).drop(hash, key)
}

func (s *shards[K]) sweep(expired func(entry) bool) (dropped int) {
	for i := range s.all {
		dropped += s.all[i].sweep(&s.hasher, expired)
	}
	return dropped
}

// The hash table does what a map does, through growing, deleting, taking up slots
// again and shrinking.
func TestShardsModel(t *testing.T) {
	rebuilt := 0
	rapid.Check(t, func(t *rapid.T) {
		s := newShards[int]()
		model := map[int]entry{}
		// Few shards' worth of keys, so that they meet.
		var keys []int
		for k := 0; len(keys) < 60; k++ {
			if s.hash(k)%shardCount < 2 {
				keys = append(keys, k)
			}
		}
		key := rapid.SampledFrom(keys)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "times") {
					k := key.Draw(t, "key")
					e := entry{
						failures: rapid.IntRange(1, 9).Draw(t, "failures"),
						delay:    time.Duration(rapid.IntRange(0, 1).Draw(t, "delay")),
						updated:  time.Duration(rapid.IntRange(-1, 1).Draw(t, "updated")),
					}
					sh := s.of(s.hash(k))
					before := sh.table.Load()
					s.update(k, func(was entry) entry {
						if was != model[k] {
							t.Fatalf("key %d was %+v, want %+v", k, was, model[k])
						}
						return e
					})
					if sh.table.Load() != before {
						rebuilt++
					}
					model[k] = e
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "times") {
					k := key.Draw(t, "key")
					s.remove(k)
					delete(model, k)
				}
			},
			"sweep": func(t *rapid.T) {
				limit := rapid.IntRange(1, 9).Draw(t, "limit")
				want := 0
				for k, e := range model {
					if e.failures >= limit {
						delete(model, k)
						want++
					}
				}
				if got := s.sweep(func(e entry) bool { return e.failures >= limit }); got != want {
					t.Fatalf("swept %d, want %d", got, want)
				}
			},
			"": func(t *rapid.T) {
				if err := s.valid(); err != nil {
					t.Fatal(err)
				}
				if s.len() != len(model) {
					t.Fatalf("%d keys, want %d", s.len(), len(model))
				}
				for _, k := range keys {
					if got := s.load(k); got != model[k] || s.delay(k) != model[k].delay {
						t.Fatalf("key %d: %+v, delay %d, want %+v", k, got, s.delay(k), model[k])
					}
				}
				seen := map[int]bool{}
				for k := range s.keys() {
					if seen[k] {
						t.Fatalf("key %d yielded twice", k)
					}
					seen[k] = true
				}
				for k := range model {
					if !seen[k] {
						t.Fatalf("key %d not yielded", k)
					}
				}
			},
		})
	})
	if rebuilt < 100 {
		t.Errorf("only %d tables were rebuilt", rebuilt)
	}
}

// Tables grow with their keys and give memory back when most have gone, the slots
// of deleted keys included.
func TestShardsMemory(t *testing.T) {
	s := newShards[int]()
	slots := func() (n int) {
		for i := range s.all {
			if t := s.all[i].table.Load(); t != nil {
				n += len(t.slots)
			}
		}
		return n
	}
	const keys = 20_000
	for k := range keys {
		s.put(k, entry{failures: 1 + k%10})
		if n := slots(); k > keys/2 && (n < k*8/7 || n > k*3/2+groupSize*shardCount) {
			t.Fatalf("%d slots for %d keys", n, k)
		}
	}
	s.sweep(func(e entry) bool { return e.failures > 1 })
	if n := slots(); n > keys/10*5/2+groupSize*shardCount {
		t.Errorf("%d slots for %d keys", n, keys/10)
	}
	s.sweep(func(entry) bool { return true })
	if n := slots(); n != 0 {
		t.Errorf("%d slots for no keys", n)
	}
	// Keys that come and go leave nothing behind.
	for k := range keys {
		s.put(k, entry{failures: 1})
		s.remove(k)
	}
	if n := slots(); n > 2*groupSize*shardCount {
		t.Errorf("%d slots for keys that were dropped", n)
	}
}

// A sweep builds a new table for less than 40 % of the slots, and only then: at 40 %
// the old one stays.
func TestSweepKeepsTableInUse(t *testing.T) {
	for _, tt := range []struct {
		live int
		kept bool
	}{{16, true}, {15, false}} {
		s := newShards[int]()
		sh := s.of(s.hash(0))
		sh.mu.Lock()
		sh.rebuild(&s.hasher, 28)
		sh.mu.Unlock()
		table := sh.table.Load()
		for k, n := 0, 0; n < tt.live; k++ {
			if s.of(s.hash(k)) == sh {
				s.put(k, entry{failures: 1})
				n++
			}
		}
		s.sweep(func(entry) bool { return false })
		if slots := len(table.slots); slots != 40 || (sh.table.Load() == table) != tt.kept {
			t.Errorf("%d of %d slots in use: the table is kept: %t", tt.live, slots, !tt.kept)
		}
	}
}

// Under the lock, too, an entry is only set where the one that was read still holds:
// for a key without a slot, one with an entry and one whose entry was deleted.
func TestSetFollowsOnWhatWasRead(t *testing.T) {
	e1, e2 := entry{1, 2, 3}, entry{2, 4, 6}
	for name, prepare := range map[string]func(s *shards[int]) entry{
		"never set": func(*shards[int]) entry { return entry{} },
		"set":       func(s *shards[int]) entry { s.put(0, e1); return e1 },
		"deleted":   func(s *shards[int]) entry { s.put(0, e1); s.remove(0); return entry{} },
	} {
		for _, was := range []entry{{}, e1, {1, 2, 4}} {
			s := newShards[int]()
			is := prepare(&s)
			hash := s.hash(0)
			want := is
			if was == is {
				want = e2
			}
			if ok := s.of(hash).set(&s.hasher, hash, 0, was, e2); ok != (was == is) || s.load(0) != want {
				t.Errorf("%s, after %+v: %t, %+v, want %+v", name, was, ok, s.load(0), want)
			}
			if err := s.valid(); err != nil {
				t.Errorf("%s, after %+v: %v", name, was, err)
			}
		}
	}
}

// Every update counts, and readers never see parts of two entries, whatever moves
// and empties the table meanwhile: time and count of a key go up together.
func TestShardsConcurrent(t *testing.T) {
	s := newShards[int]()
	const writers, each = 3, 10_000
	var all, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		all.Go(func() {
			for i := range each {
				s.update(0, follow)
				s.put(1+w*each+i, entry{failures: 1}) // the tables grow
				if i%100 == 0 {
					s.sweep(func(e entry) bool { return e.failures == 1 })
				}
				s.remove(1 + w*each + i)
			}
		})
		readers.Go(func() {
			var before entry
			for {
				e := s.load(0)
				if e.failures < before.failures || e != follow(entry{failures: e.failures - 1}) && e != (entry{}) {
					t.Errorf("%+v after %+v", e, before)
					return
				}
				before = e
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	all.Wait()
	close(done)
	readers.Wait()
	if e := s.load(0); e.failures != writers*each+1 {
		t.Errorf("%d updates of %d counted", e.failures-1, writers*each)
	}
	if err := s.valid(); err != nil {
		t.Error(err)
	}
}

// follow counts one more, from 2 on, which no sweep drops; the words of its
// entries belong together.
func follow(was entry) entry {
	n := max(was.failures, 1) + 1
	return entry{failures: n, delay: time.Duration(3 * n), updated: time.Duration(5 * n)}
}

// Keys that are not equal to themselves are lost to everybody but GC, as in a map.
func TestShardsNaN(t *testing.T) {
	c := fakeClock()
	tr, err := NewTracker[float64](CrashLoop(), Options{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		tr.Next(math.NaN(), t0)
	}
	if n := tr.Len(); n != 100 {
		t.Errorf("%d keys", n)
	}
	step(c, time.Hour)
	if n := tr.GC(); n != 100 || tr.Len() != 0 {
		t.Errorf("%d dropped, %d left", n, tr.Len())
	}
}
