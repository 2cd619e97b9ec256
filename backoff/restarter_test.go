package backoff_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/rapidseed"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"
)

// These are the promises that a Restarter makes beyond those of its States, which
// state_test.go and state_model_test.go check.

// newRestarter returns a Restarter whose policy has only a curve.
func newRestarter(t interface{ Fatal(...any) }, curve backoff.Policy, o backoff.RestarterOptions[string]) *backoff.Restarter[string] {
	return newRestarterOf(t, backoff.ExitPolicy{Delay: &curve}, o)
}

func newRestarterOf(t interface{ Fatal(...any) }, p backoff.ExitPolicy, o backoff.RestarterOptions[string]) *backoff.Restarter[string] {
	r, err := backoff.NewRestarter(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// remaining returns the wait of a key, or 0 if nothing but another exit lets it start.
func remaining[K comparable](r *backoff.Restarter[K], key K) time.Duration {
	if _, wait := r.CanStart(key); wait != math.MaxInt64 {
		return wait
	}
	return 0
}

// throughFile sends a Restarter through JSON into a new one, which must have the same
// states.
func throughFile(t interface {
	Helper()
	Fatal(...any)
}, r *backoff.Restarter[string], p backoff.ExitPolicy, o backoff.RestarterOptions[string]) *backoff.Restarter[string] {
	t.Helper()
	other := newRestarterOf(t, p, o)
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, other)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(maps.Collect(r.All()), maps.Collect(other.All())); diff != "" {
		t.Fatal(diff)
	}
	return other
}

// A history with named instants, and a wall clock set meanwhile.
func TestRestarterWaitsAsDecided(t *testing.T) {
	c := backoff.NewSystemClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	to := func(d time.Duration) { c.Elapsed = d }
	var last backoff.Exit
	crashed := func(run int64, ran time.Duration) backoff.Decision {
		last = backoff.Exit{Run: run, Code: 1, Started: c.Now().Add(-ran), Finished: c.Now()}
		return r.Exited("a", backoff.ExitPolicy{}, last)
	}
	again := func() backoff.Decision { return r.Exited("a", backoff.ExitPolicy{}, last) }
	check := func(what string, d backoff.Decision, isNew bool, failures int, delay, left time.Duration) {
		t.Helper()
		if d.Action != restart || d.New != isNew || d.Failures != failures || d.Delay != delay {
			t.Errorf("%s: %+v, want %d failures and %v", what, d, failures, delay)
		}
		if got := remaining(r, "a"); got != left {
			t.Errorf("%s: %v left, want %v", what, got, left)
		}
	}
	check("t0: first crash", crashed(1, second), true, 1, 10*second, 10*second)
	to(4 * second)
	check("t4: reported again", again(), false, 1, 10*second, 6*second)
	to(14 * second)
	check("t14: a crash", crashed(2, 2*second), true, 2, 20*second, 20*second)
	c.Set = -24 * time.Hour
	check("set back a day", again(), false, 2, 20*second, 20*second)
	to(24 * second)
	check("ten seconds later", again(), false, 2, 20*second, 10*second)
	c.Set = 24 * time.Hour
	check("set ahead a day", again(), false, 2, 20*second, 10*second)
	c.Set = 0
	to(700 * second)
	check("t700: a run of ResetAfter", crashed(3, 600*second), true, 3, 40*second, 40*second)
	if woken, ok := r.RestartNow("a"); !ok || woken.Delay != 0 {
		t.Errorf("woken: %+v", woken)
	}
	check("t700: woken", again(), false, 3, 0, 0)
	to(1400 * second)
	check("t1400: a longer run", crashed(4, 600*second+1), true, 1, 10*second, 10*second)
	if r.Reset("a"); r.Len() != 0 {
		t.Error("not forgotten")
	}
	if _, ok := r.RestartNow("a"); ok {
		t.Error("an unknown key was woken")
	}
}

// Zero fields of a policy are those of the Restarter's.
func TestPolicyIsCompletedByTheRestarters(t *testing.T) {
	fast, slow := backoff.Policy{Initial: second, Max: minute}, backoff.Policy{Initial: minute, Max: minute}
	own := backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicyOnFailure, Delay: &fast, Retries: 3, GiveUpFor: time.Hour,
		Rules: []backoff.Rule{{Name: "config", Action: giveUp, Reasons: []string{"Config"}}},
	}
	decide := func(p backoff.ExitPolicy, exits ...backoff.Exit) (d backoff.Decision) {
		r := newRestarterOf(t, own, backoff.RestarterOptions[string]{Clock: fakeClock()})
		for _, e := range exits {
			d = r.Exited("a", p, e)
		}
		return d
	}
	failed := backoff.Exit{Code: 1}
	if d := decide(backoff.ExitPolicy{}, backoff.Exit{}); d.Action != backoff.ActionStop {
		t.Errorf("restart policy: %+v", d)
	}
	if d := decide(backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways}, backoff.Exit{}); d.Action != restart {
		t.Errorf("another restart policy: %+v", d)
	}
	if d := decide(backoff.ExitPolicy{}, failed); d.Delay != second {
		t.Errorf("curve: %+v", d)
	}
	if d := decide(backoff.ExitPolicy{Delay: &slow}, failed); d.Delay != minute {
		t.Errorf("a curve per decision: %+v", d)
	}
	if d := decide(backoff.ExitPolicy{}, failed, failed, failed, failed); d.Action != giveUp || d.Delay != time.Hour {
		t.Errorf("limits: %+v", d)
	}
	if d := decide(backoff.ExitPolicy{Retries: 9}, failed, failed, failed, failed); d.Action != restart {
		t.Errorf("another limit: %+v", d)
	}
	if d := decide(backoff.ExitPolicy{}, backoff.Exit{Reason: "Config"}); d.RuleName != "config" {
		t.Errorf("rules: %+v", d)
	}
	limited := newRestarterOf(t, backoff.ExitPolicy{Limit: 5, Window: time.Hour}, backoff.RestarterOptions[string]{})
	if d := limited.Exited("a", backoff.ExitPolicy{Limit: 2}, failed); d.Invalid != nil {
		t.Errorf("a limit takes its window along: %+v", d)
	}
	if s, _ := limited.State("a"); s.Restarts != 1 || s.Recent != nil {
		t.Errorf("%+v", s)
	}
}

