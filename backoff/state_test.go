package backoff_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/restartkit/restart/backoff"
)

// These are the promises of a State, one test each. state_model_test.go compares random
// histories with a model.

// life drives one State along a clock. Its exits are failures that report nothing but
// their code.
type life struct {
	t      *testing.T
	state  backoff.State
	policy backoff.ExitPolicy
	now    time.Time
}

func newLife(t *testing.T, p backoff.ExitPolicy) *life {
	if p.Delay == nil {
		p.Delay = &tenSeconds
	}
	return &life{t: t, policy: p, now: t0}
}

func (l *life) pass(d time.Duration) { l.now = l.now.Add(d) }

func (l *life) exit(e backoff.Exit) backoff.Decision {
	return l.state.Exited(&l.policy, e, l.now, 0)
}

// crash fails after a run that begins now.
func (l *life) crash(ran time.Duration) backoff.Decision {
	started := l.now
	l.pass(ran)
	return l.exit(backoff.Exit{Code: 1, Started: started})
}

// canStart checks the answer of CanStart; a wait below 0 stands for never.
func (l *life) canStart(what string, wait time.Duration) {
	l.t.Helper()
	if wait < 0 {
		wait = math.MaxInt64
	}
	if ok, got := l.state.CanStart(&l.policy, l.now); ok != (wait == 0) || got != wait {
		l.t.Errorf("%s: may start: %t, in %v; want %v", what, ok, got, wait)
	}
}

func decided(d backoff.Decision, action backoff.Action, failures int, delay time.Duration) bool {
	return d.Action == action && d.Failures == failures && d.Delay == delay && d.New && d.Invalid == nil
}

const (
	hour    = time.Hour
	restart = backoff.ActionRestart
	giveUp  = backoff.ActionGiveUp
)

func TestDelaysGrowAndALongRunStartsThemOver(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{})
	l.canStart("before the first exit", 0)
	for i, tt := range []struct {
		ran      time.Duration
		failures int
		delay    time.Duration
	}{{second, 1, 10 * second}, {second, 2, 20 * second}, {160 * second, 3, 40 * second}, {161 * second, 1, 10 * second}, {0, 2, 20 * second}} {
		if d := l.crash(tt.ran); !decided(d, restart, tt.failures, tt.delay) || !d.NotBefore.Equal(l.now.Add(tt.delay)) {
			t.Errorf("exit %d: %+v, want %+v", i, d, tt)
		}
		l.canStart("at the exit", tt.delay)
		l.pass(tt.delay - 1)
		l.canStart("just before", 1)
		l.pass(1)
		l.canStart("when it is due", 0)
		l.pass(time.Hour) // a long wait is no run
	}
}

// The wait of an exit reported late began when the run ended.
func TestWaitCountsFromTheEndOfTheRun(t *testing.T) {
	for late, left := range map[time.Duration]time.Duration{0: 10 * second, 4 * second: 6 * second, time.Hour: 0, -time.Hour: 10 * second} {
		l := newLife(t, backoff.ExitPolicy{})
		d := l.exit(backoff.Exit{Code: 1, Finished: l.now.Add(-late)})
		if d.Delay != 10*second {
			t.Errorf("reported %v late: %+v", late, d)
		}
		l.canStart("reported late", left)
	}
}

// Each decision allows one start. A start is used up until the next exit.
func TestDecisionAllowsOneStart(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{})
	if !l.state.Started(l.now) || l.state.Started(l.now) {
		t.Error("the first start was not used up once")
	}
	l.canStart("running", -1)
	l.crash(second)
	l.pass(10 * second)
	l.canStart("due", 0)
	if !l.state.Started(l.now) || l.state.Started(l.now) {
		t.Error("the second start was not used up once")
	}
	l.canStart("running again", -1)
	// The same exit, reported again, allows no other start.
	l.state.Exited(&l.policy, l.state.Exit, l.now, 0)
	l.canStart("told of the old exit", -1)
}

