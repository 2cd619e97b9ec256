package backoff

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

func newRestarter(t interface{ Fatal(...any) }, p Policy, o RestarterOptions[string]) *Restarter[string] {
	r, err := NewRestarter(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// crash is an exit that has just finished after running for ran.
func crash(run int64, now time.Time, ran time.Duration) Exit {
	return Exit{Run: run, Code: 1, Started: now.Add(-ran), Finished: now}
}

// A history with named instants.
func TestRestarterHistory(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c})
	always := ContainerPolicy{}
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	check := func(what string, got, want Decision, left time.Duration) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if r := r.Remaining("a"); r != left {
			t.Errorf("%s: remaining %v, want %v", what, r, left)
		}
	}
	restart := func(delay time.Duration, notBefore time.Duration, failures int) Decision {
		return Decision{Action: Restart, Delay: delay, NotBefore: at(notBefore), Failures: failures, Rule: -1}
	}
	first := crash(1, at(0), second)
	check("t0: first crash", r.Exited("a", always, first), restart(10*second, 10*second, 1), 10*second)
	step(c, 4*second)
	check("t4: told again", r.Exited("a", always, first), restart(10*second, 10*second, 1), 6*second)
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
	woken, ok := r.Wake("a")
	if !ok {
		t.Error("nothing to wake")
	}
	check("t700: woken", woken, restart(0, 700*second, 3), 0)
	check("t700: told again", r.Exited("a", always, crash(3, c.Now(), 600*second)), restart(0, 700*second, 3), 0)
	step(c, 601*second)
	check("t1301: a longer run", r.Exited("a", always, crash(4, c.Now(), 600*second+1)), restart(10*second, 1311*second, 1), 10*second)
	future := crash(5, at(5000*second), second)
	check("t1301: an exit at t5000", r.Exited("a", always, future), restart(20*second, 1321*second, 2), 20*second)
	stop := Decision{Action: Stop, Failures: 2, Rule: -1}
	check("success", r.Exited("a", ContainerPolicy{RestartPolicy: RestartPolicyOnFailure}, Exit{Run: 6, Finished: c.Now()}), stop, 0)
	if d, ok := r.Wake("a"); ok {
		t.Errorf("woke %v", d)
	}
	r.Reset("a")
	if d, ok := r.Wake("a"); ok || r.Len() != 0 || r.Remaining("a") != 0 {
		t.Errorf("after Reset: woke %v, %d keys, remaining %v", d, r.Len(), r.Remaining("a"))
	}
}

// modelRestarter is the rules of a Restarter without a Rate, spelled out. Its time
// is the sum of the clock's steps forward.
type modelRestarter struct {
	policy    Policy
	policyFor func(key string, e Exit) Policy
	limit     int
	window    time.Duration
	clock     *clocktesting.FakePassiveClock
	steady    time.Duration
	keys      map[string]*modelRecord
}

type modelRecord struct {
	last     Exit
	ended    time.Time // when last finished, or was told if it did not say
	decision Decision
	due      time.Duration
	recent   []time.Duration
}

func (m *modelRestarter) step(d time.Duration) {
	step(m.clock, d)
	m.steady += max(d, 0)
}

func (m *modelRestarter) exited(key string, c ContainerPolicy, e Exit) Decision {
	now := m.clock.Now()
	rec := m.keys[key]
	if rec != nil && !rec.isNew(e) {
		return rec.decision
	}
	if rec == nil {
		rec = &modelRecord{}
		m.keys[key] = rec
	}
	policy := m.policyFor(key, e)
	invalid := policy != Policy{} && policy.Validate() != nil
	if policy.Validate() != nil {
		policy = m.policy
	}
	if e.Finished.IsZero() {
		e.Finished = now
	}
	action, rule := c.Decide(e.Code)
	restarts := action == Restart || action == RestartAll
	d := Decision{Action: action, Rule: rule, Failures: rec.decision.Failures, PolicyInvalid: invalid}
	if !e.Started.IsZero() && e.Finished.Sub(e.Started) > policy.resetAfter() {
		d.Failures = 0
	}
	if restarts || e.Code != 0 {
		d.Failures++
	}
	if restarts && m.limit > 0 {
		allowed := 0
		for _, at := range rec.recent {
			if m.window == 0 || m.steady-at < m.window {
				allowed++
			}
		}
		if allowed >= m.limit {
			d.Action = GiveUp
		} else {
			rec.recent = append(rec.recent, m.steady)
		}
	}
	if d.Action == Restart || d.Action == RestartAll {
		finished := e.Finished
		if finished.After(now) {
			finished = now
		}
		d.Delay = policy.Delay(d.Failures)
		d.NotBefore = finished.Add(d.Delay)
		rec.due = m.steady + max(d.NotBefore.Sub(now), 0)
	}
	rec.last, rec.ended, rec.decision = e, e.Finished, d
	return d
}