// An exit whose policy is invalid is not decided, and the key is not started.
func TestInvalidPolicyAllowsNoStart(t *testing.T) {
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
	e := backoff.Exit{Run: 1, Code: 1}
	d := r.Exited("a", backoff.ExitPolicy{RestartPolicy: "never"}, e)
	if d.Action != backoff.ActionStop || d.Invalid == nil {
		t.Errorf("%+v", d)
	}
	if ok, wait := r.CanStart("a"); ok || wait != math.MaxInt64 {
		t.Errorf("may start: %t, in %v", ok, wait)
	}
	if err := r.Wait(t.Context(), "a"); !errors.Is(err, backoff.ErrNoStart) || !strings.Contains(err.Error(), "the policy of its last exit is invalid") {
		t.Error(err)
	}
	if d := r.Exited("a", backoff.ExitPolicy{}, e); !decided(d, restart, 1, 10*second) {
		t.Errorf("mended: %+v", d)
	}
	if got := remaining(r, "a"); got != 10*second {
		t.Errorf("%v left", got)
	}
}

// The key whose exit could not be decided may start after Forgive and Lost.
func TestForgiveAndLostMendAnInvalidPolicy(t *testing.T) {
	for name, mend := range map[string]func(*backoff.Restarter[string]){
		"Forgive": func(r *backoff.Restarter[string]) { r.Forgive("a") },
		"Lost":    func(r *backoff.Restarter[string]) { r.Lost("a") },
	} {
		for _, started := range []bool{false, true} {
			r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
			if started {
				r.Started("a", time.Time{})
			}
			r.Exited("a", backoff.ExitPolicy{RestartPolicy: "never"}, backoff.Exit{Run: 1, Code: 1})
			mend(r)
			if ok, wait := r.CanStart("a"); !ok {
				t.Errorf("%s, started %v: may not start, in %v", name, started, wait)
			}
		}
	}
}

// Started and Wait use a start up. Of many who ask, one gets it.
func TestOneOfManyGetsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{})
		for round := range 3 {
			r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
			results := make(chan error)
			for range 8 {
				go func() { results <- r.Wait(t.Context(), "a") }()
			}
			started := 0
			for range 8 {
				if err := <-results; err == nil {
					started++
				} else if !errors.Is(err, backoff.ErrNoStart) || !strings.Contains(err.Error(), `Wait("a"): no start is allowed, because it was started`) {
					t.Error(err)
				}
			}
			if started != 1 {
				t.Errorf("round %d: %d starts", round, started)
			}
		}
		if !r.Started("b", time.Time{}) || r.Started("b", time.Time{}) {
			t.Error("the first start of b was not used up once")
		}
	})
}