// An exit that does not say when its run began is no long run, however long ago Started
// was. Only Healthy tells that it lasted.
func TestUnseenTimeIsNoRun(t *testing.T) {
	for _, healthy := range []bool{false, true} {
		l := newLife(t, backoff.ExitPolicy{})
		l.crash(0)
		l.crash(0)
		l.pass(minute)
		l.state.Started(l.now)
		l.pass(time.Hour)
		if got := l.state.Healthy(&l.policy, l.now.Add(-map[bool]time.Duration{true: minute, false: time.Hour}[healthy])); got != healthy {
			t.Errorf("healthy: %t: forgotten: %t", healthy, got)
		}
		if d := l.exit(backoff.Exit{Code: 1}); d.Failures != map[bool]int{true: 1, false: 3}[healthy] {
			t.Errorf("healthy: %t: %+v", healthy, d)
		}
	}
}

func TestStartedUsesTheStartUp(t *testing.T) {
	// A time before the end of the last run counts as that end, and a later one corrects it.
	l := newLife(t, backoff.ExitPolicy{})
	l.crash(0)
	for i, at := range []time.Time{{}, t0.Add(-minute), t0.Add(minute), t0} {
		if used := !l.state.Started(at); used != (i > 0) {
			t.Errorf("call %d: used: %t", i, used)
		}
		if want := t0.Add(map[bool]time.Duration{true: minute}[i >= 2]); !l.state.StartedAt.Equal(want) {
			t.Errorf("call %d: started at %v, want %v", i, l.state.StartedAt, want)
		}
	}
}

// After the clock was set back, a healthy run is forgotten for no longer than ResetAfter.
func TestHealthyUnderAClockThatWasSetBack(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{})
	l.crash(0)
	l.state.Started(l.now)
	l.pass(-400 * 24 * time.Hour)
	l.state.Healthy(&l.policy, l.now)
	l.pass(161 * second)
	if !l.state.Healthy(&l.policy, l.now) {
		t.Errorf("%+v", l.state)
	}
}

// A run begins no sooner than the one before it ended, so a start in 1970, or that of the
// supervisor, makes no long run.
func TestRunBeginsAfterTheLast(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{Retries: 3})
	for n := range 3 {
		l.pass(minute)
		if d := l.exit(backoff.Exit{Code: 1, Started: time.Unix(0, 0)}); d.Action != restart || n > 0 && d.Failures != n+1 {
			t.Errorf("exit %d: %+v", n, d)
		}
	}
	if d := l.exit(backoff.Exit{Code: 1, Started: time.Unix(0, 0)}); d.Action != giveUp {
		t.Errorf("%+v", d)
	}
	l.pass(hour)
	l.state.Started(time.Time{})
	if !l.state.StartedAt.Equal(l.state.Exit.Finished) {
		t.Errorf("started at %v, before the end of the last run", l.state.StartedAt)
	}
}

// A reached limit counts whatever decides afterwards, and the reason says so.
func TestReachedLimitIsNotBlamedOnAnother(t *testing.T) {
	once := backoff.Rule{Name: "once", Action: restart, Reasons: []string{"A"}, Limit: 1}
	l := newLife(t, backoff.ExitPolicy{Rules: []backoff.Rule{once}, Limit: 9, Window: hour})
	var reasons []string
	for _, reason := range []string{"A", "A", "B"} {
		e := backoff.Exit{Code: 1, Reason: reason}
		reasons = append(reasons, l.exit(e).Reason(l.policy, e))
	}
	want := []string{
		"exit code 1 (A) meets rule once: restarts in 10s (failure 1 in a row)",
		"exit code 1 (A) meets rule once: given up, the rule's limit of 1 restart is used up (failure 2 in a row)",
		"exit code 1 (B) under restartPolicy Always: given up, because a limit was reached before (failure 3 in a row)",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
}

// Repeated counts do not keep a limit from being reached.
func TestRepeatedCountsOfARule(t *testing.T) {
	twice := func(name string) backoff.Rule {
		return backoff.Rule{Name: name, Action: restart, Reasons: []string{name}, Limit: 2}
	}
	l := newLife(t, backoff.ExitPolicy{Rules: []backoff.Rule{twice("a"), twice("b")}})
	l.state.Rules = slices.Repeat([]backoff.RuleCounts{{Rule: 0, Name: "a"}}, 20)
	for n := range 3 {
		if d := l.exit(backoff.Exit{Code: 1, Reason: "b"}); (d.Action == giveUp) != (n == 2) {
			t.Errorf("exit %d: %+v", n, d)
		}
	}
}

// A run that ended with the program that ran it is no failure, and starts again.
func TestLostRunStartsAgain(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{})
	l.state.Lost() // nothing runs
	l.canStart("before the first start", 0)
	l.state.Started(l.now)
	l.state.Lost()
	l.canStart("the first run is lost", 0)
	l.crash(0)
	l.canStart("it waits", 10*second)
	l.pass(10 * second)
	l.state.Started(l.now)
	l.canStart("it runs", -1)
	l.pass(time.Hour)
	l.state.Lost()
	l.canStart("the second run is lost", 0)
	if d := l.crash(0); !decided(d, restart, 2, 20*second) {
		t.Errorf("%+v", d)
	}
}

