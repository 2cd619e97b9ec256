package backoff

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func newTracker(t interface{ Fatal(...any) }, p Policy, o Options) *Tracker[string] {
	tr, err := NewTracker[string](p, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// A history with named instants: what the kubelet does with a container that
// crashes, recovers and crashes again.
func TestTrackerHistory(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, CrashLoop(), Options{Clock: c})
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

// The 31st failure of a 10s curve without a cap overflows in client-go.
func TestTrackerSaturates(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, Policy{Initial: 10 * second, Max: math.MaxInt64}, Options{Clock: c})
	if err := tr.Restore("a", State{Failures: math.MaxInt, Updated: t0}); err != nil {
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

// modelTracker is the rules of a Tracker, spelled out over a plain map.
type modelTracker struct {
	policy  Policy
	expired func(event, updated time.Time, max time.Duration) bool
	rand    func() float64
	keys    map[string]State
}

// since is the instant an event counts as, and whether anything can be held back
// at all.
func (m modelTracker) since(s State, event, now time.Time) (time.Time, bool) {
	if !event.After(now) {
		return event, true
	}
	return s.Updated, !s.Updated.After(now)
}

func (m modelTracker) next(key string, event, now time.Time) {
	s, ok := m.keys[key]
	if ok {
		event, _ = m.since(s, event, now)
		ok = !m.expired(event, s.Updated, m.policy.Max)
	}
	if !ok {
		s.Failures = 0
	}
	if s.Failures < math.MaxInt {
		s.Failures++
	}
	s.Delay = m.policy.jittered(m.policy.Delay(s.Failures), m.rand)
	s.Updated = now
	m.keys[key] = s
}

func (m modelTracker) remaining(key string, event, now time.Time) time.Duration {
	s, ok := m.keys[key]
	if !ok {
		return 0
	}
	event, holds := m.since(s, event, now)
	if !holds || m.expired(event, s.Updated, m.policy.Max) || now.Sub(event) >= s.Delay {
		return 0
	}
	return s.Delay - now.Sub(event)
}

func (m modelTracker) inBackOffSinceUpdate(key string, at, now time.Time) bool {
	s, ok := m.keys[key]
	if !ok || m.expired(at, s.Updated, m.policy.Max) || s.Delay == 0 {
		return false
	}
	if at.Before(s.Updated) && now.Before(s.Updated) {
		return false
	}
	return at.Sub(s.Updated) < s.Delay
}

// trackerPolicies draws policies with the delays and thresholds that instants()
// hits, or of any size.
func trackerPolicies() *rapid.Generator[Policy] {
	return rapid.OneOf(policies(), rapid.SampledFrom([]Policy{
		CrashLoop(), ReducedCrashLoop(), ImagePull(), CrashLoop().WithMax(second),
		{Initial: second, Max: 300 * second, Jitter: 0.5},
		{Initial: second, Max: 10 * second, Factor: 1, Free: 2},
	}))
}

// distances draws signed durations: small ones, days, the ends of time.
func distances() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		d := rapid.OneOf(
			rapid.SampledFrom([]time.Duration{0, 1, second, 10 * second, 300 * second, 305 * second, 600 * second, 600*second + 1, 24 * time.Hour}),
			rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "d"))
			}),
		).Draw(t, "distance")
		if rapid.IntRange(0, 2).Draw(t, "back") == 0 {
			return -d
		}
		return d
	})
}