// Wait ends when the start is allowed, however that moves meanwhile, and with the
// context; and with an error if it cannot be.
func TestWaitFollowsChanges(t *testing.T) {
	type restarter = *backoff.Restarter[string]
	onFailure := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}
	for name, tt := range map[string]struct {
		change func(r restarter, stop context.CancelFunc)
		want   time.Duration
		err    error
	}{
		"nothing":    {func(restarter, context.CancelFunc) {}, 10 * second, nil},
		"RestartNow": {func(r restarter, _ context.CancelFunc) { r.RestartNow("a") }, 4 * second, nil},
		"Forgive":    {func(r restarter, _ context.CancelFunc) { r.Forgive("a") }, 4 * second, nil},
		"Reset":      {func(r restarter, _ context.CancelFunc) { r.Reset("a") }, 4 * second, nil},
		"Started":    {func(r restarter, _ context.CancelFunc) { r.Started("a", time.Time{}) }, 4 * second, backoff.ErrNoStart},
		"an exit":    {func(r restarter, _ context.CancelFunc) { r.Exited("a", onFailure, backoff.Exit{Code: 1}) }, 24 * second, nil},
		"a stop":     {func(r restarter, _ context.CancelFunc) { r.Exited("a", onFailure, backoff.Exit{}) }, 4 * second, backoff.ErrNoStart},
		"a limit": {func(r restarter, _ context.CancelFunc) {
			r.Exited("a", backoff.ExitPolicy{Retries: 1}, backoff.Exit{Code: 1})
		}, 4 * second, backoff.ErrNoStart},
		"a latch": {func(r restarter, _ context.CancelFunc) {
			r.Exited("a", backoff.ExitPolicy{Retries: 1, GiveUpFor: minute}, backoff.Exit{Code: 1})
		}, 64 * second, nil},
		"another key": {func(r restarter, _ context.CancelFunc) { r.Reset("b"); r.RestartNow("c") }, 10 * second, nil},
		"the context": {func(_ restarter, stop context.CancelFunc) { stop() }, 4 * second, context.Canceled},
		"Restore": {func(r restarter, _ context.CancelFunc) {
			s, _ := r.State("a")
			s.NotBefore = s.From.Add(6 * second)
			r.Restore("a", s)
		}, 6 * second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{})
				begin := time.Now()
				for _, key := range []string{"a", "b", "c"} {
					r.Exited(key, backoff.ExitPolicy{}, backoff.Exit{Code: 1})
				}
				done := make(chan error)
				go func() { done <- r.Wait(ctx, "a") }()
				time.Sleep(4 * second)
				tt.change(r, stop)
				if err := <-done; !errors.Is(err, tt.err) {
					t.Errorf("%v, want %v", err, tt.err)
				}
				if got := time.Since(begin); got != tt.want {
					t.Errorf("waited %v, want %v", got, tt.want)
				}
				if n := r.Waiting(); n != 0 {
					t.Errorf("%d are still waited for", n)
				}
			})
		})
	}
}

// passive is a clock without timers.
type passive struct{ clock.PassiveClock }

func TestWaitNeedsNoTimersOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: passive{clock.RealClock{}}})
		begin := time.Now()
		if err := r.Wait(t.Context(), "unknown"); err != nil || time.Since(begin) != 0 {
			t.Errorf("an unknown key: %v after %v", err, time.Since(begin))
		}
		r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
		if err := r.Wait(t.Context(), "a"); err != nil || time.Since(begin) != 10*second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		done, stop := context.WithCancel(t.Context())
		stop()
		if err := r.Wait(done, "b"); err != context.Canceled {
			t.Errorf("a context that is done: %v", err)
		}
	})
}

// Due yields the starts that a crash may have prevented, soonest first.
func TestDueYieldsStartsLostInACrash(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	latch := backoff.ExitPolicy{Retries: 1, GiveUpFor: minute}
	r := newRestarter(t, backoff.CrashLoop(), o)
	for _, key := range []string{"started", "soon", "later", "stopped", "given up", "latched"} {
		policy := map[string]backoff.ExitPolicy{
			"stopped":  {RestartPolicy: backoff.RestartPolicyNever},
			"given up": {Rules: []backoff.Rule{{Action: giveUp, MinFailures: 1}}},
			"latched":  latch,
		}[key]
		r.Exited(key, policy, crash(1, c.Now(), 0))
	}
	r.Exited("later", backoff.ExitPolicy{}, crash(2, c.Now(), 0))
	r.Exited("latched", latch, crash(2, c.Now(), 0))
	r.Started("started", time.Time{})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, passed := range []time.Duration{0, 15 * second, time.Hour} {
		step(c, passed)
		r := newRestarter(t, backoff.CrashLoop(), o)
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatal(err)
		}
		var keys []string
		for key, d := range r.Due(c.Now()) {
			keys = append(keys, key)
			if d.Remaining(c.Now()) != remaining(r, key) {
				t.Errorf("%s: %+v", key, d)
			}
			r.Started(key, time.Time{}) // the loop may use the Restarter
		}
		if want := []string{"soon", "later", "latched"}; !slices.Equal(keys, want) {
			t.Errorf("after %v: due %v, want %v", passed, keys, want)
		}
		for key := range r.Due(c.Now()) {
			t.Errorf("%s is due after its start", key)
		}
		for range r.Due(c.Now()) {
			break
		}
	}
}