// A program that polls sees that something still runs, and no exit.
func TestHealthyStartsCountsOver(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{Retries: 2})
	for range 2 {
		l.crash(0)
	}
	l.state.Started(l.now)
	l.pass(160 * second)
	if l.state.Healthy(&l.policy, l.now) || l.state.Failures != 2 {
		t.Errorf("too early: %d failures", l.state.Failures)
	}
	l.pass(second)
	if !l.state.Healthy(&l.policy, l.now) || l.state.Healthy(&l.policy, l.now) {
		t.Error("the failures were not forgotten once")
	}
	l.canStart("it runs", -1)
	if d := l.exit(backoff.Exit{Code: 1, Started: l.now}); !decided(d, restart, 1, 10*second) {
		t.Errorf("%+v", d)
	}
	l.pass(time.Hour)
	l.state.Healthy(&l.policy, l.now) // nothing runs
	if l.state.Failures != 1 {
		t.Error("a wait counted as a run")
	}
}

// Healthy reports every change of what is stored: that of a rule's counts, of a rule that
// the policy no longer has, of damaged counts, and of a start in the future. The next poll
// finds nothing to change.
func TestHealthyReportsEveryChange(t *testing.T) {
	curve, quick := backoff.CrashLoop(), backoff.CrashLoop()
	curve.ResetAfter, quick.ResetAfter = hour, minute
	l := newLife(t, backoff.ExitPolicy{Delay: &curve, Rules: []backoff.Rule{
		{Name: "r", Action: restart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{7}}, Delay: &quick, Limit: 3},
	}})
	for range 3 {
		l.exit(backoff.Exit{Code: 7})
	}
	l.state.Started(l.now)
	l.pass(2 * minute)
	for _, change := range []struct {
		name string
		make func(*backoff.State)
	}{
		{"a run longer than the ResetAfter of a rule", func(*backoff.State) {}},
		{"a removed rule", func(s *backoff.State) { s.Rules = append(s.Rules, backoff.RuleCounts{Rule: 5, Name: "removed"}) }},
		{"a rule with another index", func(s *backoff.State) { s.Rules[0].Rule = 5 }},
		{"a negative count", func(s *backoff.State) { s.RuleFailures = -1 }},
		{"a start in the future", func(s *backoff.State) { s.StartedAt = l.now.Add(hour) }},
	} {
		change.make(&l.state)
		before := mustJSON(t, l.state)
		if !l.state.Healthy(&l.policy, l.now) {
			t.Errorf("%s: not reported; was\n%s, is\n%s", change.name, before, mustJSON(t, l.state))
		}
		if l.state.Healthy(&l.policy, l.now) {
			t.Errorf("%s: reported twice: %s", change.name, mustJSON(t, l.state))
		}
	}
}

