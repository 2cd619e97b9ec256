package statuscache_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
	clocktesting "k8s.io/utils/clock/testing"
)

// t0 … t9 are the named instants of the tables, a second apart.
var t0, t1, t2, t3, t4, t5, t6, t9 = at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(9)

func at(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
}

var errInspect = errors.New("inspection failed")

// free is a cache without skew check, for tables with times of their own.
func free(o statuscache.Options[string]) *statuscache.Cache[string, string] {
	o.MaxSkew = -1
	return statuscache.New[string](o)
}

// Histories of the cache and its model, each with the outcome that matters.
func TestOlderWritesAreRefused(t *testing.T) {
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
		want  map[string]statuscache.Entry[string] // of Get at the end
	}{
		{"nothing known", false, nil, map[string]statuscache.Entry[string]{"a": {}}},
		{"newer wins", false, []step{{"set", "a", t1, true}, {"set", "a", t2, true}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@2", Modified: t2, Present: true}}},
		{"older loses", false, []step{{"set", "a", t2, true}, {"set", "a", t1, false}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@2", Modified: t2, Present: true}}},
		{"equal loses", false, []step{{"set", "a", t2, true}, {"fail", "a", t2, false}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@2", Modified: t2, Present: true}}},
		{"equal wins with AcceptEqual", true, []step{{"set", "a", t2, true}, {"fail", "a", t2, true}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@2", Err: errInspect, Modified: t2, Present: true}}},
		{"a failed inspection is an entry", false, []step{{"set", "a", t1, true}, {"fail", "a", t2, true}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@2", Err: errInspect, Modified: t2, Present: true}}},
		{"global time makes absence known", false, []step{{"time", "", t1, true}},
			map[string]statuscache.Entry[string]{"a": {Modified: t1}}},
		{"global time freshens an entry", false, []step{{"set", "a", t1, true}, {"time", "", t3, true}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@1", Modified: t3, Present: true}}},
		{"global time does not go back", false, []step{{"time", "", t3, true}, {"time", "", t1, true}},
			map[string]statuscache.Entry[string]{"a": {Modified: t3}}},
		{"global time does not guard an entry", false, []step{{"set", "a", t1, true}, {"time", "", t3, true}, {"set", "a", t2, true}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@2", Modified: t3, Present: true}}},
		{"global time guards an absent key", true, []step{{"time", "", t3, true}, {"set", "a", t2, false}, {"set", "a", t3, false}},
			map[string]statuscache.Entry[string]{"a": {Modified: t3}}},
		{"deleted stays deleted", true, []step{{"set", "a", t1, true}, {"delete", "a", t3, true}, {"set", "a", t2, false}, {"set", "a", t3, false}},
			map[string]statuscache.Entry[string]{"a": {Modified: t3}}},
		{"deleted and created again", false, []step{{"set", "a", t1, true}, {"delete", "a", t3, true}, {"set", "a", t4, true}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@4", Modified: t4, Present: true}}},
		{"deletion loses against a newer entry", false, []step{{"set", "a", t3, true}, {"delete", "a", t2, false}, {"delete", "a", t3, true}},
			map[string]statuscache.Entry[string]{"a": {Modified: t3}}},
		{"deletion of an absent key guards too", false, []step{{"delete", "a", t3, true}, {"set", "a", t2, false}},
			map[string]statuscache.Entry[string]{"a": {Modified: t3}}},
		{"an older deletion takes no guard back", false, []step{{"delete", "a", t3, true}, {"delete", "a", t1, true}, {"set", "a", t2, false}},
			map[string]statuscache.Entry[string]{"a": {Modified: t3}}},
		{"a freed tombstone guards through the global time", false, []step{{"set", "a", t1, true}, {"delete", "a", t2, true}, {"time", "", t5, true}, {"set", "a", t5, false}, {"set", "a", t6, true}},
			map[string]statuscache.Entry[string]{"a": {Status: "a@6", Modified: t6, Present: true}}},
		{"zero time and before", false, []step{{"set", "a", time.Time{}, false}, {"set", "a", time.Time{}.Add(-time.Hour), false}, {"delete", "a", time.Time{}, false}, {"time", "", time.Time{}, true}},
			map[string]statuscache.Entry[string]{"a": {}}},
		{"year 1 counts as no time", false, []step{{"set", "a", time.Time{}.Add(time.Hour), false}},
			map[string]statuscache.Entry[string]{"a": {}}},
		{"year 2200", false, []step{{"set", "a", at(0).AddDate(174, 0, 0), true}, {"set", "a", t9, false}, {"set", "b", t9, true}},
			map[string]statuscache.Entry[string]{"b": {Status: "b@9", Modified: t9, Present: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := free(statuscache.Options[string]{AcceptEqual: tt.equal})
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
					c.Writer().UpdateTime(s.at)
				}
				if ok != s.want {
					t.Errorf("step %d: %s(%q) at %v = %v, want %v", i, s.do, s.key, s.at, ok, s.want)
				}
				if err := c.Valid(); err != nil {
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

// Times beyond MaxSkew are refused, so a status stamped an hour ahead does not block
// its key for an hour.
func TestTimeAheadOfTheClockIsRefused(t *testing.T) {
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
		c := statuscache.New[string](statuscache.Options[string]{Clock: clock, MaxSkew: tt.skew})
		if got := c.Set("a", "", nil, tt.at); got != tt.want {
			t.Errorf("MaxSkew %v: Set at %v = %v, want %v", tt.skew, tt.at, got, tt.want)
		}
		if got := c.Delete("b", tt.at); got != tt.want {
			t.Errorf("MaxSkew %v: Delete at %v = %v, want %v", tt.skew, tt.at, got, tt.want)
		}
		c.Writer().UpdateTime(tt.at)
		if got := !c.Get("c").Modified.IsZero(); got != tt.want {
			t.Errorf("MaxSkew %v: UpdateTime(%v) took: %v, want %v", tt.skew, tt.at, got, tt.want)
		}
		if want := map[bool]uint64{true: 0, false: 3}[tt.want]; c.Writer().Counts().Skewed != want {
			t.Errorf("MaxSkew %v: %d refusals counted, want %d", tt.skew, c.Writer().Counts().Skewed, want)
		}
	}
	c := statuscache.New[string](statuscache.Options[string]{Clock: clock})
	clock.Step(time.Hour)
	if !c.Set("a", "", nil, t0.Add(time.Hour)) {
		t.Error("a write at the clock's time is refused after the clock has moved")
	}
}

// Merge gets the last status without an error, never that of a deleted key.
func TestMergeSeesTheLastStatusWithoutError(t *testing.T) {
	c := free(statuscache.Options[string]{Merge: func(old, new string) string { return old + new }})
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

func TestPanicOfMergeLeavesNoLock(t *testing.T) {
	c := free(statuscache.Options[string]{Merge: func(old, new string) string { panic("merge") }})
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

// Get's Modified never decreases while a global time replaces a tombstone.
func TestGetNeverGoesBack(t *testing.T) {
	c := free(statuscache.Options[string]{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 30_000 {
			c.Set("a", "", nil, t0.Add(time.Duration(3*i+1)))
			c.Delete("a", t0.Add(time.Duration(3*i+2)))
			c.Writer().UpdateTime(t0.Add(time.Duration(3*i + 3)))
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

// All yields only present entries, and the loop may write.
func TestAllYieldsPresentEntries(t *testing.T) {
	c := free(statuscache.Options[string]{})
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

// The entry's Modified is the later of its own time and the global time.
func TestGetNewerThanReturnsTheGlobalTime(t *testing.T) {
	c := statuscache.New[string](statuscache.Options[int]{})
	c.Set("a", 1, nil, t0)
	c.Writer().UpdateTime(t0.Add(2))
	for _, min := range []time.Time{t0.Add(-1), t0, t0.Add(1)} {
		e, err := c.GetNewerThan(t.Context(), "a", min)
		if err != nil || e.Status != 1 || !e.Modified.Equal(t0.Add(2)) {
			t.Errorf("newer than %v: %+v, %v", min, e, err)
		}
	}
}

// A key has at most one tombstone, which the global time frees.
func TestTombstonesLastUntilTheGlobalTime(t *testing.T) {
	c := free(statuscache.Options[string]{})
	for i := range 100 {
		c.Set("a", "", nil, at(2*i))
		c.Delete("a", at(2*i+1))
		c.Delete("a", at(2*i+1).Add(time.Millisecond))
		c.Delete("b", at(i))
	}
	if n := c.Writer().Counts().Tombstones; n != 2 {
		t.Errorf("%d tombstones for two keys", n)
	}
	c.Writer().UpdateTime(at(150))
	if n, _, _ := c.Held(); c.Valid() != nil || n != 1 {
		t.Errorf("%d nodes after a global time between the deletions, want 1; %v", n, c.Valid())
	}
	c.Writer().UpdateTime(at(300))
	if n, _, _ := c.Held(); c.Valid() != nil || n != 0 {
		t.Errorf("%d nodes after a global time later than the deletions; %v", n, c.Valid())
	}
}

// A zero time is refused like any other of 292 years before the creation of the cache.
// On a real clock it is a forgotten timestamp.
func TestZeroStampIsRefused(t *testing.T) {
	c := statuscache.New[string](statuscache.Options[string]{Clock: clocktesting.NewFakeClock(t0)})
	for _, stamp := range []time.Time{{}, t0.AddDate(-293, 0, 0)} {
		if c.Set("a", "x", nil, stamp) || c.Delete("b", stamp) {
			t.Errorf("%v is taken", stamp)
		}
		c.Writer().UpdateTime(stamp)
	}
	if e := c.Get("a"); e != (statuscache.Entry[string]{}) {
		t.Errorf("known: %+v", e)
	}
	if c.Writer().Counts().Stale != 2 {
		t.Errorf("%d stale writes counted, want 2", c.Writer().Counts().Stale)
	}
	if !c.Set("a", "x", nil, t0.AddDate(-291, 0, 0)) {
		t.Error("291 years before the making is refused")
	}
	zero := statuscache.New[string](statuscache.Options[string]{Clock: clocktesting.NewFakeClock(time.Time{})})
	if !zero.Set("a", "x", nil, time.Time{}) || !zero.Get("a").Present {
		t.Error("the zero time is refused on a clock that stands there")
	}
}
