package backoff_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/rapidseed"
	"pgregory.net/rapid"
)

func newRestarter(t interface{ Fatal(...any) }, p backoff.Policy, o backoff.RestarterOptions[string]) *backoff.Restarter[string] {
	r, err := backoff.NewRestarter(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// crash is an exit that has just finished after running for ran.
func crash(run int64, now time.Time, ran time.Duration) backoff.Exit {
	return backoff.Exit{Run: run, Code: 1, Started: now.Add(-ran), Finished: now}
}

// A history with named instants.
func TestRestarterWaitsAsDecided(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	always := backoff.ExitPolicy{}
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	check := func(what string, got, want backoff.Decision, left time.Duration) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if r := r.Remaining("a"); r != left {
			t.Errorf("%s: remaining %v, want %v", what, r, left)
		}
	}
	restart := func(delay time.Duration, notBefore time.Duration, failures int) backoff.Decision {
		return backoff.Decision{Action: backoff.ActionRestart, Delay: delay, NotBefore: at(notBefore), Failures: failures, Rule: -1}
	}
	first := crash(1, at(0), second)
	check("t0: first crash", r.Exited("a", always, first), restart(10*second, 10*second, 1), 10*second)
	step(c, 4*second)
	check("t4: reported again", r.Exited("a", always, first), restart(10*second, 10*second, 1), 6*second)
	step(c, 10*second)
	second2 := crash(2, at(12*second), 2*second)
	check("t14: a crash at t12", r.Exited("a", always, second2), restart(20*second, 32*second, 2), 18*second)
	check("t14: the first again", r.Exited("a", always, first), restart(20*second, 32*second, 2), 18*second)
	step(c, -24*time.Hour)
	check("set back a day", r.Exited("a", always, second2), restart(20*second, 32*second, 2), 18*second)
	step(c, 10*second)
	check("10s later", r.Exited("a", always, second2), restart(20*second, 32*second, 2), 8*second)
	c.SetTime(at(40 * second))
	check("t40: set right", r.Exited("a", always, second2), restart(20*second, 32*second, 2), 0)
	c.SetTime(at(700 * second))
	check("t700: a run of ResetAfter", r.Exited("a", always, crash(3, c.Now(), 600*second)), restart(40*second, 740*second, 3), 40*second)
	woken, ok := r.RestartNow("a")
	if !ok {
		t.Error("nothing to wake")
	}
	check("t700: woken", woken, restart(0, 700*second, 3), 0)
	check("t700: reported again", r.Exited("a", always, crash(3, c.Now(), 600*second)), restart(0, 700*second, 3), 0)
	step(c, 601*second)
	check("t1301: a longer run", r.Exited("a", always, crash(4, c.Now(), 600*second+1)), restart(10*second, 1311*second, 1), 10*second)
	future := crash(5, at(5000*second), second)
	check("t1301: an exit at t5000", r.Exited("a", always, future), restart(20*second, 1321*second, 2), 20*second)
	stop := backoff.Decision{Action: backoff.ActionStop, Failures: 2, Rule: -1}
	check("success", r.Exited("a", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}, backoff.Exit{Run: 6, Finished: c.Now()}), stop, 0)
	if d, ok := r.RestartNow("a"); ok {
		t.Errorf("woke %v", d)
	}
	r.Reset("a")
	if d, ok := r.RestartNow("a"); ok || r.Len() != 0 || r.Remaining("a") != 0 {
		t.Errorf("after Reset: woke %v, %d keys, remaining %v", d, r.Len(), r.Remaining("a"))
	}
}

// A Restarter driven by a fake clock restarts at the instants of the Timeline.
func TestRestarterFollowsTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.CrashLoop().WithMax(second),
			{Initial: second, Max: 300 * second, Factor: 1.5, FreeFailures: 2}}).Draw(t, "policy")
		runs := rapid.SliceOfN(rapid.SampledFrom(seconds(0, 0, 0, 1, 300, 305, 599, 600, 601, 10_000)), 1, 40).Draw(t, "runs")
		c := fakeClock()
		r := newRestarter(t, policy, backoff.RestarterOptions[string]{Clock: c})
		n := 0
		for want := range policy.Timeline(func(n int) time.Duration { return runs[n-1] }) {
			started := c.Now()
			step(c, runs[n])
			d := r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: int64(n), Code: int32(n % 2), Started: started, Finished: c.Now()})
			r.GC()
			step(c, r.Remaining("a"))
			if got := c.Now().Sub(t0); got != want || !d.NotBefore.Equal(c.Now()) {
				t.Fatalf("restart %d at %v (%v), want %v", n+1, got, d, want)
			}
			if n++; n == len(runs) {
				break
			}
		}
	})
}

