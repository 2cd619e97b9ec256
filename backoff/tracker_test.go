package backoff_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/rapidseed"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

var t0 = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// fakeClock returns a clock that stands at t0 until it is set.
func fakeClock() *clocktesting.FakePassiveClock {
	return clocktesting.NewFakePassiveClock(t0)
}

func step(c *clocktesting.FakePassiveClock, d time.Duration) {
	c.SetTime(c.Now().Add(d))
}

func newTracker(t interface{ Fatal(...any) }, p backoff.Policy, o backoff.TrackerOptions) *backoff.Tracker[string] {
	tr, err := backoff.NewTracker[string](p, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// The kubelet's treatment of a container that crashes, recovers and crashes again.
func TestTrackerHoldsBackAsTheKubeletDoes(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
	check := func(finished time.Duration, held bool, left, delay time.Duration) {
		t.Helper()
		at := t0.Add(finished)
		if got := tr.IsInBackOffSince("a", at); got != held {
			t.Errorf("%v: in back-off since %v: %v", c.Now().Sub(t0), finished, got)
		}
		if got := tr.Remaining("a", at); got != left {
			t.Errorf("%v: remaining since %v: %v, want %v", c.Now().Sub(t0), finished, got, left)
		}
		if got := tr.Get("a"); got != delay {
			t.Errorf("%v: delay %v, want %v", c.Now().Sub(t0), got, delay)
		}
	}
	check(0, false, 0, 0) // t0: first crash, nothing known
	tr.Next("a", c.Now())
	step(c, 5*second) // t5: second crash
	check(5*second, true, 10*second, 10*second)
	step(c, 9*second)
	check(5*second, true, second, 10*second)
	step(c, second) // t15: its wait is over
	check(5*second, false, 0, 10*second)
	tr.Next("a", t0.Add(5*second))
	step(c, 5*second) // t20: third crash
	check(20*second, true, 20*second, 20*second)
	check(21*second, true, 15*second, 20*second) // an event to come counts as the start
	step(c, -24*time.Hour)                       // the clock is set back
	check(20*second, false, 0, 20*second)
	if tr.IsInBackOffSinceUpdate("a", c.Now()) {
		t.Error("a key is held until the clock catches up")
	}
	c.SetTime(t0.Add(15*second + 600*second)) // exactly ResetAfter after the start
	check(615*second, true, 20*second, 20*second)
	step(c, 1) // a nanosecond more
	check(615*second+1, false, 0, 20*second)
	tr.Next("a", c.Now())
	if got := tr.Get("a"); got != 10*second {
		t.Errorf("after a long run: delay %v", got)
	}
	tr.Reset("a")
	if n := tr.Len(); n != 0 || tr.Get("a") != 0 {
		t.Errorf("%d entries after Reset, delay %v", n, tr.Get("a"))
	}
}

// The 31st failure of a 10s curve without a maximum overflows in client-go.
func TestTrackerSaturates(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, backoff.Policy{Initial: 10 * second, Max: math.MaxInt64}, backoff.TrackerOptions{Clock: c})
	if err := tr.Restore("a", backoff.TrackerState{Failures: math.MaxInt, Updated: t0}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		tr.Next("a", c.Now())
		if s, _ := tr.State("a"); s.Failures != math.MaxInt || s.Delay != math.MaxInt64 {
			t.Fatalf("state %+v", s)
		}
	}
	for range 100 {
		tr.Next("b", c.Now())
		if tr.Get("b") < 10*second || !tr.IsInBackOffSince("b", c.Now()) {
			t.Fatalf("delay %v", tr.Get("b"))
		}
	}
}

// GC changes no answer of IsInBackOffSince, and no Next made within ResetAfter of
// its due time: two trackers driven as the kubelet does, one collected at random.
func TestTrackerGCChangesNoAnswer(t *testing.T) {
	collected := 0
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.ImagePull(), {Initial: second, Max: 10 * second, Jitter: 0.5},
			{Initial: 1, Max: math.MaxInt64}, {Initial: second, Max: second, ResetAfter: 1}}).Draw(t, "policy")
		c := fakeClock()
		options := backoff.TrackerOptions{Clock: c, Rand: func() float64 { return 0.5 }}
		plain, swept := newTracker(t, policy, options), newTracker(t, policy, options)
		running := map[string]bool{"a": true, "b": true}
		finished := map[string]time.Time{}
		keys := rapid.SampledFrom([]string{"a", "b"})
		forward := rapid.Custom(func(t *rapid.T) time.Duration { return backoff.Distances().Draw(t, "step").Abs() })
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) { step(c, forward.Draw(t, "by")) },
			"gc":   func(t *rapid.T) { collected += swept.GC() },
			"exit": func(t *rapid.T) {
				if k := keys.Draw(t, "key"); running[k] {
					running[k], finished[k] = false, c.Now()
				}
			},
			"start": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				if running[k] || plain.IsInBackOffSince(k, finished[k]) {
					return
				}
				due := finished[k].Add(min(plain.Get(k), c.Now().Sub(finished[k])))
				if c.Now().Sub(due) > policy.ResetThreshold() {
					plain.Reset(k) // so late that they may differ: start over
					swept.Reset(k)
				}
				plain.Next(k, finished[k])
				swept.Next(k, finished[k])
				running[k] = true
				if plain.Get(k) != swept.Get(k) {
					t.Fatalf("%s: delay %v, %v with GC", k, plain.Get(k), swept.Get(k))
				}
			},
			"": func(t *rapid.T) {
				for k := range running {
					for _, event := range []time.Time{finished[k], c.Now(), c.Now().Add(-5 * second), c.Now().Add(time.Hour)} {
						if plain.IsInBackOffSince(k, event) != swept.IsInBackOffSince(k, event) {
							t.Fatalf("%s: GC changed whether it is in back-off", k)
						}
					}
					if plain.IsInBackOffSinceUpdate(k, c.Now()) != swept.IsInBackOffSinceUpdate(k, c.Now()) {
						t.Fatalf("%s: GC changed whether it is in back-off since its update", k)
					}
				}
			},
		})
	})
	if collected == 0 && rapidseed.Fixed() {
		t.Error("nothing was ever collected")
	}
}