// A Tracker gives the model's answers, whatever the clock and the events do, also
// after its state went through JSON into another Tracker.
func TestTrackerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := trackerPolicies().Draw(t, "policy")
		c := fakeClock()
		flat := rapid.Bool().Draw(t, "custom expiry")
		expired := func(event, updated time.Time, max time.Duration) bool {
			return event.Sub(updated) > policy.resetAfter()
		}
		// Both sides draw the same jitter: a fixed fraction per draw.
		draw := func() func() float64 {
			i := 0
			return func() float64 { i++; return float64(i%7) / 7 }
		}
		options := Options{Clock: c, Rand: draw()}
		if flat {
			expired = func(event, updated time.Time, max time.Duration) bool { return event.Sub(updated) > max }
			options.Expired = expired
		}
		model := modelTracker{policy: policy, expired: expired, rand: draw(), keys: map[string]State{}}
		tr := newTracker(t, policy, options)
		keys := rapid.SampledFrom([]string{"a", "b", "c"})
		event := func(t *rapid.T) time.Time {
			if rapid.IntRange(0, 20).Draw(t, "zero") == 0 {
				return time.Time{}
			}
			base := c.Now()
			if s, ok := model.keys[keys.Draw(t, "of")]; ok && rapid.Bool().Draw(t, "near update") {
				base = s.Updated
			}
			return base.Add(distances().Draw(t, "event"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"next": func(t *rapid.T) {
				k, e := keys.Draw(t, "key"), event(t)
				tr.Next(k, e)
				model.next(k, e, c.Now())
			},
			"when": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				delay := tr.RateLimiter().When(k)
				model.next(k, c.Now(), c.Now())
				if want := model.keys[k]; delay != want.Delay || tr.RateLimiter().NumRequeues(k) != want.Failures {
					t.Fatalf("When: %v, %d requeues, want %v, %d", delay, tr.RateLimiter().NumRequeues(k), want.Delay, want.Failures)
				}
			},
			"reset":  func(t *rapid.T) { k := keys.Draw(t, "key"); tr.Reset(k); delete(model.keys, k) },
			"forget": func(t *rapid.T) { k := keys.Draw(t, "key"); tr.RateLimiter().Forget(k); delete(model.keys, k) },
			"step":   func(t *rapid.T) { step(c, distances().Draw(t, "step")) },
			"ask": func(t *rapid.T) {
				k, e := keys.Draw(t, "key"), event(t)
				want := model.remaining(k, e, c.Now())
				if got := tr.Remaining(k, e); got != want || got < 0 || got > tr.Get(k) {
					t.Fatalf("Remaining: %v, want %v of %v", got, want, tr.Get(k))
				}
				if got := tr.IsInBackOffSince(k, e); got != (want > 0) {
					t.Fatalf("IsInBackOffSince: %v with %v left", got, want)
				}
				if got, want := tr.IsInBackOffSinceUpdate(k, e), model.inBackOffSinceUpdate(k, e, c.Now()); got != want {
					t.Fatalf("IsInBackOffSinceUpdate: %v, want %v", got, want)
				}
			},
			"migrate": func(t *rapid.T) {
				for _, s := range model.keys {
					if s.Updated.After(c.Now()) {
						return // refused, see TestTrackerRestoreErrors
					}
				}
				o := options
				o.Clock = clocktesting.NewFakePassiveClock(c.Now().Add(distances().Draw(t, "other base")))
				other := newTracker(t, policy, o)
				o.Clock.(*clocktesting.FakePassiveClock).SetTime(c.Now())
				for k, s := range tr.All() {
					text, err := json.Marshal(s)
					if err != nil {
						t.Fatal(err)
					}
					var back State
					if err := json.Unmarshal(text, &back); err != nil {
						t.Fatal(err)
					}
					if err := other.Restore(k, back); err != nil {
						t.Fatal(err)
					}
				}
				tr, c = other, o.Clock.(*clocktesting.FakePassiveClock)
			},
			"": func(t *rapid.T) {
				all := maps.Collect(tr.All())
				if diff := cmp.Diff(model.keys, all); diff != "" {
					t.Fatal(diff)
				}
				if err := tr.entries.valid(); err != nil {
					t.Fatal(err)
				}
				if tr.Len() != len(all) {
					t.Fatalf("Len is %d of %d", tr.Len(), len(all))
				}
				for k, s := range all {
					if one, ok := tr.State(k); !ok || one != s {
						t.Fatalf("State(%s) is %v, in All %v", k, one, s)
					}
					if s.Delay < 0 || s.Delay > policy.Max || tr.Get(k) != s.Delay {
						t.Fatalf("delay %d, Get %d, maximum %d", s.Delay, tr.Get(k), policy.Max)
					}
				}
			},
		})
	})
}

// GC changes no answer of IsInBackOffSince, and no Next made within ResetAfter of
// its due time: two trackers driven as the kubelet does, one collected at random.
func TestTrackerGC(t *testing.T) {
	collected := 0
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]Policy{CrashLoop(), ReducedCrashLoop(), ImagePull(), {Initial: second, Max: 10 * second, Jitter: 0.5},
			{Initial: 1, Max: math.MaxInt64}, {Initial: second, Max: second, ResetAfter: 1}}).Draw(t, "policy")
		c := fakeClock()
		options := Options{Clock: c, Rand: func() float64 { return 0.5 }}
		plain, swept := newTracker(t, policy, options), newTracker(t, policy, options)
		running := map[string]bool{"a": true, "b": true}
		finished := map[string]time.Time{}
		keys := rapid.SampledFrom([]string{"a", "b"})
		forward := rapid.Custom(func(t *rapid.T) time.Duration { return distances().Draw(t, "step").Abs() })
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
				if c.Now().Sub(due) > policy.resetAfter() {
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
	if collected == 0 {
		t.Error("nothing was ever collected")
	}
}