// Restarts keep to the Rate under any exits, waits, RestartNow, Reset and Restore.
func TestRestartsKeepToRate(t *testing.T) {
	started := 0
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		burst := rapid.IntRange(0, 3).Draw(t, "burst")
		options := backoff.RestarterOptions[string]{Clock: c, Rate: 0.1, Burst: burst}
		policy := rapid.SampledFrom([]backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), {Initial: 1, Max: 1, FreeFailures: 3}}).Draw(t, "policy")
		r := newRestarter(t, policy, options)
		var restarts []time.Duration
		pending := map[string]backoff.Decision{} // decided, not seen to start yet
		runs := map[string]int64{}
		keys := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		settle := func() {
			for key, d := range pending {
				if !d.NotBefore.After(c.Now()) {
					restarts = append(restarts, d.NotBefore.Sub(t0))
					started++
					delete(pending, key)
				}
			}
		}
		check := func(t *rapid.T, key string, d backoff.Decision, least time.Time) {
			left := d.NotBefore.Sub(c.Now())
			if d.NotBefore.Before(least) || r.Remaining(key) != left || left > d.Delay {
				t.Fatalf("%s: %+v at %v, remaining %v", key, d, c.Now(), r.Remaining(key))
			}
			pending[key] = d
		}
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) { step(c, seconds(rapid.IntRange(0, 60).Draw(t, "by"))[0]); settle() },
			"exit": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				delete(pending, key)
				runs[key]++
				e := crash(runs[key], c.Now().Add(-seconds(rapid.IntRange(0, 30).Draw(t, "reported late"))[0]), 0)
				d := r.Exited(key, backoff.ExitPolicy{}, e)
				check(t, key, d, c.Now())
				if d != r.Exited(key, backoff.ExitPolicy{}, e) {
					t.Fatal("not idempotent")
				}
			},
			"wake": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if was, ok := pending[key]; ok {
					d, ok := r.RestartNow(key)
					if !ok || d.NotBefore.After(was.NotBefore) {
						t.Fatalf("%v woken to %v", was, d)
					}
					check(t, key, d, c.Now())
				}
			},
			"reset": func(t *rapid.T) { key := keys.Draw(t, "key"); r.Reset(key); delete(pending, key) },
			"kill": func(t *rapid.T) {
				settle()
				other := newRestarter(t, policy, options)
				for key, s := range r.All() {
					if err := other.Restore(key, s); err != nil {
						t.Fatal(err)
					}
					if _, ok := pending[key]; ok {
						again, _ := other.State(key)
						pending[key] = again.Decision
					}
				}
				r, restarts = other, nil // a process has its own bucket
			},
			"": func(t *rapid.T) {
				settle()
				if !backoff.KeepsRate(restarts, 10*second, max(burst, 1)) {
					t.Fatalf("restarts at %v break the rate", restarts)
				}
			},
		})
	})
	if started == 0 && rapidseed.Fixed() {
		t.Error("nothing was ever restarted")
	}
}

// Each exit draws a new Delay, from the option Rand or the default.
func TestEachExitDrawsItsDelay(t *testing.T) {
	policy := backoff.Policy{Initial: 8 * second, Max: 8 * second, Jitter: 0.5}
	draw := 0.0
	given := newRestarter(t, policy, backoff.RestarterOptions[string]{Rand: func() float64 { draw += 0.25; return draw }})
	own := newRestarter(t, policy, backoff.RestarterOptions[string]{})
	for i, want := range seconds(7, 6, 5) {
		run := i + 1
		e := backoff.Exit{Run: int64(run), Code: 1}
		if d := given.Exited("a", backoff.ExitPolicy{}, e); d.Delay != want {
			t.Errorf("run %d: %+v, want %v", run, d, want)
		}
		if d := own.Exited("a", backoff.ExitPolicy{}, e); d.Delay <= 4*second || d.Delay > 8*second {
			t.Errorf("run %d: %+v", run, d)
		}
	}
}