// Restarts within a window. The window forgets them one by one, and a long run does not.
func TestLimitWithinAWindow(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{Limit: 3, Window: time.Hour})
	for n := range 3 { // a slow leak: each run is longer than ResetAfter
		if d := l.crash(10 * minute); d.Action != restart || d.Failures != 1 {
			t.Errorf("exit %d: %+v", n, d)
		}
	}
	if d := l.crash(10 * minute); d.Action != giveUp || !d.NotBefore.IsZero() {
		t.Errorf("%+v", d)
	}
	l.canStart("given up", -1)
	l.pass(1000 * time.Hour)
	l.canStart("given up for good", -1)

	l = newLife(t, backoff.ExitPolicy{Limit: 3, Window: time.Hour})
	for n := range 10 {
		if d := l.crash(20 * minute); d.Action != restart {
			t.Errorf("three in an hour, exit %d: %+v", n, d)
		}
	}
}

// A limit without a window counts until a long run.
func TestLimitWithoutAWindow(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{Limit: 2})
	var got []backoff.Action
	for _, ran := range []time.Duration{0, 0, 161 * second, 0, 0, 0} {
		got = append(got, l.crash(ran).Action)
		l.pass(time.Hour)
	}
	if want := []backoff.Action{restart, restart, restart, restart, giveUp, giveUp}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// At most n failures in a row.
func TestRetries(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{Retries: 3})
	var got []backoff.Action
	for _, ran := range []time.Duration{0, 0, 161 * second, 0, 0, 0} {
		got = append(got, l.crash(ran).Action)
	}
	if want := []backoff.Action{restart, restart, restart, restart, restart, giveUp}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A crash-loop latch: a give-up by a limit opens after an hour for one start. If that
// run fails it gives up again for an hour, whatever the window; if it lasts, all is
// forgotten.
func TestGiveUpEnds(t *testing.T) {
	limits := map[string]backoff.ExitPolicy{
		"in a row":         {Retries: 2},
		"in a window":      {Limit: 2, Window: minute},
		"without a window": {Limit: 2},
		"of a rule":        {Rules: []backoff.Rule{{Action: restart, MinFailures: 1, Limit: 2, Window: minute}}},
		"a rule, for ever": {Rules: []backoff.Rule{{Action: restart, MinFailures: 1, Limit: 2}}},
	}
	for name, p := range limits {
		p.GiveUpFor = time.Hour
		l := newLife(t, p)
		l.crash(0)
		l.crash(0)
		for round := range 3 {
			if d := l.crash(second); d.Action != giveUp || d.Delay != time.Hour || !d.NotBefore.Equal(l.now.Add(time.Hour)) {
				t.Errorf("%s, round %d: %+v", name, round, d)
			}
			l.canStart(name+": given up", time.Hour)
			text, err := json.Marshal(l.state) // a crash of the program
			if err != nil {
				t.Fatal(err)
			}
			l.state = backoff.State{}
			if err := json.Unmarshal(text, &l.state); err != nil {
				t.Fatal(err)
			}
			l.pass(time.Hour)
			l.canStart(name+": one start", 0)
			l.state.Started(l.now)
			l.canStart(name+": used up", -1)
		}
		started := l.now
		l.pass(161 * second)
		if d := l.exit(backoff.Exit{Code: 1, Started: started}); !decided(d, restart, 1, 10*second) {
			t.Errorf("%s, after a long run: %+v", name, d)
		}
		if d := l.crash(0); d.Action != restart {
			t.Errorf("%s, the limits count anew: %+v", name, d)
		}
		if d := l.crash(0); d.Action != giveUp {
			t.Errorf("%s, and are reached again: %+v", name, d)
		}
	}
}

// The exit after a stop starts everything over.
func TestStopStartsOver(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Limit: 2, Window: time.Hour})
	l.crash(0)
	l.crash(0)
	if d := l.exit(backoff.Exit{Code: 0}); d.Action != backoff.ActionStop || d.Failures != 2 {
		t.Errorf("%+v", d)
	}
	l.canStart("stopped", -1)
	for n := range 2 {
		if d := l.crash(0); !decided(d, restart, n+1, tenSeconds.Delay(n+1)) {
			t.Errorf("%+v", d)
		}
	}
	if d := l.crash(0); d.Action != giveUp {
		t.Errorf("%+v", d)
	}
}