// A Restarter that comes back after a downtime starts its keys at the rate, in their
// former order.
func TestLoadedStartsTakeTheirTurns(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c, Rate: 1}
	r := newRestarter(t, backoff.CrashLoop(), o)
	var want []string
	for i := range 10 {
		key := fmt.Sprint("key", 9-i)
		want = append(want, key)
		r.Exited(key, backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, down := range []time.Duration{5 * second, hour, 25 * hour} {
		step(c, down)
		again := newRestarter(t, backoff.CrashLoop(), o)
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatal(err)
		}
		first := max(0, t0.Add(10*second).Sub(c.Now()))
		var got []string
		for key, d := range again.Due(c.Now()) {
			if wait := first + time.Duration(len(got))*second; d.Remaining(c.Now()) != wait {
				t.Errorf("down for %v: %s waits %v, want %v", down, key, d.Remaining(c.Now()), wait)
			}
			got = append(got, key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// First starts take turns, too, and keep them.
func TestFirstStartsTakeTurns(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1})
	for range 2 { // asking again changes nothing
		for i, key := range []string{"a", "b", "c"} {
			if got := remaining(r, key); got != time.Duration(i)*second {
				t.Errorf("%s waits %v", key, got)
			}
		}
	}
	r.Reset("b") // gives its turn back
	if got := remaining(r, "d"); got != second {
		t.Errorf("d waits %v", got)
	}
	step(c, second)
	r.Started("d", time.Time{})
	if ok, wait := r.CanStart("d"); ok || wait != forever {
		t.Errorf("d runs: %t, %v", ok, wait)
	}
	if d := r.Exited("d", backoff.ExitPolicy{}, backoff.Exit{Code: 1}); d.Delay != 10*second {
		t.Errorf("%+v", d)
	}
	// A new process has turns of its own.
	text, err := json.Marshal(r)
	again := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1})
	if err := errors.Join(err, json.Unmarshal(text, again)); err != nil {
		t.Fatal(err)
	}
	if got := remaining(again, "c"); got != 0 {
		t.Errorf("c waits %v", got)
	}
}

// Runs lost with their program take turns, those of first starts, too.
func TestLostRunsTakeTurns(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1})
	for _, key := range []string{"a", "b", "c"} {
		if key != "c" {
			r.Exited(key, backoff.ExitPolicy{}, backoff.Exit{Code: 1})
		}
		step(c, minute)
		r.Started(key, time.Time{})
	}
	for i, key := range []string{"a", "b", "c"} {
		r.Lost(key)
		if got := remaining(r, key); got != time.Duration(i)*second {
			t.Errorf("%s waits %v", key, got)
		}
	}
	if n := len(maps.Collect(r.Due(c.Now()))); n != 3 {
		t.Errorf("%d are due", n)
	}
}

// A machine whose clock starts in 1970 and is set right later recognizes its exits.
func TestStateLoadedByAClockInThePast(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	p := backoff.ExitPolicy{Limit: 2, Window: hour}
	r := newRestarterOf(t, p, o)
	e := crash(1, c.Now(), 0)
	r.Exited("a", p, e)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c.SetTime(time.Unix(100, 0))
	again := newRestarterOf(t, p, o)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	again.Started("a", time.Time{})
	again.Healthy("a", p)
	if s, _ := again.State("a"); s.Failures != 1 {
		t.Errorf("a run in 1970 is a long one: %+v", s)
	}
	c.SetTime(t0.Add(minute))
	if d := again.Exited("a", p, e); d.New {
		t.Errorf("the same exit is new: %+v", d)
	}
	for n := range 2 {
		if d := again.Exited("a", p, crash(int64(n+2), c.Now(), 0)); (d.Action == giveUp) != (n == 1) {
			t.Errorf("the window has forgotten: %+v", d)
		}
	}
}