// A Rate that is not used up changes no Delay and no wait, including those of exits
// reported late or when their restart is due.
func TestUnusedRateChangesNoWait(t *testing.T) {
	for _, late := range seconds(0, 4, 10, 3600) {
		c := fakeClock()
		free := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
		rated := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1})
		e := crash(1, c.Now().Add(-late), 0)
		want, got := free.Exited("a", backoff.ExitPolicy{}, e), rated.Exited("a", backoff.ExitPolicy{}, e)
		if got.Delay != want.Delay || rated.Remaining("a") != free.Remaining("a") {
			t.Errorf("reported %v late: %+v, remaining %v, want %+v, %v", late, got, rated.Remaining("a"), want, free.Remaining("a"))
		}
		if due := c.Now().Add(free.Remaining("a")); !got.NotBefore.Equal(due) {
			t.Errorf("reported %v late: not before %v, want %v", late, got.NotBefore, due)
		}
	}
}

// Under a Rate, waits stay within their Delay and end even if the clock jumps.
func TestClockStepsEndWaitsUnderRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		r := newRestarter(t, backoff.ReducedCrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1, Burst: 2})
		keys := []string{"a", "b", "c", "d"}
		delays := map[string]time.Duration{}
		for run := range rapid.IntRange(1, 10).Draw(t, "rounds") {
			for _, key := range keys {
				step(c, backoff.Distances().Draw(t, "step"))
				delays[key] = r.Exited(key, backoff.ExitPolicy{}, crash(int64(run+1), c.Now().Add(backoff.Distances().Draw(t, "finished")), 0)).Delay
			}
		}
		step(c, rapid.SampledFrom([]time.Duration{-24 * time.Hour, 24 * time.Hour, 0}).Draw(t, "last step"))
		for _, key := range keys {
			for waited := time.Duration(0); r.Remaining(key) > 0; waited += second {
				if left := r.Remaining(key); left > delays[key] || waited > delays[key] {
					t.Fatalf("%s: %v left after %v of %v", key, left, waited, delays[key])
				}
				step(c, second)
			}
		}
	})
}

// At most Limit restarts are decided within Window, and restarts are allowed again
// after it.
func TestRestartsKeepToLimit(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.Policy{Initial: second, Max: second}, backoff.RestarterOptions[string]{Clock: c, Limit: 3, Window: minute})
	var got []backoff.Action
	for run := range int64(20) {
		got = append(got, r.Exited("a", backoff.ExitPolicy{}, crash(run+1, c.Now(), 0)).Action)
		step(c, 6*second)
	}
	var want []backoff.Action
	for i := range 20 {
		if i%10 < 3 {
			want = append(want, backoff.ActionRestart)
		} else {
			want = append(want, backoff.ActionGiveUp)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// For ever; RestartAll counts, Stop does not, other keys have their own.
	r = newRestarter(t, backoff.Policy{Initial: second, Max: second}, backoff.RestarterOptions[string]{Clock: c, Limit: 2})
	all := backoff.ExitPolicy{RestartPolicy: "Never", Rules: []backoff.Rule{{Action: backoff.ActionRestartAll, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{1}}}}}
	got = nil
	for run, code := range []int32{1, 2, 1, 1, 2, 1} {
		got = append(got, r.Exited("a", all, backoff.Exit{Run: int64(run + 1), Code: code}).Action)
		step(c, 1000*time.Hour)
	}
	if want := []backoff.Action{backoff.ActionRestartAll, backoff.ActionStop, backoff.ActionRestartAll, backoff.ActionGiveUp, backoff.ActionStop, backoff.ActionGiveUp}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if d := r.Exited("b", all, backoff.Exit{Run: 1, Code: 1}); d.Action != backoff.ActionRestartAll {
		t.Errorf("another key: %v", d)
	}
}

// PolicyFor decides per key and outcome. After a zero or invalid Policy, the
// Restarter's applies, and the Decision reports an invalid one. All share one count.
func TestPolicyForDecidesPerOutcome(t *testing.T) {
	c := fakeClock()
	fast := backoff.Policy{Initial: 2 * second, Max: 4 * second}
	of := map[string]backoff.Policy{"fast": fast, "zero": {}, "NaN": fast, "shrinking": fast, "negative": fast}
	for name, change := range map[string]func(*backoff.Policy){
		"NaN":       func(p *backoff.Policy) { p.Jitter = math.NaN() },
		"shrinking": func(p *backoff.Policy) { p.Factor = 0.5 },
		"negative":  func(p *backoff.Policy) { p.ResetAfter = -1 },
	} {
		p := of[name]
		change(&p)
		of[name] = p
	}
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, PolicyFor: func(_ string, e backoff.Exit) backoff.Policy { return of[e.Reason] }})
	run := int64(0)
	for _, tt := range []struct {
		reason string
		want   time.Duration
	}{{"fast", 2 * second}, {"zero", 20 * second}, {"NaN", 40 * second}, {"shrinking", 80 * second}, {"negative", 160 * second}, {"fast", 4 * second}, {"unknown", 300 * second}} {
		run++
		if d := r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: run, Code: 1, Reason: tt.reason, Finished: c.Now()}); d.Delay != tt.want || d.Failures != int(run) || d.PolicyInvalid != (of[tt.reason].Validate() != nil && of[tt.reason] != backoff.Policy{}) {
			t.Errorf("%s: %+v, want %v", tt.reason, d, tt.want)
		}
	}
}

