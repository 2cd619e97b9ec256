package pleg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// t0 … t9 are the named instants of the tables, a second apart.
var t0, t1, t2, t3, t4, t5, t6, t9 = at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(9)

func at(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
}

var errInspect = errors.New("inspection failed")

// free is a cache without skew check, for tables with times of their own.
func free(o CacheOptions[string]) *Cache[string, string] {
	o.MaxSkew = -1
	return NewCache[string](o)
}

// TestCacheHistories drives the cache and the model through histories and
// states the outcome that matters in each.
func TestCacheHistories(t *testing.T) {
	type step struct {
		do   string // set, fail, delete, time
		key  string
		at   time.Time
		want bool // for set, fail, delete
	}
	for _, tt := range []struct {
		name  string
		equal bool
		steps []step
		want  map[string]Entry[string] // of Get at the end
	}{
		{"nothing known", false, nil, map[string]Entry[string]{"a": {}}},
		{"newer wins", false, []step{{"set", "a", t1, true}, {"set", "a", t2, true}},
			map[string]Entry[string]{"a": {Status: "a@2", Modified: t2, Present: true}}},
		{"older loses", false, []step{{"set", "a", t2, true}, {"set", "a", t1, false}},
			map[string]Entry[string]{"a": {Status: "a@2", Modified: t2, Present: true}}},
		{"equal loses", false, []step{{"set", "a", t2, true}, {"fail", "a", t2, false}},
			map[string]Entry[string]{"a": {Status: "a@2", Modified: t2, Present: true}}},
		{"equal wins with AcceptEqual", true, []step{{"set", "a", t2, true}, {"fail", "a", t2, true}},
			map[string]Entry[string]{"a": {Status: "a@2", Err: errInspect, Modified: t2, Present: true}}},
		{"a failed inspection is an entry", false, []step{{"set", "a", t1, true}, {"fail", "a", t2, true}},
			map[string]Entry[string]{"a": {Status: "a@2", Err: errInspect, Modified: t2, Present: true}}},
		{"global time makes absence known", false, []step{{"time", "", t1, true}},
			map[string]Entry[string]{"a": {Modified: t1}}},
		{"global time freshens an entry", false, []step{{"set", "a", t1, true}, {"time", "", t3, true}},
			map[string]Entry[string]{"a": {Status: "a@1", Modified: t3, Present: true}}},
		{"global time does not go back", false, []step{{"time", "", t3, true}, {"time", "", t1, true}},
			map[string]Entry[string]{"a": {Modified: t3}}},
		{"global time does not guard an entry", false, []step{{"set", "a", t1, true}, {"time", "", t3, true}, {"set", "a", t2, true}},
			map[string]Entry[string]{"a": {Status: "a@2", Modified: t3, Present: true}}},
		{"global time guards an absent key", true, []step{{"time", "", t3, true}, {"set", "a", t2, false}, {"set", "a", t3, false}},
			map[string]Entry[string]{"a": {Modified: t3}}},
		{"deleted stays deleted", true, []step{{"set", "a", t1, true}, {"delete", "a", t3, true}, {"set", "a", t2, false}, {"set", "a", t3, false}},
			map[string]Entry[string]{"a": {Modified: t3}}},
		{"deleted and created again", false, []step{{"set", "a", t1, true}, {"delete", "a", t3, true}, {"set", "a", t4, true}},
			map[string]Entry[string]{"a": {Status: "a@4", Modified: t4, Present: true}}},
		{"deletion loses against a newer entry", false, []step{{"set", "a", t3, true}, {"delete", "a", t2, false}, {"delete", "a", t3, true}},
			map[string]Entry[string]{"a": {Modified: t3}}},
		{"deletion of an absent key guards too", false, []step{{"delete", "a", t3, true}, {"set", "a", t2, false}},
			map[string]Entry[string]{"a": {Modified: t3}}},
		{"an older deletion takes no guard back", false, []step{{"delete", "a", t3, true}, {"delete", "a", t1, true}, {"set", "a", t2, false}},
			map[string]Entry[string]{"a": {Modified: t3}}},
		{"a freed tombstone guards through the global time", false, []step{{"set", "a", t1, true}, {"delete", "a", t2, true}, {"time", "", t5, true}, {"set", "a", t5, false}, {"set", "a", t6, true}},
			map[string]Entry[string]{"a": {Status: "a@6", Modified: t6, Present: true}}},
		{"zero time and before", false, []step{{"set", "a", time.Time{}, false}, {"set", "a", time.Time{}.Add(-time.Hour), false}, {"delete", "a", time.Time{}, false}, {"time", "", time.Time{}, true}},
			map[string]Entry[string]{"a": {}}},
		{"year 1 counts as no time", false, []step{{"set", "a", time.Time{}.Add(time.Hour), false}},
			map[string]Entry[string]{"a": {}}},
		{"year 2200", false, []step{{"set", "a", at(0).AddDate(174, 0, 0), true}, {"set", "a", t9, false}, {"set", "b", t9, true}},
			map[string]Entry[string]{"b": {Status: "b@9", Modified: t9, Present: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := free(CacheOptions[string]{AcceptEqual: tt.equal})
			for i, s := range tt.steps {
				status := fmt.Sprintf("%s@%d", s.key, s.at.Second())
				ok := true
				switch s.do {
				case "set":
					ok = c.Set(s.key, status, nil, s.at)
				case "fail":
					ok = c.Set(s.key, status, errInspect, s.at)
				case "delete":
					ok = c.Delete(s.key, s.at)
				case "time":
					c.UpdateTime(s.at)
				}
				if ok != s.want {
					t.Errorf("step %d: %s(%q) at %v = %v, want %v", i, s.do, s.key, s.at, ok, s.want)
				}
				if err := c.valid(); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			for key, want := range tt.want {
				if e := c.Get(key); !alike(e, want) {
					t.Errorf("Get(%q) = %+v, want %+v", key, e, want)
				}
			}
		})
	}
}

// TestCacheSkew pins what a time ahead of the clock may do: nothing beyond
// MaxSkew, so a status stamped an hour ahead cannot block its key for an hour.
func TestCacheSkew(t *testing.T) {
	clock := clocktesting.NewFakeClock(t0)
	for _, tt := range []struct {
		skew time.Duration
		at   time.Time
		want bool
	}{
		{0, t0.Add(time.Minute), true},
		{0, t0.Add(time.Minute + 1), false},
		{0, t0.Add(time.Hour), false},
		{time.Second, t1, true},
		{time.Second, t2, false},
		{-1, t0.AddDate(200, 0, 0), true},
		{-1, t0.AddDate(2000, 0, 0), true},
		{math.MaxInt64, t0.AddDate(200, 0, 0), true},
		{0, t0.AddDate(2000, 0, 0), false},
	} {
		c := NewCache[string](CacheOptions[string]{Clock: clock, MaxSkew: tt.skew})
		if got := c.Set("a", "", nil, tt.at); got != tt.want {
			t.Errorf("MaxSkew %v: Set at %v = %v, want %v", tt.skew, tt.at, got, tt.want)
		}
		if got := c.Delete("b", tt.at); got != tt.want {
			t.Errorf("MaxSkew %v: Delete at %v = %v, want %v", tt.skew, tt.at, got, tt.want)
		}
		c.UpdateTime(tt.at)
		if got := !c.Get("c").Modified.IsZero(); got != tt.want {
			t.Errorf("MaxSkew %v: UpdateTime(%v) took: %v, want %v", tt.skew, tt.at, got, tt.want)
		}
		if want := map[bool]uint64{true: 0, false: 3}[tt.want]; c.counts.skewed != want {
			t.Errorf("MaxSkew %v: %d refusals counted, want %d", tt.skew, c.counts.skewed, want)
		}
	}
	c := NewCache[string](CacheOptions[string]{Clock: clock})
	clock.Step(time.Hour)
	if !c.Set("a", "", nil, t0.Add(time.Hour)) {
		t.Error("a write at the clock's time is refused after the clock has moved")
	}
}

// TestCacheMerge pins what Merge sees: the last status without an error, never
// that of a deleted key.
func TestCacheMerge(t *testing.T) {
	c := free(CacheOptions[string]{Merge: func(old, new string) string { return old + new }})
	for i, s := range []struct {
		status string
		err    error
		want   string
	}{{"a", nil, "a"}, {"b", nil, "ab"}, {"?", errInspect, "?"}, {"c", nil, "abc"}} {
		if !c.Set("k", s.status, s.err, at(i)) || c.Get("k").Status != s.want {
			t.Errorf("write %d: status %q, want %q", i, c.Get("k").Status, s.want)
		}
	}
	c.Delete("k", t5)
	c.Set("k", "d", nil, t6)
	if got := c.Get("k").Status; got != "d" {
		t.Errorf("after a deletion: status %q, want d", got)
	}
}

// TestCacheMergePanics leaves no lock held when the caller's Merge panics.
func TestCacheMergePanics(t *testing.T) {
	c := free(CacheOptions[string]{Merge: func(old, new string) string { panic("merge") }})
	c.Set("k", "a", nil, t1)
	func() {
		defer func() { recover() }()
		c.Set("k", "b", nil, t2)
		t.Error("no panic")
	}()
	if e := c.Get("k"); e.Status != "a" || !c.Set("j", "c", nil, t2) {
		t.Errorf("after the panic: %+v", e)
	}
}

// waiting starts a wait and returns where its answer will be.
func waiting(c *Cache[string, string], ctx context.Context, key string, min time.Time) <-chan answered {
	out := make(chan answered, 1)
	go func() {
		e, err := c.GetNewerThan(ctx, key, min)
		out <- answered{e, err}
	}()
	return out
}

type answered struct {
	Entry[string]
	err error
}

// TestGetNewerThan is the table of what ends a wait that began at t3 on a key
// with an entry of t2, and what does not.
func TestGetNewerThan(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(c *Cache[string, string], cancel func())
		want *answered // nil: still waiting
	}{
		{"nothing", func(c *Cache[string, string], cancel func()) {}, nil},
		{"a newer write", func(c *Cache[string, string], cancel func()) { c.Set("a", "new", nil, t4) }, &answered{Entry[string]{"new", nil, t4, true}, nil}},
		{"a failed inspection", func(c *Cache[string, string], cancel func()) { c.Set("a", "", errInspect, t4) }, &answered{Entry[string]{"", errInspect, t4, true}, nil}},
		{"a write at the same time", func(c *Cache[string, string], cancel func()) { c.Set("a", "new", nil, t3) }, nil},
		{"a write of another key", func(c *Cache[string, string], cancel func()) { c.Set("b", "new", nil, t4) }, nil},
		{"a deletion", func(c *Cache[string, string], cancel func()) { c.Delete("a", t4) }, &answered{Entry[string]{"", nil, t4, false}, nil}},
		{"an older deletion", func(c *Cache[string, string], cancel func()) { c.Delete("a", t3) }, nil},
		{"a global time", func(c *Cache[string, string], cancel func()) { c.UpdateTime(t4) }, &answered{Entry[string]{"old", nil, t4, true}, nil}},
		{"the same global time", func(c *Cache[string, string], cancel func()) { c.UpdateTime(t3) }, nil},
		{"the context", func(c *Cache[string, string], cancel func()) { cancel() }, &answered{err: context.Canceled}},
		{"Close", func(c *Cache[string, string], cancel func()) { c.Close() }, &answered{err: ErrClosed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(CacheOptions[string]{})
				c.Set("a", "old", nil, t2)
				ctx, cancel := context.WithCancel(t.Context())
				out := waiting(c, ctx, "a", t3)
				synctest.Wait()
				tt.do(c, cancel)
				synctest.Wait()
				select {
				case got := <-out:
					if tt.want == nil || !alike(got.Entry, tt.want.Entry) || !errors.Is(got.err, tt.want.err) {
						t.Errorf("got %+v, want %+v", got, tt.want)
					}
				default:
					if tt.want != nil {
						t.Errorf("still waiting, want %+v", *tt.want)
					}
				}
				cancel()
				synctest.Wait()
				if n := len(c.waits.byTime) + len(c.waits.byKey); n != 0 {
					t.Errorf("%d waiters left behind", n)
				}
			})
		})
	}
}