// Complete returns the policy that decides, for a reason that fits.
func TestReasonUnderTheRestartersPolicy(t *testing.T) {
	r := newRestarterOf(t, backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Retries: 1}, backoff.RestarterOptions[string]{})
	e := backoff.Exit{Code: 1}
	r.Exited("a", backoff.ExitPolicy{}, e)
	got := r.Exited("a", backoff.ExitPolicy{}, e).Reason(r.Complete(backoff.ExitPolicy{}), e)
	if want := "exit code 1 under restartPolicy OnFailure: given up, after 1 retry in a row (failure 2 in a row)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The history holds the exits before the last, as many as asked for.
func TestHistoryHoldsTheExitsBeforeTheLast(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c, History: 3}
	p := backoff.ExitPolicy{}
	r := newRestarterOf(t, p, o)
	var want []backoff.Outcome
	for run := range int64(8) {
		e := crash(run+1, c.Now(), 0)
		r.Exited("a", p, e)
		r.Exited("a", p, e) // again: nothing new
		if run == 4 {
			r.RestartNow("a") // what was decided in the end
		}
		s, _ := r.State("a")
		if diff := cmp.Diff(want[max(0, len(want)-3):], s.History); diff != "" && len(want) > 0 {
			t.Errorf("run %d: %s", run, diff)
		}
		want = append(want, s.Outcome)
		step(c, second)
		if run%3 == 2 {
			r = throughFile(t, r, p, o)
		}
	}
	s, _ := r.State("a")
	less := newRestarterOf(t, p, backoff.RestarterOptions[string]{Clock: c, History: 2})
	less.Restore("a", s)
	if got, _ := less.State("a"); !cmp.Equal(got.History, s.History[1:]) {
		t.Errorf("kept %+v of %+v", got.History, s.History)
	}
}

// A damaged or edited state is mended when it is loaded: no wait is endless or longer than
// a day or the longest delay in use, nothing starts at once that had to wait, and no list
// is longer than it can be.
func TestRestoreMendsDamagedStates(t *testing.T) {
	far := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	waits := func(from, until time.Time) backoff.State {
		return backoff.State{Outcome: backoff.Outcome{Action: restart, Failures: 3, From: from, NotBefore: until}}
	}
	for name, tt := range map[string]struct {
		state backoff.State
		want  time.Duration
	}{
		"as it was":                      {waits(t0, at(10)), 10 * second},
		"saved by a clock that is ahead": {waits(at(3600), at(3610)), 0},
		"saved by one that is ahead by less than the delay": {waits(at(9), at(19)), 10 * second},
		"an end in the year 9999":                           {waits(t0, far), 24 * time.Hour},
		"both in the year 9999":                             {waits(far, far), 0},
		"a beginning in the year 1":                         {waits(time.Time{}, far), 0},
		"it ends before it begins":                          {waits(t0, at(-10)), 0},
		"without a wait":                                    {waits(time.Time{}, time.Time{}), 0},
		"an unknown action":                                 {backoff.State{Outcome: backoff.Outcome{Action: "Reboot", From: t0, NotBefore: at(5)}}, 5 * second},
		"a stop with a wait":                                {backoff.State{Outcome: backoff.Outcome{Action: backoff.ActionStop, From: t0, NotBefore: at(5)}}, forever},
		"a give-up without an end":                          {backoff.State{Outcome: backoff.Outcome{Action: giveUp}}, forever},
		"a give-up in the year 9999":                        {backoff.State{Outcome: backoff.Outcome{Action: giveUp, From: t0, NotBefore: far}}, 24 * time.Hour},
		"started in the year 9999":                          {backoff.State{StartedAt: far}, forever},
		"started before the year 1":                         {backoff.State{StartedAt: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)}, 0},
		"a turn in the year 9999":                           {backoff.State{Outcome: backoff.Outcome{Action: restart, From: t0, NotBefore: at(5), Turn: far}}, 5 * second},
		"nothing":                                           {backoff.State{}, 0},
	} {
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
		r.Restore("a", tt.state)
		if ok, wait := r.CanStart("a"); wait != tt.want || ok != (wait == 0) {
			t.Errorf("%s: %t, %v, want %v", name, ok, wait, tt.want)
		}
	}

	many := backoff.State{
		Outcome:  backoff.Outcome{Action: restart, Failures: -7, RuleFailures: -7, Rule: -7, Exit: backoff.Exit{Started: far, Finished: far}, Reported: far},
		Restarts: -7, Recent: slices.Repeat([]time.Time{far, t0}, 5000), Rules: make([]backoff.RuleCounts, 5000), History: make([]backoff.Outcome, 5000),
	}
	many.Rules[0] = backoff.RuleCounts{Failures: -7, Restarts: -7, Recent: many.Recent}
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock(), History: 10})
	r.Restore("a", many)
	s, _ := r.State("a")
	if s.Failures != 0 || s.RuleFailures != 0 || s.Rule != -1 || s.Restarts != 0 || s.Rules[0].Failures != 0 || s.Rules[0].Restarts != 0 {
		t.Errorf("counts: %+v", s.Outcome)
	}
	if len(s.Recent) != backoff.MaxLimit || len(s.Rules) != backoff.MaxRules || len(s.Rules[0].Recent) != backoff.MaxLimit || len(s.History) != 10 {
		t.Errorf("%d restarts, %d rules, %d of the first, %d earlier exits", len(s.Recent), len(s.Rules), len(s.Rules[0].Recent), len(s.History))
	}
	if many.Failures != -7 || !many.Recent[0].Equal(far) {
		t.Error("the caller's state was changed")
	}
}