// isNew weighs what an exit says of itself, one piece after the other.
func (r *modelRecord) isNew(e Exit) bool {
	saysRun, saysFinished := e.Run != 0, !e.Finished.IsZero()
	if !saysRun && !saysFinished {
		return true // nothing to know it again by
	}
	if saysRun && e.Run == r.last.Run {
		return false
	}
	if e.Run > r.last.Run {
		return true // one more run, whatever the clock showed
	}
	if e.Run == 0 && r.last.Run == 0 {
		return !e.Finished.Equal(r.ended)
	}
	// The counter has gone back: over from the start if this one ended later.
	return saysFinished && e.Finished.After(r.ended)
}

func (m *modelRestarter) remaining(key string) time.Duration {
	rec := m.keys[key]
	if rec == nil || rec.decision.Action == Stop || rec.decision.Action == GiveUp {
		return 0
	}
	return min(max(rec.due-m.steady, 0), rec.decision.Delay)
}

// modelPolicies are per outcome: OOMKilled restarts fast, "flat" is a sidecar's,
// Evicted's is invalid.
func modelPolicies(key string, e Exit) Policy {
	switch {
	case e.Reason == "OOMKilled":
		return Policy{Initial: second, Max: second, ResetAfter: minute}
	case e.Reason == "Evicted":
		return Policy{Initial: minute, Max: second}
	case key == "flat":
		return Policy{Initial: 2 * second, Max: 10 * second, Factor: 1, Free: 1}
	}
	return Policy{} // the Restarter's
}