// GC keeps an entry for its delay and twice ResetAfter, to the nanosecond. client-go
// forgets that of a container that runs 305s and crashes.
func TestTrackerGCKeepsWhatClientGoForgets(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
	for n := range 10 {
		tr.Next("a", c.Now())
		step(c, 305*second) // runs
		finished := c.Now()
		for tr.IsInBackOffSince("a", finished) {
			tr.GC()
			step(c, second)
		}
		tr.GC()
		if s, ok := tr.State("a"); !ok || s.Failures != n+1 {
			t.Fatalf("after %d failures: %+v", n+1, s)
		}
		tr.Next("a", finished)
		c.SetTime(finished.Add(tr.Get("a")))
		tr.Restore("a", backoff.TrackerState{Failures: n + 1, Updated: c.Now()})
	}
	for _, custom := range []bool{false, true} {
		o := backoff.TrackerOptions{Clock: c}
		if custom {
			o.Expired = func(event, updated time.Time, max time.Duration) bool { return event.Sub(updated) > 600*second }
		}
		tr := newTracker(t, backoff.CrashLoop(), o)
		tr.Next("a", c.Now())
		step(c, 10*second+2*600*second)
		if n := tr.GC(); n != 0 {
			t.Errorf("collected %d too early", n)
		}
		step(c, 1)
		if n := tr.GC(); n != 1 || tr.Len() != 0 {
			t.Errorf("collected %d, %d left", n, tr.Len())
		}
	}
}

// The kubelet's way of driving a Tracker restarts a container at the instants of
// a Timeline with one more free restart.
func TestTrackerFollowsTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.CrashLoop().WithMax(second),
			{Initial: second, Max: 300 * second, Factor: 1.5, FreeFailures: 2}}).Draw(t, "policy")
		runs := rapid.SliceOfN(rapid.SampledFrom(seconds(0, 0, 0, 1, 300, 305, 599, 600, 601, 10_000)), 1, 40).Draw(t, "runs")
		c := fakeClock()
		tr := newTracker(t, policy, backoff.TrackerOptions{Clock: c})
		later := policy
		later.FreeFailures++
		n := 0
		for want := range later.Timeline(func(n int) time.Duration { return runs[n-1] }) {
			step(c, runs[n])
			finished := c.Now()
			step(c, tr.Remaining("a", finished))
			if tr.IsInBackOffSince("a", finished) {
				t.Fatal("held after its wait")
			}
			tr.GC()
			tr.Next("a", finished)
			if got := c.Now().Sub(t0); got != want {
				t.Fatalf("restart %d at %v, want %v", n+1, got, want)
			}
			if n++; n == len(runs) {
				break
			}
		}
	})
}

// A key is free once the clock has run for its delay without being set.
func TestClockStepsBlockNoKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop()}).Draw(t, "policy")
		c := fakeClock()
		tr := newTracker(t, policy, backoff.TrackerOptions{Clock: c})
		for range rapid.IntRange(1, 10).Draw(t, "failures") {
			step(c, backoff.Distances().Draw(t, "before"))
			tr.Next("a", c.Now().Add(backoff.Distances().Draw(t, "event")))
		}
		step(c, rapid.SampledFrom([]time.Duration{-24 * time.Hour, 24 * time.Hour, -second, second, 0}).Draw(t, "step"))
		asked := c.Now()
		event := asked.Add(backoff.Distances().Draw(t, "asked event"))
		waited := time.Duration(0)
		for tr.IsInBackOffSince("a", event) {
			left := tr.Remaining("a", event)
			if left <= 0 || left > tr.Get("a") {
				t.Fatalf("%v left of %v", left, tr.Get("a"))
			}
			step(c, left)
			// An event to come holds as the last update does; should the clock reach
			// it meanwhile, it is an event like any other.
			if waited += left; waited > tr.Get("a")+max(event.Sub(asked), 0) || waited > 2*tr.Get("a") {
				t.Fatalf("held for %v", waited)
			}
		}
		now := c.Now()
		for waited = 0; tr.IsInBackOffSinceUpdate("a", c.Now()); waited += second {
			step(c, second)
			if waited > policy.Max {
				t.Fatalf("held since its update for %v, from %v", waited, now)
			}
		}
	})
}

