package backoff

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/restartkit/restart/internal/rapidseed"
	"pgregory.net/rapid"
)

// valid checks the invariants of every shard, without concurrent writes.
func (s *store[K, V]) valid() error {
	for n := range s.shards {
		sh := &s.shards[n]
		live := 0
		for i := range sh.slots {
			if sh.slots[i].hash == 0 {
				continue
			}
			live++
			if sh.slots[i].hash%shardCount != uint64(n) {
				return fmt.Errorf("key %v is in shard %d", sh.slots[i].key, n)
			}
			for j := sh.home(sh.slots[i].hash); j != i; j = sh.after(j) {
				if sh.slots[j].hash == 0 {
					return fmt.Errorf("(2) slot %d is free before %d, where key %v is", j, i, sh.slots[i].key)
				}
				if sh.slots[j].key == sh.slots[i].key {
					return fmt.Errorf("(3) key %v has slots %d and %d", sh.slots[i].key, j, i)
				}
			}
		}
		if live != sh.live || live > len(sh.slots)*4/5 {
			return fmt.Errorf("(1) %d slots are taken of %d, %d counted", live, len(sh.slots), sh.live)
		}
	}
	return nil
}

func (s *store[K, V]) get(key K) (value V, ok bool) {
	sh, hash := s.lock(key)
	defer sh.mu.Unlock()
	if found := sh.find(hash, key); found != nil {
		return *found, true
	}
	return value, false
}

func (s *store[K, V]) put(key K, value V) {
	sh, hash := s.lock(key)
	defer sh.mu.Unlock()
	if found := sh.find(hash, key); found != nil {
		*found = value
	} else {
		sh.insert(hash, key, value)
	}
}

func (s *store[K, V]) remove(key K) {
	sh, hash := s.lock(key)
	defer sh.mu.Unlock()
	sh.remove(hash, key)
}

func (s *store[K, V]) sweep(drop func(*V) bool) (dropped int) {
	for i := range s.shards {
		dropped += s.shards[i].sweep(drop)
	}
	return dropped
}

// The store behaves like a map while it grows, deletes and shrinks.
func TestStoreAgreesWithMap(t *testing.T) {
	rebuilt, moved := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := newStore[int, int]()
		model := map[int]int{}
		// Two shards' worth of keys, so that they meet.
		var keys []int
		for k := 0; len(keys) < 60; k++ {
			sh, _ := s.lock(k)
			sh.mu.Unlock()
			if sh == &s.shards[0] || sh == &s.shards[1] {
				keys = append(keys, k)
			}
		}
		key := rapid.SampledFrom(keys)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				before := len(s.shards[0].slots)
				for range rapid.IntRange(1, 10).Draw(t, "times") {
					k := key.Draw(t, "key")
					model[k] = rapid.IntRange(0, 9).Draw(t, "value")
					s.put(k, model[k])
				}
				if len(s.shards[0].slots) != before {
					rebuilt++
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "times") {
					k := key.Draw(t, "key")
					sh, hash := s.lock(k)
					at := sh.index(hash, k)
					sh.remove(hash, k)
					if at >= 0 && sh.slots[at].hash != 0 {
						moved++
					}
					sh.mu.Unlock()
					delete(model, k)
				}
			},
			"sweep": func(t *rapid.T) {
				limit := rapid.IntRange(1, 9).Draw(t, "limit")
				want := 0
				for k, v := range model {
					if v >= limit {
						delete(model, k)
						want++
					}
				}
				if got := s.sweep(func(v *int) bool { return *v >= limit }); got != want {
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
					got, ok := s.get(k)
					if want, there := model[k]; got != want || ok != there {
						t.Fatalf("key %d: %d, %t, want %d, %t", k, got, ok, want, there)
					}
				}
				seen := map[int]bool{}
				for k := range s.keys() {
					if _, there := model[k]; !there || seen[k] {
						t.Fatalf("key %d yielded twice or for nothing", k)
					}
					seen[k] = true
				}
				if len(seen) != len(model) {
					t.Fatalf("%d keys yielded of %d", len(seen), len(model))
				}
			},
		})
	})
	t.Logf("%d shards were rebuilt, %d keys moved up", rebuilt, moved)
	if rapidseed.Fixed() && (rebuilt < 10 || moved < 10) {
		t.Error("too few of either")
	}
}

// Shards grow with their keys and release memory once most are removed.
func TestStoreMemoryFollowsItsKeys(t *testing.T) {
	s := newStore[int, int]()
	slots := func() (n int) {
		for i := range s.shards {
			n += len(s.shards[i].slots)
		}
		return n
	}
	const keys = 20_000
	for k := range keys {
		s.put(k, k%10)
		if n := slots(); k > keys/2 && (n < k*5/4 || n > k*5/3+4*shardCount) {
			t.Fatalf("%d slots for %d keys", n, k)
		}
	}
	s.sweep(func(v *int) bool { return *v > 0 })
	if n := slots(); n > keys/10*5/3+4*shardCount {
		t.Errorf("%d slots for %d keys", n, keys/10)
	}
	s.sweep(func(*int) bool { return true })
	if n := slots(); n != 0 {
		t.Errorf("%d slots for no keys", n)
	}
	for k := range keys {
		s.put(k, 1)
		s.remove(k)
	}
	if n := slots(); n > 4*shardCount {
		t.Errorf("%d slots for keys that came and went", n)
	}
	for k := range keys {
		s.put(k, 1)
	}
	for k := range keys {
		s.remove(k)
	}
	s.sweep(func(*int) bool { return false })
	if n := slots(); n != 0 {
		t.Errorf("%d slots for keys that were removed", n)
	}
}