// A rule's own GiveUp lasts until it is forgiven, whatever GiveUpFor says.
func TestOnlyForgiveEndsTheGiveUpOfARule(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{GiveUpFor: minute, Rules: []backoff.Rule{{Action: giveUp, Reasons: []string{"Config"}}}})
	l.crash(0)
	if d := l.exit(backoff.Exit{Code: 1, Run: 7, Reason: "Config"}); d.Action != giveUp || !d.NotBefore.IsZero() {
		t.Errorf("%+v", d)
	}
	l.pass(1000 * time.Hour)
	l.canStart("given up", -1)
	l.state.Forgive(l.now)
	l.canStart("forgiven", 0)
	if l.state.Exit.Run != 7 || l.state.Failures != 0 {
		t.Errorf("%+v", l.state)
	}
	if d := l.exit(backoff.Exit{Code: 1, Run: 7}); d.New {
		t.Errorf("the same exit was decided anew: %+v", d)
	}
	l.state.Started(l.now)
	since := l.state.NotBefore
	l.pass(minute)
	l.state.Forgive(l.now) // it runs, so there is no other start
	l.canStart("running", -1)
	if !l.state.NotBefore.Equal(since) {
		t.Errorf("forgiven while it runs: %+v", l.state)
	}
	if d := l.crash(0); !decided(d, restart, 1, 10*second) {
		t.Errorf("%+v", d)
	}
	var fresh backoff.State
	if fresh.Forgive(t0); !cmp.Equal(fresh, backoff.State{}) {
		t.Errorf("before the first exit: %+v", fresh)
	}
}

// A pause is the last exit, and changes neither failures nor limits. A long run before it
// starts the counts over all the same.
func TestUncountedExitsAreNoFailures(t *testing.T) {
	pause := backoff.Rule{Name: "pause", Action: restart, Reasons: []string{"Paused"}, Uncounted: true}
	slow := pause
	slow.Delay = &backoff.Policy{Initial: 3 * second, Max: minute, FreeFailures: 9}
	paused := backoff.Exit{Code: 1, Reason: "Paused"}

	l := newLife(t, backoff.ExitPolicy{Rules: []backoff.Rule{pause}, Limit: 2})
	l.crash(0)
	for range 3 {
		l.pass(10 * second)
		if d := l.exit(paused); !decided(d, restart, 1, 0) || d.RuleName != "pause" {
			t.Errorf("%+v", d)
		}
	}
	if d := l.crash(0); !decided(d, restart, 2, 20*second) {
		t.Errorf("the second crash: %+v", d)
	}
	l.pass(5 * second)
	if d := l.exit(paused); !decided(d, restart, 2, 15*second) {
		t.Errorf("what is left of the wait before: %+v", d)
	}
	if d := l.crash(0); d.Action != giveUp {
		t.Errorf("the limit counted without the pauses: %+v", d)
	}
	l = newLife(t, backoff.ExitPolicy{Rules: []backoff.Rule{slow}})
	for range 3 {
		if d := l.exit(paused); !decided(d, restart, 0, 3*second) {
			t.Errorf("its rule's delay: %+v", d)
		}
	}
	l.crash(0)
	started := l.now
	l.pass(161 * second)
	if d := l.exit(backoff.Exit{Code: 1, Reason: "Paused", Started: started}); d.Failures != 0 {
		t.Errorf("after a long run: %+v", d)
	}
}