// A program that loads its state again and again, while the clock is behind, waits no
// longer than one that keeps running.
func TestLoadingAgainDoesNotWaitAnew(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	r := newRestarter(t, backoff.CrashLoop(), o)
	r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	step(c, -5*second)
	for waited := time.Duration(0); ; waited += second {
		again := newRestarter(t, backoff.CrashLoop(), o)
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatal(err)
		}
		if ok, _ := again.CanStart("a"); ok {
			if waited != 15*second {
				t.Errorf("waited %v", waited)
			}
			return
		}
		if step(c, second); waited > minute {
			t.Fatal("no start")
		}
	}
}

// GC drops a key twice the longest ResetAfter after its restart was due, and not before
// its Window has passed. What must not be started by mistake is kept.
func TestGCDropsKeysThatNoLongerMatter(t *testing.T) {
	long := backoff.Policy{Initial: second, Max: second, ResetAfter: time.Hour}
	forever := time.Duration(math.MaxInt64)
	for name, tt := range map[string]struct {
		policy backoff.ExitPolicy
		exits  int
		keep   time.Duration
	}{
		"restarted":                {backoff.ExitPolicy{}, 1, 10*second + 20*minute},
		"a longer reset":           {backoff.ExitPolicy{Delay: &long}, 1, second + 2*time.Hour},
		"within a window":          {backoff.ExitPolicy{Limit: 1, Window: time.Hour}, 1, 10*second + time.Hour},
		"a window of a rule":       {backoff.ExitPolicy{Rules: []backoff.Rule{{Action: restart, MinFailures: 1, Limit: 1, Window: time.Hour}}}, 1, 10*second + time.Hour},
		"a limit without a window": {backoff.ExitPolicy{Limit: 1}, 1, forever},
		"a rule's limit without":   {backoff.ExitPolicy{Rules: []backoff.Rule{{Action: restart, MinFailures: 1, Limit: 1}}}, 1, forever},
		"stopped":                  {backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever}, 1, forever},
		"given up":                 {backoff.ExitPolicy{Retries: 1}, 2, forever},
		"given up for a while":     {backoff.ExitPolicy{Retries: 1, GiveUpFor: minute}, 2, forever},
		"invalid":                  {backoff.ExitPolicy{Retries: -1}, 1, forever},
	} {
		c := fakeClock()
		r := newRestarterOf(t, backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Clock: c})
		for range tt.exits {
			r.Exited("a", tt.policy, backoff.Exit{Code: 1})
		}
		step(c, min(tt.keep, 100*year))
		if n := r.GC(); n != 0 {
			t.Errorf("%s: dropped too early", name)
		}
		if step(c, 1); tt.keep != forever {
			if n := r.GC(); n != 1 || r.Len() != 0 {
				t.Errorf("%s: %d dropped, %d left", name, n, r.Len())
			}
		}
	}
	// What runs is kept, also before its first exit, and so is an exit still reported.
	runs := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
	runs.Started("a", time.Time{})
	if n := runs.GC(); n != 0 {
		t.Error("a key that runs for the first time was dropped")
	}
	seen := fakeClock()
	polled := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: seen})
	e := crash(1, seen.Now(), 0)
	polled.Exited("a", backoff.ExitPolicy{}, e)
	for range 10 {
		step(seen, 15*minute)
		if polled.GC(); polled.Exited("a", backoff.ExitPolicy{}, e).New {
			t.Error("an exit that is still reported is new again")
		}
	}
	// An exit reported long after it happened is not dropped at once.
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	r.Exited("late", backoff.ExitPolicy{}, crash(1, c.Now().Add(-100*time.Hour), 0))
	if n := r.GC(); n != 0 {
		t.Error("dropped before its restart")
	}
}