// TestGetNewerThanTogether: a global time, a write and Close end all the waits they
// answer, however many there are.
func TestGetNewerThanTogether(t *testing.T) {
	const waiters = 1050
	for name, end := range map[string]func(c *Cache[string, string]){
		"a global time": func(c *Cache[string, string]) { c.UpdateTime(t4) },
		"a write":       func(c *Cache[string, string]) { c.Set("a", "new", nil, t4) },
		"Close":         func(c *Cache[string, string]) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(CacheOptions[string]{})
				out := make(chan answered, waiters)
				for range waiters {
					go func() {
						e, err := c.GetNewerThan(t.Context(), "a", t3)
						out <- answered{e, err}
					}()
				}
				synctest.Wait()
				end(c)
				synctest.Wait()
				if len(out) != waiters {
					t.Errorf("%d of %d waits have ended", len(out), waiters)
				}
				c.Close()
			})
		})
	}
}

// TestGetMeanwhile: what Get says of a key is never older than what it said
// before, while its deletion is forgotten for a global time.
func TestGetMeanwhile(t *testing.T) {
	c := free(CacheOptions[string]{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 30_000 {
			c.Set("a", "", nil, t0.Add(time.Duration(3*i+1)))
			c.Delete("a", t0.Add(time.Duration(3*i+2)))
			c.UpdateTime(t0.Add(time.Duration(3*i + 3)))
		}
	}()
	for last := c.Get("a"); ; {
		e := c.Get("a")
		if e.Modified.Before(last.Modified) {
			t.Fatalf("%v after %v", e, last)
		}
		last = e
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestGetNewerThanHit answers at once, even under a context that is over, and
// after Close.
func TestGetNewerThanHit(t *testing.T) {
	c := free(CacheOptions[string]{})
	c.Set("a", "x", nil, t2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Close()
	if e, err := c.GetNewerThan(ctx, "a", t1); err != nil || e.Status != "x" {
		t.Errorf("= %+v, %v", e, err)
	}
	if _, err := c.GetNewerThan(t.Context(), "a", t2); err != ErrClosed {
		t.Errorf("a miss after Close: %v, want ErrClosed", err)
	}
	if c.Set("a", "y", nil, t3) || c.Delete("a", t3) {
		t.Error("a write after Close is accepted")
	}
}

// TestGetNewerThanBeforeAnything: no min, however early, is answered by a cache
// that knows nothing. (kubernetes#120941: a miss answered as "no containers")
func TestGetNewerThanBeforeAnything(t *testing.T) {
	for _, min := range []time.Time{{}, time.Time{}.Add(-time.Hour), time.Time{}.AddDate(-1000, 0, 0), t0} {
		c := free(CacheOptions[string]{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err := c.GetNewerThan(ctx, "a", min); err != context.Canceled {
			t.Errorf("min %v: %+v, %v", min, e, err)
		}
		if e := c.Get("a"); e.Present || !e.Modified.IsZero() {
			t.Errorf("a miss is known: %+v", e)
		}
	}
}

// TestWaitFor sees the writes that change the answer and ends with the rest.
func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(CacheOptions[string]{AcceptEqual: true})
		asked := 0
		out := make(chan answered, 1)
		go func() {
			e, err := c.WaitFor(t.Context(), "a", func(e Entry[string]) bool {
				asked++
				return !e.Present && !e.Modified.IsZero()
			})
			out <- answered{e, err}
		}()
		for i, do := range []func(){
			func() {},
			func() { c.Set("a", "1", nil, t1) },
			func() { c.Set("a", "2", nil, t1) }, // as new, and accepted
			func() { c.UpdateTime(t2) },
			func() { c.Set("b", "3", nil, t3) }, // another key: not asked
			func() { c.Delete("a", t4) },
		} {
			do()
			synctest.Wait()
			if want := []int{1, 2, 3, 4, 4, 5}[i]; asked != want {
				t.Errorf("after step %d: asked %d times, want %d", i, asked, want)
			}
		}
		if got := <-out; got.err != nil || got.Present || !got.Modified.Equal(t4) {
			t.Errorf("= %+v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.WaitFor(ctx, "a", func(e Entry[string]) bool { return false }); err != context.DeadlineExceeded {
			t.Errorf("with a deadline: %v", err)
		}
		c.Close()
		if _, err := c.WaitFor(t.Context(), "a", func(e Entry[string]) bool { return false }); err != ErrClosed {
			t.Errorf("closed: %v", err)
		}
		if err := c.valid(); err != nil {
			t.Error(err)
		}
	})
}

// TestWatch: a snapshot, changes, a deletion; a key that came and went while
// the loop slept is not told.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(CacheOptions[string]{})
		c.Set("a", "1", nil, t1)
		var seen []string
		gate, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for key, e := range c.Watch(t.Context()) {
				seen = append(seen, fmt.Sprint(key, e.Status, e.Present))
				<-gate
			}
		}()
		synctest.Wait()
		c.Set("b", "1", nil, t2)
		c.Set("b", "2", nil, t3)
		c.Set("c", "1", nil, t3)
		c.Delete("c", t4)
		c.Delete("a", t4)
		close(gate)
		synctest.Wait()
		c.Delete("b", t5)
		c.Set("b", "3", nil, t6)
		c.Set("d", "1", nil, t6)
		c.Close()
		<-ended
		if got, want := strings.Join(seen, " "), "a1true b2true afalse b3true d1true"; got != want {
			t.Errorf("seen %s\nwant %s", got, want)
		}
		for range c.Watch(t.Context()) {
			break
		}
		if len(c.watchers) != 0 {
			t.Errorf("%d watchers left behind", len(c.watchers))
		}
	})
}