func TestRestarterAllEndsWhenItsLoopDoes(t *testing.T) {
	r, err := backoff.NewRestarter[string](backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		r.Exited(fmt.Sprint("key", i), backoff.ExitPolicy{}, backoff.Exit{Code: 1})
	}
	seen := 0
	for range r.All() {
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("%d keys", seen)
	}
}

// GC drops a key twice the longest ResetAfter after its restart was due and its exit
// was last reported, and not before Window has passed.
func TestRestarterGCDropsKeysOnTime(t *testing.T) {
	never := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever}
	long := backoff.Policy{Initial: second, Max: second, ResetAfter: time.Hour}
	for _, tt := range []struct {
		name      string
		options   backoff.RestarterOptions[string]
		container backoff.ExitPolicy
		keep      time.Duration
	}{
		{"restarted", backoff.RestarterOptions[string]{}, backoff.ExitPolicy{}, 10*second + 20*minute},
		{"a policy with a longer reset", backoff.RestarterOptions[string]{PolicyFor: func(string, backoff.Exit) backoff.Policy { return long }}, backoff.ExitPolicy{}, second + 2*time.Hour},
		{"stopped", backoff.RestarterOptions[string]{}, never, 20 * minute},
		{"within a window", backoff.RestarterOptions[string]{Limit: 1, Window: time.Hour}, never, time.Hour},
	} {
		c := fakeClock()
		o := tt.options
		o.Clock = c
		r := newRestarter(t, backoff.CrashLoop(), o)
		e := crash(1, c.Now(), 0)
		r.Exited("a", tt.container, e)
		step(c, tt.keep)
		if n := r.GC(); n != 0 {
			t.Errorf("%s: %d dropped too early", tt.name, n)
		}
		step(c, 1)
		if n := r.GC(); n != 1 || r.Len() != 0 {
			t.Errorf("%s: %d dropped, %d left", tt.name, n, r.Len())
		}
	}
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Limit: 1})
	e := crash(2, c.Now(), 0)
	r.Exited("given up", backoff.ExitPolicy{}, crash(1, c.Now(), 0))
	r.Exited("given up", backoff.ExitPolicy{}, e)
	step(c, 1000*time.Hour)
	if r.GC(); r.Exited("given up", backoff.ExitPolicy{}, e).Action != backoff.ActionGiveUp {
		t.Error("a limit for ever was forgotten")
	}
	// An exit that is reported again and again stays known.
	for _, container := range []backoff.ExitPolicy{never, {}} {
		r = newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
		want := r.Exited("a", container, e)
		for range 10 {
			step(c, 15*minute)
			if n := r.GC(); n != 0 {
				t.Error("dropped while it is reported")
			}
			if d := r.Exited("a", container, e); d != want {
				t.Errorf("decided anew: %+v", d)
			}
		}
	}
	// An exit reported long after it happened is not dropped at once.
	r.Exited("late", backoff.ExitPolicy{}, crash(1, c.Now().Add(-100*time.Hour), 0))
	if n := r.GC(); n != 0 {
		t.Error("dropped before its restart")
	}
}