func TestNewTrackerErrorsNameEachField(t *testing.T) {
	if tr, err := backoff.NewTracker[string](backoff.Policy{Initial: -1}, backoff.TrackerOptions{}); tr != nil || err == nil || err.Error() != "backoff: NewTracker: Initial: invalid value -1ns: must be > 0" {
		t.Errorf("%v, %v", tr, err)
	}
}

// All holds no lock while it yields, and yields every entry that stays.
func TestAllYieldsEveryKeyThatStays(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
	for i := range 2000 {
		tr.Next(fmt.Sprint("stay", i), c.Now())
		tr.Next(fmt.Sprint("go", i), c.Now())
	}
	seen := map[string]int{}
	for k := range tr.All() {
		seen[k]++
		if len(seen) == 10 {
			for i := range 2000 {
				tr.Reset(fmt.Sprint("go", i))
				tr.Next(fmt.Sprint("new", i), c.Now())
			}
			step(c, time.Hour)
			tr.GC()
			for i := range 2000 {
				tr.Next(fmt.Sprint("stay", i), c.Now())
			}
		}
	}
	for i := range 2000 {
		if seen[fmt.Sprint("stay", i)] != 1 {
			t.Fatalf("stay%d seen %d times", i, seen[fmt.Sprint("stay", i)])
		}
	}
	for k, n := range seen {
		if n != 1 {
			t.Errorf("%s seen %d times", k, n)
		}
	}
	for range tr.All() {
		break
	}
}

// Concurrent callers get the results of a map with one lock. Every failure of a key
// counts once, and readers see states that existed.
func TestConcurrentFailuresAreAllCounted(t *testing.T) {
	c := fakeClock()
	policy := backoff.Policy{Initial: 1, Max: math.MaxInt64, FreeFailures: 0}
	tr := newTracker(t, policy, backoff.TrackerOptions{Clock: c})
	const goroutines, rounds, keys = 8, 400, 40
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				key := fmt.Sprint(i % keys)
				tr.Next(key, c.Now())
				s, ok := tr.State(key)
				if !ok || s.Delay != policy.Delay(s.Failures) || !s.Updated.Equal(t0) {
					t.Errorf("torn state %+v", s)
				}
				tr.Next(fmt.Sprint("mine", g, i), c.Now())
				if i%50 == 0 {
					tr.GC()
					for range tr.All() {
						tr.Len()
					}
				}
				tr.IsInBackOffSince(key, c.Now())
				tr.Reset(fmt.Sprint("mine", g, i))
			}
		})
	}
	wg.Wait()
	if n := tr.Len(); n != keys {
		t.Errorf("%d entries", n)
	}
	for k, s := range tr.All() {
		if s.Failures != goroutines*rounds/keys {
			t.Errorf("%s has %d failures", k, s.Failures)
		}
	}
}

func TestHotTrackerCallsDoNotAllocate(t *testing.T) {
	tr := newTracker(t, backoff.Policy{Initial: second, Max: minute, Jitter: 0.5}, backoff.TrackerOptions{})
	now := time.Now()
	limiter := tr.RateLimiter()
	tr.Next("a", now)
	for name, call := range map[string]func(){
		"Next":                   func() { tr.Next("a", now) },
		"Get":                    func() { tr.Get("a") },
		"Remaining":              func() { tr.Remaining("a", now) },
		"IsInBackOffSince":       func() { tr.IsInBackOffSince("a", now) },
		"IsInBackOffSinceUpdate": func() { tr.IsInBackOffSinceUpdate("a", now) },
		"State":                  func() { tr.State("a") },
		"When":                   func() { limiter.When("a") },
		"NumRequeues":            func() { limiter.NumRequeues("a") },
		"Len":                    func() { tr.Len() },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// Keys of any comparable type work.
func TestKeysMayBeOfAnyComparableType(t *testing.T) {
	type pod struct {
		namespace string
		index     int
	}
	tr, err := backoff.NewTracker[any](backoff.CrashLoop(), backoff.TrackerOptions{Clock: fakeClock()})
	if err != nil {
		t.Fatal(err)
	}
	one := 1
	keys := []any{"", 0, 0.5, &one, pod{"a", 1}, pod{"a", 2}, [2]string{"x", "y"}, nil}
	for _, k := range keys {
		tr.Next(k, t0)
		tr.Next(k, t0)
	}
	for _, k := range keys {
		if s, _ := tr.State(k); s.Failures != 2 {
			t.Errorf("%v: %+v", k, s)
		}
	}
	if n := len(slices.Collect(maps.Keys(maps.Collect(tr.All())))); n != len(keys) {
		t.Errorf("%d keys", n)
	}
}