// TestWatchMemory: what a sleeping loop costs does not grow with what passes.
func TestWatchMemory(t *testing.T) {
	c := free(CacheOptions[string]{})
	for i := range 10 {
		c.Set(fmt.Sprint("old", i), "", nil, t1)
	}
	w := c.watch()
	for range 5 {
		c.next(w)
	}
	for i := range 1000 {
		key := fmt.Sprint("new", i)
		c.Set(key, "", nil, at(2*i+2))
		c.Set(key, "", nil, at(2*i+3))
		c.Delete(key, at(2*i+3))
	}
	for i := range 10 {
		c.Delete(fmt.Sprint("old", i), at(10000))
	}
	if got := w.due.len(); got != 5 {
		t.Errorf("%d keys are due, want the 5 deletions of what was shown", got)
	}
}

// TestCacheAll yields present entries only, and lets its body write.
func TestCacheAll(t *testing.T) {
	c := free(CacheOptions[string]{})
	for i := range 9 {
		c.Set(fmt.Sprint(i), "x", nil, at(i))
	}
	c.Delete("3", t9)
	var keys []string
	for key := range c.All() {
		keys = append(keys, key)
		c.Delete(key, t9)
	}
	slices.Sort(keys)
	if got := strings.Join(keys, ""); got != "01245678" || c.Len() != 0 {
		t.Errorf("All yielded %s; Len is %d", got, c.Len())
	}
}