func TestNewRestarterErrorsNameEachField(t *testing.T) {
	for want, o := range map[string]backoff.RestarterOptions[string]{
		"Rate: invalid value -1: must be >= 0":             {Rate: -1},
		"Rate: invalid value NaN: must be >= 0":            {Rate: math.NaN()},
		"Rate: invalid value +Inf: must be >= 0":           {Rate: math.Inf(1)},
		"Burst: invalid value -1: must be >= 0":            {Burst: -1},
		"Burst: invalid value 1: must be 0 without a Rate": {Burst: 1},
		"History: invalid value 1001: must be in 0..1000":  {History: 1001},
	} {
		r, err := backoff.NewRestarter(backoff.ExitPolicy{}, o)
		if r != nil || err == nil || !strings.HasPrefix(err.Error(), "backoff: NewRestarter: "+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &backoff.Policy{Factor: -1}, Limit: -1}, backoff.RestarterOptions[string]{Burst: 3})
	if got, want := fieldsOf(err), []string{"delay.initial", "delay.factor", "limit", "Burst"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

// A panic in a function of the caller leaves no lock held.
func TestPanicOfTheCallerKeepsNoLock(t *testing.T) {
	broken := false
	fail := func() {
		if broken {
			panic("broken")
		}
	}
	c := brittle{fakeClock(), fail}
	jittered := backoff.Policy{Initial: second, Max: minute, Jitter: 0.5}
	r := newRestarter(t, jittered, backoff.RestarterOptions[string]{Clock: c, Rate: 1, Rand: func() float64 { fail(); return 0 }})
	calls := map[string]func(){
		"Exited":     func() { r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Code: 1}) },
		"CanStart":   func() { r.CanStart("a") },
		"Started":    func() { r.Started("a", time.Time{}) },
		"Healthy":    func() { r.Healthy("a", backoff.ExitPolicy{}) },
		"Forgive":    func() { r.Forgive("a") },
		"RestartNow": func() { r.RestartNow("a") },
		"Reset":      func() { r.Reset("a") },
		"Restore":    func() { r.Restore("a", backoff.State{}) },
		"GC":         func() { r.GC() },
		"Wait":       func() { _ = r.Wait(t.Context(), "a") },
		"first":      func() { r.CanStart("first") },
	}
	for name, call := range calls {
		r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
		broken = true
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not ask the clock", name)
				}
			}()
			call()
		}()
		broken = false
		r.Len() // takes every lock
		r.Reset("a")
		if n := r.Waiting(); n != 0 {
			t.Errorf("%s: still waits", name)
		}
	}
}

// brittle is a clock that may panic.
type brittle struct {
	clock.PassiveClock
	fail func()
}

func (c brittle) Now() time.Time { c.fail(); return c.PassiveClock.Now() }

// Deciding about a known key allocates nothing.
func TestExitOfKnownKeyDoesNotAllocate(t *testing.T) {
	curve, rules := backoff.CrashLoop(), []backoff.Rule{{Action: restart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{1}}, Limit: 5, Window: minute, Delay: &tenSeconds}}
	r := newRestarterOf(t, backoff.ExitPolicy{Delay: &curve, Limit: 5, Window: minute}, backoff.RestarterOptions[string]{})
	plain := newRestarterOf(t, backoff.ExitPolicy{}, backoff.RestarterOptions[string]{})
	rated := newRestarterOf(t, backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Rate: 1e-6})
	many := manyRules()
	e := crash(0, time.Now(), second)
	for range 20 {
		e.Run++
		for _, r := range []*backoff.Restarter[string]{r, plain, rated} {
			r.Exited("a", backoff.ExitPolicy{Rules: rules}, e)
		}
		plain.Exited("many", many, e)
	}
	var s backoff.State
	s.Exited(&many, e, time.Now(), 0)
	for name, call := range map[string]func(){
		"Exited without rules": func() { e.Run++; plain.Exited("a", backoff.ExitPolicy{}, e) },
		"Exited":               func() { e.Run++; r.Exited("a", backoff.ExitPolicy{Rules: rules}, e) },
		"Exited under Rate":    func() { e.Run++; rated.Exited("a", backoff.ExitPolicy{}, e); rated.RestartNow("a") },
		"Exited again":         func() { r.Exited("a", backoff.ExitPolicy{Rules: rules}, e) },
		"by many rules":        func() { e.Run++; plain.Exited("many", many, e) },
		"CanStart":             func() { r.CanStart("a") },
		"Started":              func() { r.Started("a", e.Started) },
		"Healthy":              func() { r.Healthy("a", backoff.ExitPolicy{}) },
		"RestartNow":           func() { r.RestartNow("a") },
		"State.Exited":         func() { e.Run++; s.Exited(&many, e, e.Finished, 0) },
		"State.CanStart":       func() { s.CanStart(&many, e.Finished) },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// manyRules are as many rules as there can be, with as many codes.
func manyRules() (p backoff.ExitPolicy) {
	for i := range backoff.MaxRules {
		values := make([]int32, backoff.MaxExitCodes)
		for k := range values {
			values[k] = int32(2*k + 1000*i)
		}
		p.Rules = append(p.Rules, backoff.Rule{
			Action: restart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: values}, MinFailures: 1,
			Delay: &backoff.Policy{Initial: second, Max: minute}, Limit: 10, Window: time.Hour,
		})
	}
	return p
}

