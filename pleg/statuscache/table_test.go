package statuscache

import (
	"maps"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The table behaves like a map while it grows and shrinks.
func TestTableAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model := &table[int, int]{}, map[int]*version[int]{}
		table.init()
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				from := rapid.IntRange(0, 300).Draw(t, "from")
				for k := from; k < from+rapid.IntRange(1, 60).Draw(t, "n"); k++ {
					if model[k] == nil {
						model[k] = &version[int]{at: instant(k)}
						table.add(k, model[k])
					}
				}
			},
			"remove": func(t *rapid.T) {
				from := rapid.IntRange(0, 300).Draw(t, "from")
				for k := from; k < from+rapid.IntRange(1, 200).Draw(t, "n"); k++ {
					if model[k] != nil {
						delete(model, k)
						table.remove(k)
					}
				}
			},
			"": func(t *rapid.T) {
				got := map[int]*version[int]{}
				for n := range table.all() {
					if got[n.key] != nil {
						t.Fatalf("key %d twice", n.key)
					}
					got[n.key] = n.last.Load()
				}
				if !maps.Equal(got, model) || table.len != len(model) {
					t.Fatalf("%d keys, want %d", table.len, len(model))
				}
				for k := range 400 {
					if n := table.find(k); (n == nil) != (model[k] == nil) || n != nil && n.last.Load() != model[k] {
						t.Fatalf("find(%d) = %v", k, n)
					}
				}
				if size := len(*table.buckets.Load()); size < len(model) || size > fewestBuckets && size > 8*len(model)+16 {
					t.Fatalf("%d buckets for %d keys", size, len(model))
				}
			},
		})
	})
}

// A table's size stays proportional to its keys, and it is rebuilt only for that.
func TestTableFollowsItsKeys(t *testing.T) {
	table := &table[int, int]{}
	table.init()
	if n := len(*table.buckets.Load()); n != fewestBuckets {
		t.Errorf("it begins with %d buckets", n)
	}
	resizes, last := 0, table.buckets.Load()
	check := func() {
		t.Helper()
		if now := table.buckets.Load(); now != last {
			resizes, last = resizes+1, now
		}
		if size := len(*last); size < table.len || size > max(fewestBuckets, 8*table.len+8) {
			t.Fatalf("%d buckets for %d keys", size, table.len)
		}
	}
	for k := range 1000 {
		table.add(k, &version[int]{})
		check()
	}
	for k := range 1000 {
		table.remove(k)
		check()
	}
	if resizes > 20 || len(*last) != fewestBuckets {
		t.Errorf("%d buckets for none, after %d tables", len(*last), resizes)
	}
}

// While keys are written, deleted and forgotten, concurrent readers see no older entry,
// and no deleted one under a later time.
func TestReadersWithoutLockSeeNoStepBack(t *testing.T) {
	c := New[int](Options[int64]{MaxSkew: -1})
	const keys, writes = 8, 4000
	base := time.Now()
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		all.Go(func() {
			var known [keys]time.Time
			for {
				select {
				case <-stop:
					return
				default:
				}
				for k := range keys {
					e := c.Get(k)
					if e.Modified.Before(known[k]) {
						t.Errorf("key %d: known as of %v, before that as of %v", k, e.Modified, known[k])
						return
					}
					known[k] = e.Modified
					// A present status is the number of its write; a deletion follows
					// every third, and a global time every fifth.
					if e.Present && e.Status%3 == 0 && e.Modified.After(base.Add(time.Duration(10*e.Status+1))) {
						t.Errorf("key %d: write %d, which was deleted, is known as of %v", k, e.Status, e.Modified.Sub(base))
						return
					}
				}
				for range c.All() {
				}
			}
		})
	}
	for i := int64(1); i < writes; i++ {
		for k := range keys {
			c.Set(k, i, nil, base.Add(time.Duration(10*i)))
			if i%3 == 0 {
				c.Delete(k, base.Add(time.Duration(10*i+1)))
			}
		}
		if i%5 == 0 {
			c.Writer().UpdateTime(base.Add(time.Duration(10*i + 2)))
		}
	}
	close(stop)
	all.Wait()
	if err := c.Valid(); err != nil {
		t.Error(err)
	}
}