// TestTombstones: they are kept once a key, and freed by the global time.
func TestTombstones(t *testing.T) {
	c := free(CacheOptions[string]{})
	for i := range 100 {
		c.Set("a", "", nil, at(2*i))
		c.Delete("a", at(2*i+1))
		c.Delete("a", at(2*i+1).Add(time.Millisecond))
		c.Delete("b", at(i))
	}
	if len(c.deleted) != 2 {
		t.Errorf("%d graves for two keys", len(c.deleted))
	}
	c.UpdateTime(at(150))
	if err := c.valid(); err != nil || c.nodes.len != 1 {
		t.Errorf("%d nodes after a global time between the deletions, want 1; %v", c.nodes.len, err)
	}
	c.UpdateTime(at(300))
	if err := c.valid(); err != nil || c.nodes.len != 0 {
		t.Errorf("%d nodes after a global time later than the deletions; %v", c.nodes.len, err)
	}
}

// machine drives a cache and its model through the same random operations, with
// waits and slow Watch loops around them.
type machine struct {
	c        *Cache[string, string]
	m        *model
	known    map[string]time.Time
	waits    []*pendingWait
	watchers []*slowWatcher
	writes   int
}

type pendingWait struct {
	key    string
	min    time.Time
	want   string // WaitFor this status, if not empty
	cancel context.CancelFunc
	over   bool // cancelled
	out    chan answered
}