func BenchmarkExited(b *testing.B) {
	for name, p := range map[string]backoff.ExitPolicy{"plain": {}, "many-rules": manyRules()} {
		b.Run(name, func(b *testing.B) {
			r := newRestarterOf(b, backoff.ExitPolicy{}, backoff.RestarterOptions[string]{})
			e := crash(0, time.Now(), second)
			e.Code = -1
			b.ReportAllocs()
			for b.Loop() {
				e.Run++
				r.Exited("a", p, e)
			}
		})
	}
}

// crash is an exit that has just finished after running for ran.
func crash(run int64, now time.Time, ran time.Duration) backoff.Exit {
	return backoff.Exit{Run: run, Code: 1, Started: now.Add(-ran), Finished: now}
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
			step(c, remaining(r, "a"))
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
					r.Started(key, d.NotBefore)
					started++
					delete(pending, key)
				}
			}
		}
		check := func(t *rapid.T, key string, d backoff.Decision, least time.Time) {
			if d.NotBefore.Before(least) { // reported late: due at once
				d.NotBefore = least
			}
			left := d.NotBefore.Sub(c.Now())
			if remaining(r, key) != left || left > d.Delay {
				t.Fatalf("%s: %+v at %v, remaining %v", key, d, c.Now(), remaining(r, key))
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
				again := r.Exited(key, backoff.ExitPolicy{}, e)
				if again.New = true; again != d {
					t.Fatalf("again %+v, want %+v", again, d)
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
					other.Restore(key, s)
					if _, ok := pending[key]; ok {
						again, _ := other.State(key)
						pending[key] = again.Decision()
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

// An unused Rate changes no Delay and no wait, including those of exits
// reported late or when their restart is due.
func TestUnusedRateChangesNoWait(t *testing.T) {
	for _, late := range seconds(0, 4, 10, 3600) {
		c := fakeClock()
		free := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
		rated := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1})
		e := crash(1, c.Now().Add(-late), 0)
		want, got := free.Exited("a", backoff.ExitPolicy{}, e), rated.Exited("a", backoff.ExitPolicy{}, e)
		if got.Delay != want.Delay || remaining(rated, "a") != remaining(free, "a") {
			t.Errorf("reported %v late: %+v, remaining %v, want %+v, %v", late, got, remaining(rated, "a"), want, remaining(free, "a"))
		}
		if !got.NotBefore.Equal(want.NotBefore) {
			t.Errorf("reported %v late: not before %v, want %v", late, got.NotBefore, want.NotBefore)
		}
	}
}

// Under a Rate, waits stay within their Delay and end, however the clock jumps.
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
			for waited := time.Duration(0); remaining(r, key) > 0; waited += second {
				if left := remaining(r, key); left > delays[key] || waited > delays[key] {
					t.Fatalf("%s: %v left after %v of %v", key, left, waited, delays[key])
				}
				step(c, second)
			}
		}
	})
}

func TestRestarterAllEndsWhenItsLoopDoes(t *testing.T) {
	r, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Clock: fakeClock()})
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
				r.CanStart(own)
				r.Started(own, time.Time{})
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
	if n := r.Turns(); n > goroutines+1+goroutines*runs {
		t.Errorf("%d booked", n)
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
		if d.Action != backoff.ActionRestartAll || d.Delay != want || remaining(r, "a") != want {
			t.Errorf("exit %d: %s after %v, %v left; want %s after %v", i+1, d.Action, d.Delay, remaining(r, "a"), backoff.ActionRestartAll, want)
		}
		step(c, want+second)
	}
}