// An invalid policy stops, says so, and leaves the State as it was; once it is mended,
// the same exit is decided.
func TestInvalidPolicyDecidesNothing(t *testing.T) {
	for name, p := range map[string]backoff.ExitPolicy{
		"misspelled":       {RestartPolicy: "never"},
		"curve":            {Delay: &backoff.Policy{}},
		"curve of a rule":  {Rules: []backoff.Rule{{Action: restart, MinFailures: 1, Delay: &backoff.Policy{Initial: minute, Max: second}}}},
		"no condition":     {Rules: []backoff.Rule{{Action: restart}}},
		"unknown action":   {Rules: []backoff.Rule{{Action: "Reboot", MinFailures: 1}}},
		"limits":           {Limit: -1},
		"window":           {Window: second},
		"max failures":     {Retries: -1},
		"give up":          {GiveUpFor: -1},
		"uncounted limits": {Rules: []backoff.Rule{{Action: restart, MinFailures: 1, Uncounted: true, Limit: 1}}},
	} {
		l := newLife(t, backoff.ExitPolicy{})
		l.crash(0)
		l.crash(0)
		before, err := json.Marshal(l.state)
		if err != nil {
			t.Fatal(err)
		}
		e := backoff.Exit{Run: 1, Code: 1}
		d := l.state.Exited(&p, e, l.now, 0)
		if d.Action != backoff.ActionStop || !d.New || d.Invalid == nil || !strings.Contains(d.Reason(p, e), "the policy is invalid: ") {
			t.Errorf("%s: %+v: %s", name, d, d.Reason(p, e))
		}
		if after, _ := json.Marshal(l.state); string(after) != string(before) {
			t.Errorf("%s: %s, before %s", name, after, before)
		}
		if d := l.exit(e); !decided(d, restart, 3, 40*second) {
			t.Errorf("%s, mended: %+v", name, d)
		}
		var fresh backoff.State
		if ok, wait := fresh.CanStart(&p, l.now); ok || wait != backoff.Forever {
			t.Errorf("%s: may start: %t, in %v", name, ok, wait)
		}
	}
}

// A nil policy is the zero one: the kubelet's curve, without limits.
func TestNilPolicyIsTheZeroPolicy(t *testing.T) {
	var s backoff.State
	if d := s.Exited(nil, backoff.Exit{Code: 0}, t0, 0); !decided(d, restart, 1, 10*second) {
		t.Errorf("%+v", d)
	}
	if ok, wait := s.CanStart(nil, t0); ok || wait != 10*second {
		t.Errorf("%t, %v", ok, wait)
	}
	s.Started(t0)
	s.Healthy(nil, t0.Add(11*minute))
	if s.Failures != 0 {
		t.Errorf("%+v", s)
	}
}

// All combinations of Run and Finished after an exit at 5s, reported at once.
func TestIdentityOfExits(t *testing.T) {
	const isNew, known = true, false
	stamps := []string{"unknown", "earlier", "same", "within a second", "later"}
	for _, tt := range []struct {
		name     string
		last     int64
		run      int64
		finished [5]bool
	}{
		{"higher Run", 5, 6, [5]bool{isNew, isNew, isNew, isNew, isNew}},
		{"same Run", 5, 5, [5]bool{known, known, known, known, isNew}},
		{"lower Run", 5, 4, [5]bool{known, known, known, isNew, isNew}}, // the counter has started over
		{"no Run any more", 5, 0, [5]bool{isNew, known, known, isNew, isNew}},
		{"never a Run", 0, 0, [5]bool{isNew, known, known, isNew, isNew}},
		{"a Run at last", 0, 1, [5]bool{isNew, isNew, isNew, isNew, isNew}},
		{"below zero", -1, -2, [5]bool{isNew, known, known, isNew, isNew}},
	} {
		for _, says := range []bool{true, false} { // whether the last exit says when it finished
			for i, want := range tt.finished {
				l := newLife(t, backoff.ExitPolicy{})
				l.pass(5 * second)
				last := backoff.Exit{Run: tt.last, Code: 1}
				if says {
					last.Finished = l.now
				}
				first := l.exit(last)
				l.pass(4 * second)
				next := backoff.Exit{Run: tt.run, Code: 2}
				if i > 0 {
					next.Finished = at([]float64{4, 5, 5.5, 7}[i-1])
				}
				got := l.exit(next)
				if got.New != want || got.Failures != map[bool]int{isNew: 2, known: 1}[want] {
					t.Errorf("%s, finished %s, last says when: %t: %+v", tt.name, stamps[i], says, got)
				}
				if first.New = false; !want && got != first {
					t.Errorf("%s, finished %s: %+v, want %+v", tt.name, stamps[i], got, first)
				}
			}
		}
	}
}

// A counter of runs that does not grow makes every failed attempt wait.
func TestCounterThatDoesNotGrow(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{})
	for n := range 4 {
		d := l.exit(backoff.Exit{Run: 1, Code: 128, Finished: l.now})
		if !decided(d, restart, n+1, tenSeconds.Delay(n+1)) {
			t.Errorf("attempt %d: %+v", n+1, d)
		}
		l.pass(d.Delay)
	}
}