type slowWatcher struct {
	view map[string]Entry[string]
	gate chan struct{} // a token per entry
	done chan struct{}
}

var machineKeys = rapid.SampledFrom([]string{"a", "b", "c"})

// TestCacheProperties: the cache answers like the model after every operation;
// no stale write wins; no waiter is left that could be answered; what is known
// never gets older; a Watch loop ends with the cache's state.
func TestCacheProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newModel()
			o := CacheOptions[string]{AcceptEqual: rapid.Bool().Draw(t, "equal"), MaxSkew: -1}
			if rapid.Bool().Draw(t, "skew") {
				o.MaxSkew = 3 * time.Second
			}
			if rapid.Bool().Draw(t, "merge") {
				o.Merge = func(old, new string) string { return new + "|" + old[:1] }
			}
			m.acceptEqual, m.maxSkew, m.merge = o.AcceptEqual, o.MaxSkew, o.Merge
			x := &machine{c: NewCache[string](o), m: m, known: map[string]time.Time{}}
			t.Repeat(map[string]func(*rapid.T){
				"set": x.set, "delete": x.delete, "time": x.updateTime, "sleep": x.sleep, "burst": x.burst,
				"wait": x.wait, "waitFor": x.waitFor, "cancel": x.cancel, "watch": x.watch, "read": x.read,
				"": x.check,
			})
			x.finish(t)
		})
	})
}