// GC keeps what client-go's forgets: a container that runs 305 s and crashes. It
// keeps an entry for its delay and twice ResetAfter, to the nanosecond.
func TestTrackerGCKeeps(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, CrashLoop(), Options{Clock: c})
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
		tr.Restore("a", State{Failures: n + 1, Updated: c.Now()})
	}
	for _, custom := range []bool{false, true} {
		o := Options{Clock: c}
		if custom {
			o.Expired = func(event, updated time.Time, max time.Duration) bool { return event.Sub(updated) > 600*second }
		}
		tr := newTracker(t, CrashLoop(), o)
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
func TestTrackerIsTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]Policy{CrashLoop(), ReducedCrashLoop(), CrashLoop().WithMax(second),
			{Initial: second, Max: 300 * second, Factor: 1.5, Free: 2}}).Draw(t, "policy")
		runs := rapid.SliceOfN(rapid.SampledFrom(seconds(0, 0, 0, 1, 300, 305, 599, 600, 601, 10_000)), 1, 40).Draw(t, "runs")
		c := fakeClock()
		tr := newTracker(t, policy, Options{Clock: c})
		later := policy
		later.Free++
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

// Whatever the clock does, a key is free again once the clock has run for its
// delay without another step.
func TestTrackerClockSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]Policy{CrashLoop(), ReducedCrashLoop()}).Draw(t, "policy")
		c := fakeClock()
		tr := newTracker(t, policy, Options{Clock: c})
		for range rapid.IntRange(1, 10).Draw(t, "failures") {
			step(c, distances().Draw(t, "before"))
			tr.Next("a", c.Now().Add(distances().Draw(t, "event")))
		}
		step(c, rapid.SampledFrom([]time.Duration{-24 * time.Hour, 24 * time.Hour, -second, second, 0}).Draw(t, "step"))
		asked := c.Now()
		event := asked.Add(distances().Draw(t, "asked event"))
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

// Under another policy a restored delay is that policy's.
func TestTrackerRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		from := newTracker(t, policies().Draw(t, "from"), Options{Clock: c})
		policy := policies().Draw(t, "to")
		for range rapid.IntRange(1, 20).Draw(t, "failures") {
			from.Next("a", c.Now())
		}
		s, _ := from.State("a")
		to := newTracker(t, policy, Options{Clock: c})
		if err := to.Restore("a", s); err != nil {
			t.Fatal(err)
		}
		got, ok := to.State("a")
		nominal := policy.Delay(s.Failures)
		if !ok || got.Failures != s.Failures || !got.Updated.Equal(s.Updated) || got.Delay > policy.Max ||
			got.Delay != nominal && (policy.Jitter == 0 || got.Delay != s.Delay || got.Delay > nominal) {
			t.Fatalf("%+v restored as %+v", s, got)
		}
	})
}

func TestTrackerRestoreErrors(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, CrashLoop(), Options{Clock: c})
	good := State{Failures: 1, Delay: 10 * second, Updated: t0}
	for want, change := range map[string]func(*State){
		"failures: invalid value 0: must be >= 1":                            func(s *State) { s.Failures = 0 },
		"failures: invalid value -1: must be >= 1":                           func(s *State) { s.Failures = -1 },
		"delay: invalid value -1ns: must be >= 0":                            func(s *State) { s.Delay = -1 },
		"updated: invalid value " + t0.Add(1).String() + ": must be at most": func(s *State) { s.Updated = t0.Add(1) },
		"updated: invalid value 0001-01-01":                                  func(s *State) { s.Updated = time.Time{} },
		"updated: invalid value 9999-12-31":                                  func(s *State) { s.Updated = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) },
	} {
		s := good
		change(&s)
		err := tr.Restore("some/key", s)
		if err == nil || !strings.HasPrefix(err.Error(), `backoff: Tracker.Restore("some/key"): `+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if tr.Len() != 0 {
		t.Error("a refused state was kept")
	}
	err := tr.Restore("a", State{Failures: -1, Delay: -1, Updated: t0.Add(1)})
	if got, want := fieldsOf(err), []string{"failures", "delay", "updated"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	if err := tr.Restore("a", good); err != nil {
		t.Error(err)
	}
}

func TestNewTrackerErrors(t *testing.T) {
	if tr, err := NewTracker[string](Policy{Initial: -1}, Options{}); tr != nil || err == nil || err.Error() != "backoff: NewTracker: Initial: invalid value -1ns: must be > 0" {
		t.Errorf("%v, %v", tr, err)
	}
}

// All holds no lock while it yields, and meets every entry that stays.
func TestTrackerAllWhileChanging(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, CrashLoop(), Options{Clock: c})
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

// Concurrent use ends as one lock around a map would: every failure of a key is
// counted once, and readers see states that were.
func TestTrackerConcurrent(t *testing.T) {
	c := fakeClock()
	policy := Policy{Initial: 1, Max: math.MaxInt64, Free: 0}
	tr := newTracker(t, policy, Options{Clock: c})
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

// Hot calls allocate nothing once a key is known.
func TestTrackerAllocs(t *testing.T) {
	tr := newTracker(t, Policy{Initial: second, Max: minute, Jitter: 0.5}, Options{})
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
func TestTrackerKeys(t *testing.T) {
	type pod struct {
		namespace string
		index     int
	}
	tr, err := NewTracker[any](CrashLoop(), Options{Clock: fakeClock()})
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