// A Restarter takes the model's decisions, whatever the clock, the exits and
// restarts of the process do.
func TestRestarterModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]Policy{CrashLoop(), ReducedCrashLoop(), CrashLoop().WithMax(second)}).Draw(t, "policy")
		c := fakeClock()
		options := RestarterOptions[string]{
			Clock: c, PolicyFor: modelPolicies,
			Limit: rapid.IntRange(0, 4).Draw(t, "limit"),
		}
		if options.Limit > 0 {
			options.Window = rapid.SampledFrom([]time.Duration{0, second, 10 * minute, 24 * time.Hour}).Draw(t, "window")
		}
		m := &modelRestarter{policy: policy, policyFor: modelPolicies, limit: options.Limit, window: options.Window,
			clock: c, keys: map[string]*modelRecord{}}
		r := newRestarter(t, policy, options)
		keys := rapid.SampledFrom([]string{"a", "b", "flat"})
		runs := map[string]int64{}
		var sent []func() // every exit so far, to be told again
		t.Repeat(map[string]func(*rapid.T){
			"exit": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				runs[key]++
				e := Exit{Run: runs[key], Code: codes().Draw(t, "code"), Reason: rapid.SampledFrom([]string{"Error", "OOMKilled", "Evicted"}).Draw(t, "reason"),
					Finished: c.Now().Add(distances().Draw(t, "finished"))}
				if rapid.Bool().Draw(t, "started") {
					e.Started = e.Finished.Add(-distances().Draw(t, "ran"))
				}
				if rapid.IntRange(0, 3).Draw(t, "run?") == 0 {
					e.Run = 0
				}
				if rapid.IntRange(0, 3).Draw(t, "finished?") == 0 {
					e.Finished = time.Time{}
				}
				p := containerPolicies().Draw(t, "container")
				tell := func() {
					want := m.exited(key, p, e)
					got := r.Exited(key, p, e)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("%s: %+v: %s", key, e, diff)
					}
					if got.Why(p, e) == "" {
						t.Fatal("no reason given")
					}
				}
				if tell(); e.Run != 0 {
					sent = append(sent, tell)
				}
			},
			"told again": func(t *rapid.T) {
				if len(sent) > 0 {
					rapid.SampledFrom(sent).Draw(t, "exit")()
				}
			},
			"counter starts over": func(t *rapid.T) { delete(runs, keys.Draw(t, "key")) },
			"step":                func(t *rapid.T) { m.step(distances().Draw(t, "by")) },
			"wake": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				rec := m.keys[key]
				want := rec != nil && rec.decision.Action != Stop && rec.decision.Action != GiveUp
				if want && rec.due > m.steady {
					rec.due, rec.decision.Delay, rec.decision.NotBefore = m.steady, 0, c.Now()
				}
				got, ok := r.Wake(key)
				if ok != want || ok && !cmp.Equal(got, rec.decision) {
					t.Fatalf("woke %v %v", got, ok)
				}
			},
			"reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				r.Reset(key)
				delete(m.keys, key)
			},
			"gc": func(t *rapid.T) {
				r.GC()
				for key := range m.keys {
					if _, ok := r.State(key); !ok { // see TestRestarterGC for which
						delete(m.keys, key)
					}
				}
			},
			"kill": func(t *rapid.T) {
				other := newRestarter(t, policy, options)
				for key, s := range r.All() {
					text, err := json.Marshal(s)
					if err != nil {
						t.Fatal(err)
					}
					var back RestarterState
					if err := json.Unmarshal(text, &back); err != nil {
						t.Fatal(err)
					}
					if err := other.Restore(key, back); err != nil {
						t.Fatal(err)
					}
					again, _ := other.State(key)
					if diff := cmp.Diff(s, again, cmpopts.EquateEmpty()); diff != "" {
						t.Fatal(diff)
					}
					// What lay in the future was held to the clock; from here on NotBefore counts.
					rec := m.keys[key]
					rec.last, rec.ended, rec.decision.NotBefore = back.Last, back.Last.Finished, back.Decision.NotBefore
					rec.due = m.steady + back.Decision.NotBefore.Sub(c.Now())
				}
				r = other
			},
			"": func(t *rapid.T) {
				if r.Len() != len(m.keys) {
					t.Fatalf("%d keys, want %d", r.Len(), len(m.keys))
				}
				for key, rec := range m.keys {
					if got, want := r.Remaining(key), m.remaining(key); got != want {
						t.Fatalf("%s: remaining %v, want %v", key, got, want)
					}
					s, _ := r.State(key)
					if s.Failures != rec.decision.Failures || len(s.Recent) > options.Limit {
						t.Fatalf("%s: state %+v", key, s)
					}
					if err := s.validate(c.Now()).Err(); err != nil {
						t.Fatalf("%s: %v", key, err)
					}
				}
			},
		})
	})
}

// A Restarter driven by a fake clock restarts at the instants of the Timeline.
func TestRestarterIsTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]Policy{CrashLoop(), ReducedCrashLoop(), CrashLoop().WithMax(second),
			{Initial: second, Max: 300 * second, Factor: 1.5, Free: 2}}).Draw(t, "policy")
		runs := rapid.SliceOfN(rapid.SampledFrom(seconds(0, 0, 0, 1, 300, 305, 599, 600, 601, 10_000)), 1, 40).Draw(t, "runs")
		c := fakeClock()
		r := newRestarter(t, policy, RestarterOptions[string]{Clock: c})
		n := 0
		for want := range policy.Timeline(func(n int) time.Duration { return runs[n-1] }) {
			started := c.Now()
			step(c, runs[n])
			d := r.Exited("a", ContainerPolicy{}, Exit{Run: int64(n), Code: int32(n % 2), Started: started, Finished: c.Now()})
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

// Under a Rate, restarts keep to it, whoever exits, waits, is woken, reset or
// restored.
func TestRestarterRate(t *testing.T) {
	started := 0
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		burst := rapid.IntRange(0, 3).Draw(t, "burst")
		options := RestarterOptions[string]{Clock: c, Rate: 0.1, Burst: burst}
		policy := rapid.SampledFrom([]Policy{CrashLoop(), ReducedCrashLoop(), {Initial: 1, Max: 1, Free: 3}}).Draw(t, "policy")
		r := newRestarter(t, policy, options)
		var restarts []time.Duration
		pending := map[string]Decision{} // decided, not seen to start yet
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
		check := func(t *rapid.T, key string, d Decision, least time.Time) {
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
				e := crash(runs[key], c.Now().Add(-seconds(rapid.IntRange(0, 30).Draw(t, "told late"))[0]), 0)
				d := r.Exited(key, ContainerPolicy{}, e)
				check(t, key, d, c.Now())
				if d != r.Exited(key, ContainerPolicy{}, e) {
					t.Fatal("not idempotent")
				}
			},
			"wake": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if was, ok := pending[key]; ok {
					d, ok := r.Wake(key)
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
				if !fits(restarts, 10*second, max(burst, 1)) {
					t.Fatalf("restarts at %v break the rate", restarts)
				}
			},
		})
	})
	if started == 0 {
		t.Error("nothing was ever restarted")
	}
}