// Without a Run, an exit that lies ahead of the clock, or a clock set back,
// makes an earlier exit new: it may count twice, but is not lost.
func TestExitsWithoutRunWhileAClockIsWrong(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{})
	l.exit(backoff.Exit{Code: 1, Finished: at(3600)}) // its clock is ahead by an hour
	l.pass(10 * second)
	if d := l.exit(backoff.Exit{Code: 1, Finished: at(3600)}); d.New {
		t.Errorf("the same exit: %+v", d)
	}
	if d := l.exit(backoff.Exit{Code: 1, Finished: at(9)}); !d.New || d.Failures != 2 {
		t.Errorf("by a clock that is right: %+v", d)
	}
	l.pass(-minute)
	if d := l.exit(backoff.Exit{Code: 1, Finished: at(-51)}); !d.New || d.Failures != 3 {
		t.Errorf("the clock was set back: %+v", d)
	}
	if d := l.exit(backoff.Exit{Code: 1, Finished: at(-52)}); d.New {
		t.Errorf("an old one: %+v", d)
	}
	l = newLife(t, backoff.ExitPolicy{})
	l.pass(time.Hour)
	l.exit(backoff.Exit{Code: 1, Finished: at(0)}) // reported an hour late
	if d := l.exit(backoff.Exit{Code: 1, Finished: at(-1)}); d.New {
		t.Errorf("an old one: %+v", d)
	}
	l.pass(-minute)
	if d := l.exit(backoff.Exit{Code: 1, Finished: at(-1)}); !d.New {
		t.Errorf("the clock was set back since that report: %+v", d)
	}
}

// RetryAfter makes a delay longer, up to the Max of its curve, and never shorter.
func TestRetryAfterIsAMinimum(t *testing.T) {
	busy := backoff.Rule{Name: "busy", Action: restart, Reasons: []string{"Busy"}, Delay: &backoff.Policy{Initial: second, Max: 30 * second}}
	l := newLife(t, backoff.ExitPolicy{Rules: []backoff.Rule{busy}})
	for i, tt := range []struct {
		reason string
		after  time.Duration
		want   time.Duration
	}{{"", 5 * second, 10 * second}, {"", 25 * second, 25 * second}, {"", time.Hour, 80 * second}, {"", -time.Hour, 80 * second}, {"Busy", time.Hour, 30 * second}, {"Busy", 0, 2 * second}} {
		if d := l.exit(backoff.Exit{Code: 1, Reason: tt.reason, RetryAfter: tt.after}); d.Delay != tt.want {
			t.Errorf("exit %d: %+v, want %v", i, d, tt.want)
		}
	}
}

// The draw shortens a delay by jitter. Numbers outside [0, 1) and NaN do no harm.
func TestDrawIsForJitter(t *testing.T) {
	jittered := backoff.Policy{Initial: 8 * second, Max: 8 * second, Jitter: 0.5}
	for draw, want := range map[float64]time.Duration{0: 8 * second, 0.5: 6 * second, 1: 4*second + 1, 7: 4*second + 1, -1: 8 * second, math.NaN(): 8 * second, math.Inf(1): 4*second + 1} {
		var s backoff.State
		if d := s.Exited(&backoff.ExitPolicy{Delay: &jittered}, backoff.Exit{Code: 1}, t0, draw); d.Delay != want {
			t.Errorf("draw %v: %v, want %v", draw, d.Delay, want)
		}
	}
}

// RestartNow ends the wait of a restart, and of nothing else.
func TestRestartNow(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{Retries: 1, GiveUpFor: minute})
	if l.state.RestartNow(l.now) {
		t.Error("before the first exit")
	}
	l.crash(0)
	l.pass(4 * second)
	if !l.state.RestartNow(l.now) {
		t.Error("a restart that waits")
	}
	l.canStart("woken", 0)
	if d := l.state.Decision(); d.Delay != 0 || !d.NotBefore.Equal(l.now) || d.Failures != 1 {
		t.Errorf("%+v", d)
	}
	l.state.Started(l.now)
	if l.state.RestartNow(l.now) {
		t.Error("one that runs")
	}
	l.crash(0)
	if l.state.RestartNow(l.now) {
		t.Error("a give-up")
	}
	l.canStart("given up", minute)
}