// After a sweep that panicked, the store still finds every key.
func TestSweepThatPanicsLosesNoKey(t *testing.T) {
	s := newStore[int, int]()
	for k := range 1000 {
		s.put(k, k)
	}
	func() {
		defer func() { _ = recover() }()
		n := 0
		s.sweep(func(v *int) bool {
			if n++; n > 500 {
				panic("no more")
			}
			return *v%2 == 0
		})
	}()
	if err := s.valid(); err != nil {
		t.Fatal(err)
	}
	for k := 1; k < 1000; k += 2 {
		if v, ok := s.get(k); v != k || !ok {
			t.Fatalf("key %d: %d, %t", k, v, ok)
		}
	}
	s.put(1, 2) // no lock is held
}

// ticks is a clock that never shows the same time twice.
type ticks struct {
	mu sync.Mutex
	n  time.Duration
}

func (c *ticks) Now() time.Time { return t0.Add(c.Since(t0)) }

func (c *ticks) Since(time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// No completed write is undone while others grow, empty and sweep the same shards.
func TestConcurrentWritesAreNotUndone(t *testing.T) {
	tr, err := NewTracker[string](CrashLoop(), TrackerOptions{
		Clock:   &ticks{},
		Expired: func(_, _ time.Time, _ time.Duration) bool { return true }, // every failure is the first: the count never tells writes apart
	})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // the kernel stops goroutines anywhere
	var keepers, others sync.WaitGroup
	var done atomic.Bool
	for g := range 2 {
		keepers.Go(func() {
			last := map[string]time.Time{}
			for round := range 500 {
				for i := range 64 {
					k := fmt.Sprint("kept-", g, "-", i)
					if s, ok := tr.State(k); round > 0 && (!ok || s.Updated.Before(last[k])) {
						t.Errorf("%s: %v, %t, after %v", k, s.Updated, ok, last[k])
						return
					}
					tr.Next(k, t0)
					s, _ := tr.State(k)
					last[k] = s.Updated
				}
			}
		})
		others.Go(func() { // shards grow and shrink, and keys move up
			for n := 0; !done.Load(); n++ {
				k := fmt.Sprint("other-", g, "-", n)
				tr.Next(k, t0)
				if n%1000 >= 50 {
					tr.Reset(k)
				} else if n >= 1000 {
					tr.Reset(fmt.Sprint("other-", g, "-", n-1000))
				}
			}
		})
	}
	keepers.Wait()
	done.Store(true)
	others.Wait()
	if err := tr.entries.valid(); err != nil {
		t.Error(err)
	}
}

// Keys such as NaN are unreachable as in a map, but GC drops them.
func TestGCDropsKeysUnequalToThemselves(t *testing.T) {
	c := fakeClock()
	tr, err := NewTracker[float64](CrashLoop(), TrackerOptions{Clock: c})
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

// Without keys, a Tracker and a Restarter hold their own fields and no slots.
func TestEmptyTrackerAndRestarterAreSmall(t *testing.T) {
	tr, err := NewTracker[string](CrashLoop(), TrackerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRestarter(ExitPolicy{}, RestarterOptions[string]{Rate: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range shardCount {
		if tr.entries.shards[i].slots != nil || r.keys.shards[i].slots != nil {
			t.Errorf("shard %d has slots for no keys", i)
		}
	}
	const most = 4096
	if n := unsafe.Sizeof(*tr); n > most {
		t.Errorf("an empty Tracker takes %d bytes", n)
	}
	if n := unsafe.Sizeof(*r) + unsafe.Sizeof(*r.rate); n > most {
		t.Errorf("an empty Restarter takes %d bytes", n)
	}
}

// Keys that collide in one store do not collide in another.
func TestStoresHashWithDifferentSeeds(t *testing.T) {
	a, b := newStore[int, int](), newStore[int, int]()
	for k := range 100 {
		one, hashA := a.lock(k)
		one.mu.Unlock()
		other, hashB := b.lock(k)
		other.mu.Unlock()
		if hashA != hashB {
			return
		}
	}
	t.Error("two stores hash 100 keys alike")
}

func TestKeysWithEqualHashesAreDistinct(t *testing.T) {
	s := newStore[string, int]()
	shard := &s.shards[0]
	const hash = 2 * shardCount
	for i, key := range []string{"a", "b", "c"} {
		shard.insert(hash, key, i)
	}
	for i, key := range []string{"a", "b", "c"} {
		if v := shard.find(hash, key); v == nil || *v != i {
			t.Errorf("%s has the value of another key", key)
		}
	}
	shard.remove(hash, "b")
	if shard.find(hash, "b") != nil || *shard.find(hash, "c") != 2 {
		t.Error("the removal of b took another key")
	}
}