// A Delay is drawn anew for every exit, from the Rand that is given, or from one of
// its own.
func TestRestarterJitter(t *testing.T) {
	policy := Policy{Initial: 8 * second, Max: 8 * second, Jitter: 0.5}
	draw := 0.0
	given := newRestarter(t, policy, RestarterOptions[string]{Rand: func() float64 { draw += 0.25; return draw }})
	own := newRestarter(t, policy, RestarterOptions[string]{})
	for i, want := range seconds(7, 6, 5) {
		run := i + 1
		e := Exit{Run: int64(run), Code: 1}
		if d := given.Exited("a", ContainerPolicy{}, e); d.Delay != want {
			t.Errorf("run %d: %+v, want %v", run, d, want)
		}
		if d := own.Exited("a", ContainerPolicy{}, e); d.Delay <= 4*second || d.Delay > 8*second {
			t.Errorf("run %d: %+v", run, d)
		}
	}
}

// A Rate that is not used up changes no Delay and no wait, also of an exit that is
// told late, and of one that is told when its restart is due.
func TestFreeRateChangesNoWait(t *testing.T) {
	for _, late := range seconds(0, 4, 10, 3600) {
		c := fakeClock()
		free := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c})
		rated := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, Rate: 1})
		e := crash(1, c.Now().Add(-late), 0)
		want, got := free.Exited("a", ContainerPolicy{}, e), rated.Exited("a", ContainerPolicy{}, e)
		if got.Delay != want.Delay || rated.Remaining("a") != free.Remaining("a") {
			t.Errorf("told %v late: %+v, remaining %v, want %+v, %v", late, got, rated.Remaining("a"), want, free.Remaining("a"))
		}
		if due := c.Now().Add(free.Remaining("a")); !got.NotBefore.Equal(due) {
			t.Errorf("told %v late: not before %v, want %v", late, got.NotBefore, due)
		}
	}
}