// when draws a time around now, on a grid so that equal times happen.
func (x *machine) when(t *rapid.T) time.Time {
	return time.Now().Add(time.Duration(rapid.IntRange(-6, 6).Draw(t, "when")) * time.Second)
}

func (x *machine) sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 4).Draw(t, "seconds")) * time.Second)
}

func (x *machine) set(t *rapid.T) {
	key, at := machineKeys.Draw(t, "key"), x.when(t)
	var err error
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		err = errInspect
	}
	x.writes++
	status := fmt.Sprint(x.writes)
	if got, want := x.c.Set(key, status, err, at), x.m.set(key, status, err, at, time.Now()); got != want {
		t.Fatalf("Set(%q) at %v = %v, want %v", key, at, got, want)
	}
}

func (x *machine) delete(t *rapid.T) {
	key, at := machineKeys.Draw(t, "key"), x.when(t)
	if got, want := x.c.Delete(key, at), x.m.delete(key, at, time.Now()); got != want {
		t.Fatalf("Delete(%q) at %v = %v, want %v", key, at, got, want)
	}
}

func (x *machine) updateTime(t *rapid.T) {
	at := x.when(t)
	x.c.UpdateTime(at)
	x.m.updateTime(at, time.Now())
}

// burst writes one key from several goroutines at once: the newest must win.
func (x *machine) burst(t *rapid.T) {
	key, n := machineKeys.Draw(t, "key"), rapid.IntRange(2, 5).Draw(t, "n")
	base := time.Now().Add(-time.Second)
	if !base.After(x.m.known(key)) || x.m.merge != nil {
		return
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { x.c.Set(key, fmt.Sprint("burst", i), nil, base.Add(time.Duration(i))) })
	}
	all.Wait()
	x.m.set(key, fmt.Sprint("burst", n-1), nil, base.Add(time.Duration(n-1)), time.Now())
}

