package backoff

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// valid checks the invariants of every shard; nobody may be writing.
func (s *shards[K]) valid() error {
	for i := range s.all {
		sh := &s.all[i]
		used, live := 0, 0
		if slots := sh.slots.Load(); slots != nil {
			for j := range *slots {
				slot := &(*slots)[j]
				hash := slot.hash.Load()
				if hash == 0 {
					continue
				}
				used++
				if slot.entry().failures > 0 {
					live++
				}
				if hash != s.hash(slot.key) || s.of(hash) != sh {
					return fmt.Errorf("key %v has hash %x in shard %d", slot.key, hash, i)
				}
				if sh.find(hash, slot.key) != slot {
					return fmt.Errorf("(1) key %v is not found in its slot", slot.key)
				}
			}
			if used >= len(*slots) {
				return fmt.Errorf("(2) %d of %d slots used", used, len(*slots))
			}
		}
		if used != sh.used || live != sh.live || live > used {
			return fmt.Errorf("(2) %d used, %d live; counted %d, %d", used, live, sh.used, sh.live)
		}
		if sh.version.Load()%2 != 0 {
			return fmt.Errorf("(3) version %d", sh.version.Load())
		}
	}
	return nil
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
			if s.hash(k)>>1%shardCount < 2 {
				keys = append(keys, k)
			}
		}
		key := rapid.SampledFrom(keys)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "times") {
					k := key.Draw(t, "key")
					e := entry{failures: rapid.IntRange(1, 9).Draw(t, "failures"), delay: 5, updated: 7}
					hash := s.hash(k)
					sh := s.of(hash)
					before := sh.slots.Load()
					sh.set(sh.find(hash, k), hash, k, e)
					if sh.slots.Load() != before {
						rebuilt++
					}
					model[k] = e
				}
			},
			"drop": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "times") {
					k := key.Draw(t, "key")
					hash := s.hash(k)
					sh := s.of(hash)
					if slot := sh.find(hash, k); slot.entry().failures > 0 {
						sh.drop(slot)
					}
					delete(model, k)
				}
			},
			"sweep": func(t *rapid.T) {
				limit := rapid.IntRange(1, 9).Draw(t, "limit")
				want, got := 0, 0
				for k, e := range model {
					if e.failures >= limit {
						delete(model, k)
						want++
					}
				}
				for i := range s.all {
					got += s.all[i].sweep(func(e entry) bool { return e.failures >= limit })
				}
				if got != want {
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
			if t := s.all[i].slots.Load(); t != nil {
				n += len(*t)
			}
		}
		return n
	}
	const keys = 20_000
	for k := range keys {
		hash := s.hash(k)
		sh := s.of(hash)
		sh.set(nil, hash, k, entry{failures: 1 + k%10})
	}
	if n := slots(); n < keys*5/4 || n > keys*8/5+4*shardCount {
		t.Errorf("%d slots for %d keys", n, keys)
	}
	for i := range s.all {
		s.all[i].sweep(func(e entry) bool { return e.failures > 1 })
	}
	if n := slots(); n > keys/10*5/2+4*shardCount {
		t.Errorf("%d slots for %d keys", n, keys/10)
	}
	for i := range s.all {
		s.all[i].sweep(func(entry) bool { return true })
	}
	if n := slots(); n != 0 {
		t.Errorf("%d slots for no keys", n)
	}
	// Keys that come and go leave nothing behind.
	for k := range keys {
		hash := s.hash(k)
		sh := s.of(hash)
		sh.set(nil, hash, k, entry{failures: 1})
		sh.drop(sh.find(hash, k))
	}
	if n := slots(); n > 20*shardCount {
		t.Errorf("%d slots for keys that were dropped", n)
	}
}

// A reader that meets a writer waits for it.
func TestShardsReaderWaits(t *testing.T) {
	s := newShards[string]()
	hash := s.hash("a")
	sh := s.of(hash)
	want := entry{failures: 1, delay: 2, updated: 3}
	sh.set(nil, hash, "a", want)
	sh.mu.Lock()
	sh.version.Add(1) // a writer is halfway through
	slot := sh.find(hash, "a")
	slot.failures.Store(99)
	got := make(chan entry, 1)
	go func() { got <- s.load("a") }()
	for range 1000 { // time enough to read, were it not to wait
		runtime.Gosched()
	}
	if len(got) > 0 {
		t.Error("read meanwhile")
	}
	slot.put(want)
	sh.version.Add(1)
	sh.mu.Unlock()
	if e := <-got; e != want {
		t.Errorf("read %+v", e)
	}
}

// Readers never see parts of two entries: the words of an entry belong together,
// and time does not go back.
func TestShardsReadersSeeWholeEntries(t *testing.T) {
	s := newShards[string]()
	hash := s.hash("a")
	sh := s.of(hash)
	const last = 20_000
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var before entry
			for before.failures < last {
				e := s.load("a")
				if e.failures < before.failures || int(e.delay) != 3*e.failures || int(e.updated) != 5*e.failures {
					t.Errorf("%+v after %+v", e, before)
					return
				}
				before = e
			}
		})
	}
	for n := 1; n <= last; n++ {
		sh.mu.Lock()
		sh.set(sh.find(hash, "a"), hash, "a", entry{failures: n, delay: time.Duration(3 * n), updated: time.Duration(5 * n)})
		sh.mu.Unlock()
	}
	wg.Wait()
}

// Keys that are not equal to themselves are lost to everybody but GC, as in a map.
func TestShardsNaN(t *testing.T) {
	c := fakeClock()
	tr, err := NewTracker[float64](CrashLoop(), Options{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	tr.Next(math.NaN(), t0)
	tr.Next(math.NaN(), t0)
	if n := tr.Len(); n != 2 {
		t.Errorf("%d keys", n)
	}
	step(c, time.Hour)
	if n := tr.GC(); n != 2 || tr.Len() != 0 {
		t.Errorf("%d dropped, %d left", n, tr.Len())
	}
}