// Rate under a clock that jumps: waits stay within their Delay and end.
func TestRestarterRateClockSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		r := newRestarter(t, ReducedCrashLoop(), RestarterOptions[string]{Clock: c, Rate: 1, Burst: 2})
		keys := []string{"a", "b", "c", "d"}
		delays := map[string]time.Duration{}
		for run := range rapid.IntRange(1, 10).Draw(t, "rounds") {
			for _, key := range keys {
				step(c, distances().Draw(t, "step"))
				delays[key] = r.Exited(key, ContainerPolicy{}, crash(int64(run+1), c.Now().Add(distances().Draw(t, "finished")), 0)).Delay
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

// Restarts decided within Window never exceed Limit; the rest is given up, and
// allowed again once the window has passed.
func TestRestarterLimit(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, Policy{Initial: second, Max: second}, RestarterOptions[string]{Clock: c, Limit: 3, Window: minute})
	var got []Action
	for run := range int64(20) {
		got = append(got, r.Exited("a", ContainerPolicy{}, crash(run+1, c.Now(), 0)).Action)
		step(c, 6*second)
	}
	var want []Action
	for i := range 20 {
		if i%10 < 3 {
			want = append(want, Restart)
		} else {
			want = append(want, GiveUp)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// For ever; RestartAll counts, Stop does not, other keys have their own.
	r = newRestarter(t, Policy{Initial: second, Max: second}, RestarterOptions[string]{Clock: c, Limit: 2})
	all := ContainerPolicy{RestartPolicy: "Never", Rules: []Rule{{Action: RestartAll, ExitCodes: &ExitCodes{Operator: In, Values: []int32{1}}}}}
	got = nil
	for run, code := range []int32{1, 2, 1, 1, 2, 1} {
		got = append(got, r.Exited("a", all, Exit{Run: int64(run + 1), Code: code}).Action)
		step(c, 1000*time.Hour)
	}
	if want := []Action{RestartAll, Stop, RestartAll, GiveUp, Stop, GiveUp}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if d := r.Exited("b", all, Exit{Run: 1, Code: 1}); d.Action != RestartAll {
		t.Errorf("another key: %v", d)
	}
}

// PolicyFor decides per key and outcome; a zero Policy leaves the Restarter's in
// force, and so does an invalid one, which the Decision shows. One count is shared
// by all.
func TestRestarterPolicyFor(t *testing.T) {
	c := fakeClock()
	fast := Policy{Initial: 2 * second, Max: 4 * second}
	of := map[string]Policy{"fast": fast, "zero": {}, "NaN": fast, "shrinking": fast, "negative": fast}
	for name, change := range map[string]func(*Policy){
		"NaN":       func(p *Policy) { p.Jitter = math.NaN() },
		"shrinking": func(p *Policy) { p.Factor = 0.5 },
		"negative":  func(p *Policy) { p.ResetAfter = -1 },
	} {
		p := of[name]
		change(&p)
		of[name] = p
	}
	r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, PolicyFor: func(_ string, e Exit) Policy { return of[e.Reason] }})
	run := int64(0)
	for _, tt := range []struct {
		reason string
		want   time.Duration
	}{{"fast", 2 * second}, {"zero", 20 * second}, {"NaN", 40 * second}, {"shrinking", 80 * second}, {"negative", 160 * second}, {"fast", 4 * second}, {"unknown", 300 * second}} {
		run++
		if d := r.Exited("a", ContainerPolicy{}, Exit{Run: run, Code: 1, Reason: tt.reason, Finished: c.Now()}); d.Delay != tt.want || d.Failures != int(run) || d.PolicyInvalid != (of[tt.reason].Validate() != nil && of[tt.reason] != Policy{}) {
			t.Errorf("%s: %+v, want %v", tt.reason, d, tt.want)
		}
	}
}

// Which keys GC drops: twice the longer ResetAfter after the restart was due or
// the end was last told, and not before the Window has passed.
func TestRestarterAllEndsWhenItsLoopDoes(t *testing.T) {
	r, err := NewRestarter[string](CrashLoop(), RestarterOptions[string]{Clock: fakeClock()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		r.Exited(fmt.Sprint("key", i), ContainerPolicy{}, Exit{Code: 1})
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

func TestRestarterGC(t *testing.T) {
	never := ContainerPolicy{RestartPolicy: RestartPolicyNever}
	long := Policy{Initial: second, Max: second, ResetAfter: time.Hour}
	for _, tt := range []struct {
		name      string
		options   RestarterOptions[string]
		container ContainerPolicy
		keep      time.Duration
	}{
		{"restarted", RestarterOptions[string]{}, ContainerPolicy{}, 10*second + 20*minute},
		{"a policy with a longer reset", RestarterOptions[string]{PolicyFor: func(string, Exit) Policy { return long }}, ContainerPolicy{}, second + 2*time.Hour},
		{"stopped", RestarterOptions[string]{}, never, 20 * minute},
		{"within a window", RestarterOptions[string]{Limit: 1, Window: time.Hour}, never, time.Hour},
	} {
		c := fakeClock()
		o := tt.options
		o.Clock = c
		r := newRestarter(t, CrashLoop(), o)
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
	r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, Limit: 1})
	e := crash(2, c.Now(), 0)
	r.Exited("given up", ContainerPolicy{}, crash(1, c.Now(), 0))
	r.Exited("given up", ContainerPolicy{}, e)
	step(c, 1000*time.Hour)
	if r.GC(); r.Exited("given up", ContainerPolicy{}, e).Action != GiveUp {
		t.Error("a limit for ever was forgotten")
	}
	// An exit that is told again and again stays known.
	for _, container := range []ContainerPolicy{never, {}} {
		r = newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c})
		want := r.Exited("a", container, e)
		for range 10 {
			step(c, 15*minute)
			if n := r.GC(); n != 0 {
				t.Error("dropped while it is told")
			}
			if d := r.Exited("a", container, e); d != want {
				t.Errorf("decided anew: %+v", d)
			}
		}
	}
	// An exit told long after it happened is not dropped at once.
	r.Exited("late", ContainerPolicy{}, crash(1, c.Now().Add(-100*time.Hour), 0))
	if n := r.GC(); n != 0 {
		t.Error("dropped before its restart")
	}
}

func TestNewRestarterErrors(t *testing.T) {
	for want, o := range map[string]RestarterOptions[string]{
		"Limit: invalid value -1: must be >= 0":   {Limit: -1},
		"Window: invalid value -1s: must be >= 0": {Window: -second},
		"Rate: invalid value -1: must be >= 0":    {Rate: -1},
		"Rate: invalid value NaN: must be >= 0":   {Rate: math.NaN()},
		"Rate: invalid value +Inf: must be >= 0":  {Rate: math.Inf(1)},
		"Burst: invalid value -1: must be >= 0":   {Burst: -1},

		"Window: invalid value 1s: must be 0 without a Limit": {Window: second},
		"Burst: invalid value 1: must be 0 without a Rate":    {Burst: 1},
	} {
		r, err := NewRestarter(CrashLoop(), o)
		if r != nil || err == nil || !strings.HasPrefix(err.Error(), "backoff: NewRestarter: "+want) || !slices.Equal(fieldsOf(err), fieldsOf(o.Validate())) {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, err := NewRestarter(Policy{Factor: -1}, RestarterOptions[string]{Limit: -1, Burst: 3})
	if got, want := fieldsOf(err), []string{"Initial", "Factor", "Limit", "Burst"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

func TestRestarterRestoreErrors(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, Limit: 3})
	good := RestarterState{
		Failures: 2, Last: Exit{Run: 2, Code: 1, Started: t0.Add(-second), Finished: t0},
		Decision: Decision{Action: Restart, Delay: 20 * second, NotBefore: t0.Add(20 * second), Failures: 2, Rule: -1},
		Recent:   []time.Time{t0.Add(-minute), t0},
	}
	for want, change := range map[string]func(*RestarterState){
		"failures: invalid value -1: must be >= 0":                                                                       func(s *RestarterState) { s.Failures = -1 },
		"last.started: invalid value 2026-03-01 12:00:01":                                                                func(s *RestarterState) { s.Last.Started = t0.Add(second) },
		"last.finished: invalid value 2026-03-01 12:00:01":                                                               func(s *RestarterState) { s.Last.Finished = t0.Add(second) },
		`decision.action: unsupported value "": must be Stop`:                                                            func(s *RestarterState) { s.Decision.Action = "" },
		`decision.action: unsupported value "Reboot": must be`:                                                           func(s *RestarterState) { s.Decision.Action = "Reboot" },
		"decision.delay: invalid value -1ns: must be >= 0":                                                               func(s *RestarterState) { s.Decision.Delay = -1 },
		"decision.notBefore: invalid value 2026-03-01 12:00:20.000000001 +0000 UTC: must be at most 2026-03-01 12:00:20": func(s *RestarterState) { s.Decision.NotBefore = t0.Add(20*second + 1) },
		"decision.failures: invalid value -1: must be >= 0":                                                              func(s *RestarterState) { s.Decision.Failures = -1 },
		"decision.rule: invalid value -2: must be >= -1":                                                                 func(s *RestarterState) { s.Decision.Rule = -2 },
		"recent[1]: invalid value 2026-03-01 12:00:00.000000001 +0000 UTC: must be at most":                              func(s *RestarterState) { s.Recent[1] = t0.Add(1) },

		"failures: invalid value 0: must be >= 1 after an exit that counts":                               func(s *RestarterState) { s.Failures, s.Decision.Failures = 0, 0 },
		"failures: invalid value 0: must be >= 1 after":                                                   func(s *RestarterState) { *s = RestarterState{Last: s.Last, Decision: Decision{Action: Stop, Rule: -1}} },
		"decision.failures: invalid value 3: must be failures (2)":                                        func(s *RestarterState) { s.Decision.Failures = 3 },
		"decision.delay: invalid value 20s: must be 0 without a restart":                                  func(s *RestarterState) { s.Decision.Action = GiveUp },
		"decision.notBefore: invalid value 2026-03-01 12:00:20 +0000 UTC: must be zero without a restart": func(s *RestarterState) { s.Decision.Action = Stop },
		"decision.notBefore: invalid value 0001-01-01 00:00:00 +0000 UTC: must be given with a delay":     func(s *RestarterState) { s.Decision.NotBefore = time.Time{} },
		"decision.rule: invalid value 0: must be -1 if nothing is restarted":                              func(s *RestarterState) { s.Decision.Action, s.Decision.Rule = Stop, 0 },
		"decision.rule: invalid value -1: must be >= 0, for only a rule":                                  func(s *RestarterState) { s.Decision.Action = RestartAll },
	} {
		s := good
		s.Recent = slices.Clone(good.Recent)
		change(&s)
		err := r.Restore("some/key", s)
		if err == nil || !strings.HasPrefix(err.Error(), `backoff: Restarter.Restore("some/key"): `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if r.Len() != 0 {
		t.Error("a refused state was kept")
	}
	if err := r.Restore("a", good); err != nil {
		t.Fatal(err)
	}
	if d := r.Exited("a", ContainerPolicy{}, good.Last); !cmp.Equal(d, good.Decision) || r.Remaining("a") != 20*second {
		t.Errorf("restored decision %+v, remaining %v", d, r.Remaining("a"))
	}
}

// The outermost states that a Restarter returns are taken up.
func TestRestoreTakesEveryState(t *testing.T) {
	for _, s := range []RestarterState{
		{Decision: Decision{Action: Stop, Rule: -1}}, // the first success, under OnFailure
		{Failures: 1, Last: Exit{Code: 1}, Decision: Decision{Action: Stop, Failures: 1, Rule: -1}},
		{Failures: 1, Decision: Decision{Action: GiveUp, Failures: 1, Rule: -1}},
		{Failures: 1, Decision: Decision{Action: GiveUp, Failures: 1}}, // a rule's restart
		{Failures: 1, Decision: Decision{Action: RestartAll, Failures: 1, NotBefore: t0}},
		{Failures: 1, Decision: Decision{Action: Restart, Failures: 1, Rule: -1}}, // at once, under a clock at the zero time
		{Failures: 1, Decision: Decision{Action: Restart, Failures: 1, Rule: 99, Delay: 1, NotBefore: t0.Add(1)}},
	} {
		r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: fakeClock()})
		if err := r.Restore("a", s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		s.Last.Finished = t0 // it did not say: it counts as told now
		if got, _ := r.State("a"); !cmp.Equal(got, s) {
			t.Errorf("restored as %+v, want %+v", got, s)
		}
	}
}

// Under another policy a restored wait is cut to its Max; the newest of more
// Recent than Limit are kept.
func TestRestarterRestoreElsewhere(t *testing.T) {
	c := fakeClock()
	from := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, Limit: 10})
	for run := range int64(10) {
		from.Exited("a", ContainerPolicy{}, crash(run+1, c.Now(), 0))
		step(c, second)
	}
	s, _ := from.State("a")
	to := newRestarter(t, ReducedCrashLoop(), RestarterOptions[string]{Clock: c, Limit: 3, Window: time.Hour})
	if err := to.Restore("a", s); err != nil {
		t.Fatal(err)
	}
	got, _ := to.State("a")
	if got.Decision.Delay != minute || to.Remaining("a") != 59*second || !got.Decision.NotBefore.Equal(c.Now().Add(59*second)) {
		t.Errorf("%+v, remaining %v", got.Decision, to.Remaining("a"))
	}
	if !slices.Equal(got.Recent, s.Recent[7:]) {
		t.Errorf("recent %v of %v", got.Recent, s.Recent)
	}
	if d := to.Exited("a", ContainerPolicy{}, crash(11, c.Now(), 0)); d.Action != GiveUp {
		t.Errorf("over the limit: %+v", d)
	}
}

// Concurrent use ends as one lock would: every exit is decided once.
func TestRestarterConcurrent(t *testing.T) {
	c := fakeClock()
	policy := Policy{Initial: 1, Max: math.MaxInt64}
	r := newRestarter(t, policy, RestarterOptions[string]{Clock: c, Rate: 1000, Burst: 10})
	const goroutines, runs = 8, 200
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for run := range int64(runs) {
				d := r.Exited("shared", ContainerPolicy{}, crash(run+1, c.Now(), 0))
				if d.Failures < int(run) {
					t.Errorf("run %d: %+v", run, d)
				}
				own := fmt.Sprint(g)
				r.Exited(own, ContainerPolicy{}, crash(run+1, c.Now(), 0))
				r.Wake(own)
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
		if s.Failures != runs {
			t.Errorf("%s: %d failures", key, s.Failures)
		}
	}
	if n := r.Len(); n != goroutines+1 {
		t.Errorf("%d keys", n)
	}
	if n := len(r.bucket.booked); n > goroutines+1+goroutines*runs {
		t.Errorf("%d booked", n)
	}
}

// Deciding about a known key allocates nothing.
func TestRestarterAllocs(t *testing.T) {
	r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Limit: 5, Window: minute, PolicyFor: modelPolicies})
	c := ContainerPolicy{Rules: []Rule{{Action: Restart, ExitCodes: &ExitCodes{Operator: In, Values: []int32{42}}}}}
	e := crash(0, time.Now(), second)
	for e.Run < 10 {
		e.Run++
		r.Exited("a", c, e)
	}
	for name, call := range map[string]func(){
		"Exited":       func() { e.Run++; r.Exited("a", c, e) },
		"Exited again": func() { r.Exited("a", c, e) },
		"Remaining":    func() { r.Remaining("a") },
		"Wake":         func() { r.Wake("a") },
		"Len":          func() { r.Len() },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func TestWhy(t *testing.T) {
	c := ContainerPolicy{RestartPolicy: RestartPolicyOnFailure, Rules: []Rule{
		{Action: RestartAll, ExitCodes: &ExitCodes{Operator: In, Values: []int32{41, 42}}}}}
	for _, tt := range []struct {
		d    Decision
		e    Exit
		want string
	}{
		{Decision{Action: RestartAll, Delay: 20 * second, Failures: 2, Rule: 0}, Exit{Code: 42},
			"exit code 42 is In [41 42] of restartPolicyRules[0]: restarted with all containers after 20s (failure 2 in a row)"},
		{Decision{Action: Restart, Failures: 1, Rule: -1}, Exit{Code: 137, Reason: "OOMKilled"},
			"exit code 137 (OOMKilled) under restartPolicy OnFailure: restarted at once (failure 1 in a row)"},
		{Decision{Action: Stop, Rule: -1}, Exit{}, "exit code 0 under restartPolicy OnFailure: not restarted"},
		{Decision{Action: GiveUp, Failures: 5, Rule: -1}, Exit{Code: 1},
			"exit code 1 under restartPolicy OnFailure: given up, the limit of restarts is used up (failure 5 in a row)"},
		{Decision{}, Exit{}, "exit code 0 is In [41 42] of restartPolicyRules[0]: nothing decided"},
		{Decision{Action: Stop, Rule: 7}, Exit{}, "exit code 0 under restartPolicy OnFailure: not restarted"},
		{Decision{Action: Restart, Failures: 1, Rule: -1, PolicyInvalid: true}, Exit{Code: 1},
			"exit code 1 under restartPolicy OnFailure: restarted at once (failure 1 in a row), by the Restarter's own policy: that of PolicyFor is invalid"},
	} {
		if got := tt.d.Why(c, tt.e); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	if got := (Decision{Action: Restart, Rule: -1}).Why(ContainerPolicy{}, Exit{}); !strings.Contains(got, "restartPolicy Always") {
		t.Error(got)
	}
}