func TestNewRestarterErrorsNameEachField(t *testing.T) {
	for want, o := range map[string]backoff.RestarterOptions[string]{
		"Limit: invalid value -1: must be >= 0":   {Limit: -1},
		"Window: invalid value -1s: must be >= 0": {Window: -second},
		"Rate: invalid value -1: must be >= 0":    {Rate: -1},
		"Rate: invalid value NaN: must be >= 0":   {Rate: math.NaN()},
		"Rate: invalid value +Inf: must be >= 0":  {Rate: math.Inf(1)},
		"Burst: invalid value -1: must be >= 0":   {Burst: -1},

		"Window: invalid value 1s: must be 0 without a Limit": {Window: second},
		"Burst: invalid value 1: must be 0 without a Rate":    {Burst: 1},
	} {
		r, err := backoff.NewRestarter(backoff.CrashLoop(), o)
		if r != nil || err == nil || !strings.HasPrefix(err.Error(), "backoff: NewRestarter: "+want) || !slices.Equal(fieldsOf(err), fieldsOf(o.Validate())) {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, err := backoff.NewRestarter(backoff.Policy{Factor: -1}, backoff.RestarterOptions[string]{Limit: -1, Burst: 3})
	if got, want := fieldsOf(err), []string{"Initial", "Factor", "Limit", "Burst"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

// Concurrent callers get the results of a single lock, and every exit is decided once.
func TestConcurrentExitsCountOnce(t *testing.T) {
	c := fakeClock()
	policy := backoff.Policy{Initial: 1, Max: math.MaxInt64}
	r := newRestarter(t, policy, backoff.RestarterOptions[string]{Clock: c, Rate: 1000, Burst: 10})
	const goroutines, runs = 8, 200
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for run := range int64(runs) {
				d := r.Exited("shared", backoff.ExitPolicy{}, crash(run+1, c.Now(), 0))
				if d.Failures < int(run) {
					t.Errorf("run %d: %+v", run, d)
				}
				own := fmt.Sprint(g)
				r.Exited(own, backoff.ExitPolicy{}, crash(run+1, c.Now(), 0))
				r.RestartNow(own)
				r.Remaining(own)
				if run%50 == 0 {
					r.GC()
					for range r.All() {
						r.Len()
					}
				}
			}
		})
	}
	wg.Wait()
	for key, s := range r.All() {
		if s.Decision.Failures != runs {
			t.Errorf("%s: %d failures", key, s.Decision.Failures)
		}
	}
	if n := r.Len(); n != goroutines+1 {
		t.Errorf("%d keys", n)
	}
	if n := r.Turns(); n > goroutines+1+goroutines*runs {
		t.Errorf("%d booked", n)
	}
}

// Callers continue while the origin of steady times moves.
func TestOriginMovesUnderConcurrentCalls(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1000, Burst: 10, Limit: 1000, Window: time.Hour})
	var callers sync.WaitGroup
	for g := range 4 {
		callers.Go(func() {
			key := fmt.Sprint(g)
			for run := range int64(300) {
				d := r.Exited(key, backoff.ExitPolicy{}, backoff.Exit{Run: run + 1, Code: 1})
				if left := r.Remaining(key); d.Failures != int(run+1) || left < 0 || left > d.Delay {
					t.Errorf("run %d: %+v, %v left", run, d, left)
				}
				r.RestartNow(key)
				r.State(key)
				if g == 0 {
					c.SetTime(t0.Add(time.Duration(run%2) * 60 * year))
				}
			}
		})
	}
	callers.Wait()
}

// Deciding about a known key allocates nothing.
func TestExitOfKnownKeyDoesNotAllocate(t *testing.T) {
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Limit: 5, Window: minute, PolicyFor: modelPolicies})
	c := backoff.ExitPolicy{Rules: []backoff.Rule{{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{42}}}}}
	e := crash(0, time.Now(), second)
	for e.Run < 10 {
		e.Run++
		r.Exited("a", c, e)
	}
	rated := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Rate: 1e-6})
	for name, call := range map[string]func(){
		"Exited":       func() { e.Run++; r.Exited("a", c, e) },
		"under Rate":   func() { e.Run++; rated.Exited("a", c, e); rated.RestartNow("a") },
		"Exited again": func() { r.Exited("a", c, e) },
		"Remaining":    func() { r.Remaining("a") },
		"RestartNow":   func() { r.RestartNow("a") },
		"Len":          func() { r.Len() },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// Restarts of all containers wait along the same curve as others. (KEP-5532, Unintended
// Pod Restart Loops)
func TestRestartAllContainersBacksOff(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	all := backoff.ExitPolicy{Rules: []backoff.Rule{{Action: backoff.ActionRestartAll, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{1}}}}}
	for i, want := range []time.Duration{10 * second, 20 * second, 40 * second} {
		d := r.Exited("a", all, crash(int64(i+1), c.Now(), second))
		if d.Action != backoff.ActionRestartAll || d.Delay != want || r.Remaining("a") != want {
			t.Errorf("exit %d: %s after %v, %v left; want %s after %v", i+1, d.Action, d.Delay, r.Remaining("a"), backoff.ActionRestartAll, want)
		}
		step(c, want+second)
	}
}