// Within a process, waits follow the monotonic clock. Stored and loaded, a wait that a
// clock set back moved into the future lasts at most its delay once more.
func TestWaitsUnderASetClock(t *testing.T) {
	for _, set := range []time.Duration{-24 * time.Hour, -15 * second, -5 * second, 5 * second, 24 * time.Hour} {
		c := backoff.NewSystemClock()
		p := backoff.ExitPolicy{Delay: &tenSeconds}
		var s backoff.State
		s.Exited(&p, backoff.Exit{Code: 1}, c.Now(), 0)
		c.Elapsed, c.Set = 4*second, set
		if _, wait := s.CanStart(&p, c.Now()); wait != 6*second {
			t.Errorf("set by %v: %v left", set, wait)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var loaded backoff.State
		if err := json.Unmarshal(text, &loaded); err != nil {
			t.Fatal(err)
		}
		want := map[time.Duration]time.Duration{-24 * time.Hour: 0, -15 * second: 0, -5 * second: 10 * second, 5 * second: second, 24 * time.Hour: 0}[set]
		if set == -15*second {
			want = 0 // 11 seconds ahead, more than the delay
		}
		if _, wait := loaded.CanStart(&p, c.Wall()); wait != want {
			t.Errorf("set by %v and loaded: %v left, want %v", set, wait, want)
		}
	}
}

// Times that JSON cannot represent are dropped when they enter, or moved into its years.
func TestEveryStateCanBeStored(t *testing.T) {
	odd := time.FixedZone("odd", 1172)
	times := []time.Time{{}, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), t0.In(odd), time.Unix(math.MaxInt64>>1, 0), time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -7200))}
	p := backoff.ExitPolicy{Delay: &backoff.Policy{Initial: math.MaxInt64, Max: math.MaxInt64}, Limit: 2, Window: time.Hour}
	for _, now := range times {
		for _, stamp := range times {
			var s backoff.State
			s.Exited(&p, backoff.Exit{Code: 1, Started: stamp, Finished: stamp, Reason: "a\xffb"}, now, 0)
			s.Started(stamp)
			text, err := json.Marshal(s)
			if err != nil {
				t.Errorf("at %v, finished %v: %v", now, stamp, err)
			}
			var again backoff.State
			if err := json.Unmarshal(text, &again); err != nil {
				t.Errorf("at %v, finished %v: %v", now, stamp, err)
			}
		}
	}
	var s backoff.State
	s.Exited(&p, backoff.Exit{Code: 1, Started: times[2], Finished: t0.In(odd)}, t0, 0)
	if !s.Exit.Started.IsZero() || !s.Exit.Finished.Equal(t0) {
		t.Errorf("%+v", s.Exit)
	}
}

// The JSON of a State has no durations, and reads back as the same State.
func TestStateRoundTrips(t *testing.T) {
	l := newLife(t, backoff.ExitPolicy{Limit: 5, Window: time.Hour, Rules: []backoff.Rule{{Name: "oom", Action: restart, Reasons: []string{"OOMKilled"}, Limit: 2, Window: minute, Delay: &tenSeconds}}})
	l.crash(second)
	l.exit(backoff.Exit{Run: 3, Code: 137, Reason: "OOMKilled"})
	text, err := json.Marshal(l.state)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"exit":{"run":3,"code":137,"reason":"OOMKilled","finished":"2026-03-01T12:00:01Z"},"reported":"2026-03-01T12:00:01Z",` +
		`"action":"Restart","failures":2,"ruleName":"oom","ruleFailures":1,"from":"2026-03-01T12:00:01Z","notBefore":"2026-03-01T12:00:11Z",` +
		`"recent":["2026-03-01T12:00:01Z"],"rules":[{"rule":0,"name":"oom","failures":1,"recent":["2026-03-01T12:00:01Z"]}]}`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	var again backoff.State
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.state, again, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if text, err := json.Marshal(backoff.State{}); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
}