func (x *machine) wait(t *rapid.T) {
	w := &pendingWait{key: machineKeys.Draw(t, "key"), min: x.when(t), out: make(chan answered, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	w.out = make(chan answered, 1)
	go func() {
		e, err := x.c.GetNewerThan(ctx, w.key, w.min)
		w.out <- answered{e, err}
	}()
	x.waits = append(x.waits, w)
}

func (x *machine) waitFor(t *rapid.T) {
	w := &pendingWait{key: machineKeys.Draw(t, "key"), want: fmt.Sprint(x.writes + rapid.IntRange(0, 3).Draw(t, "ahead")), out: make(chan answered, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		e, err := x.c.WaitFor(ctx, w.key, func(e Entry[string]) bool { return strings.HasPrefix(e.Status, w.want) })
		w.out <- answered{e, err}
	}()
	x.waits = append(x.waits, w)
}

func (x *machine) cancel(t *rapid.T) {
	if len(x.waits) > 0 {
		w := rapid.SampledFrom(x.waits).Draw(t, "wait")
		w.cancel()
		w.over = true
	}
}

func (x *machine) watch(t *rapid.T) {
	if len(x.watchers) == 3 {
		return
	}
	w := &slowWatcher{view: map[string]Entry[string]{}, gate: make(chan struct{}, 1<<20), done: make(chan struct{})}
	ctx := t.Context()
	go func() {
		defer close(w.done)
		for key, e := range x.c.Watch(ctx) {
			if _, shown := w.view[key]; e.Present {
				w.view[key] = e
			} else if shown {
				delete(w.view, key)
			} else {
				w.view["deleted though never shown"] = e
			}
			select {
			case <-w.gate:
			case <-ctx.Done():
			}
		}
	}()
	x.watchers = append(x.watchers, w)
}

func (x *machine) read(t *rapid.T) {
	if len(x.watchers) > 0 {
		w := rapid.SampledFrom(x.watchers).Draw(t, "watcher")
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			w.gate <- struct{}{}
		}
	}
}

func (x *machine) check(t *rapid.T) {
	synctest.Wait()
	if err := x.c.valid(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		e := x.c.Get(key)
		if want := x.m.get(key); !alike(e, want) {
			t.Fatalf("Get(%q) = %+v, want %+v", key, e, want)
		}
		if e.Modified.Before(x.known[key]) {
			t.Fatalf("Get(%q): known as of %v, before that as of %v", key, e.Modified, x.known[key])
		}
		x.known[key] = e.Modified
	}
	if x.c.Len() != len(x.m.entries) {
		t.Fatalf("Len = %d, want %d", x.c.Len(), len(x.m.entries))
	}
	x.waits = slices.DeleteFunc(x.waits, func(w *pendingWait) bool { return x.answered(t, w) })
}

// answered checks one wait and reports whether it is over.
func (x *machine) answered(t *rapid.T, w *pendingWait) bool {
	e := x.m.get(w.key)
	ready := w.want == "" && e.Modified.After(w.min) || w.want != "" && strings.HasPrefix(e.Status, w.want)
	select {
	case got := <-w.out:
		switch {
		case got.err != nil:
			if !w.over {
				t.Fatalf("wait for %q ended: %v", w.key, got.err)
			}
		case w.want == "" && !got.Modified.After(w.min), w.want != "" && !strings.HasPrefix(got.Status, w.want):
			t.Fatalf("wait for %q newer than %v or %q: %+v", w.key, w.min, w.want, got)
		}
		w.cancel()
		return true
	default:
		if ready || w.over {
			t.Fatalf("wait for %q newer than %v or %q is left", w.key, w.min, w.want)
		}
		return false
	}
}

func (x *machine) finish(t *rapid.T) {
	x.check(t)
	for _, w := range x.watchers {
		for range 1000 {
			w.gate <- struct{}{}
		}
	}
	synctest.Wait()
	for i, w := range x.watchers {
		if len(w.view) != x.c.Len() {
			t.Fatalf("watcher %d ended with %v", i, w.view)
		}
		for key, e := range w.view {
			if got := x.c.Get(key); got.Status != e.Status || got.Err != e.Err {
				t.Fatalf("watcher %d ended with %+v for %q, the cache has %+v", i, e, key, got)
			}
		}
	}
	x.c.Close()
	for _, w := range x.watchers {
		<-w.done
	}
	for _, w := range x.waits {
		if got := <-w.out; got.err != ErrClosed && !w.over {
			t.Fatalf("after Close a wait ended with %v", got.err)
		}
		w.cancel()
	}
	if n := len(x.c.waits.byTime) + len(x.c.watchers); n != 0 {
		t.Fatalf("%d waiters and watchers left behind", n)
	}
}
