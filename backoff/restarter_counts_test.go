package backoff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
)

// Out of memory: three restarts in an hour, then give up. Code 75: every five seconds,
// forever. Anything else: the node's curve. Each has its own count.
func TestEachRuleHasItsOwnCurveAndLimit(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	r := newRestarter(t, backoff.CrashLoop(), o)
	p := richPolicy()
	p.Rules = p.Rules[:2]
	type row struct {
		code   int32
		reason string
		action backoff.Action
		delay  time.Duration
		rule   string
		own    int
	}
	run := int64(0)
	check := func(rows ...row) {
		t.Helper()
		for _, w := range rows {
			run++
			d := r.Exited("a", p, backoff.Exit{Run: run, Code: w.code, Reason: w.reason, Started: c.Now(), Finished: c.Now()})
			if d.Action != w.action || d.Delay != w.delay || d.RuleName != w.rule || d.RuleFailures != w.own || d.Failures != int(run) {
				t.Errorf("exit %d: %+v, want %+v", run, d, w)
			}
			r = reborn(t, r, backoff.CrashLoop(), o)
			step(c, second)
		}
	}
	busy := func(n int) row { return row{75, "Error", backoff.ActionRestart, 5 * second, "busy", n} }
	oom := func(d time.Duration) row { return row{137, "OOMKilled", backoff.ActionRestart, d, "oom", 0} }
	check(busy(1), busy(2), oom(40*second), oom(80*second), row{1, "Error", backoff.ActionRestart, 160 * second, "", 0}, busy(3))
	for n := range 5 {
		check(busy(4 + n))
	}
	check(oom(300*second), row{137, "OOMKilled", backoff.ActionGiveUp, 0, "oom", 0})
	step(c, time.Hour)
	check(oom(300 * second))
}

// The Restarter's limit applies to rules without a Limit only.
func TestRuleLimitReplacesRestarterLimit(t *testing.T) {
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock(), Limit: 2})
	p := richPolicy()
	var got []backoff.Action
	for run, e := range []backoff.Exit{{Code: 75}, {Reason: "OOMKilled"}, {Reason: "OOMKilled"}, {Code: 1}, {Code: 75}, {Reason: "OOMKilled"}, {Code: 1}, {Reason: "OOMKilled"}} {
		e.Run = int64(run + 1)
		got = append(got, r.Exited("a", p, e).Action)
	}
	if want := []backoff.Action{backoff.ActionRestart, backoff.ActionRestart, backoff.ActionRestart, backoff.ActionRestart, backoff.ActionGiveUp, backoff.ActionRestart, backoff.ActionGiveUp, backoff.ActionGiveUp}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A run longer than a rule's own ResetAfter resets the rule's failures, even if another
// rule decided on its exit. It does not reset the rule's limit.
func TestLongRunResetsRuleFailures(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	p := backoff.ExitPolicy{Rules: backoff.Rules{{Name: "fast", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{2}}, Delay: &backoff.Policy{Initial: second, Max: 8 * second}, Limit: 4}}}
	run := int64(0)
	for _, tt := range []struct {
		code       int32
		ran        time.Duration
		own, count int
		action     backoff.Action
	}{
		{2, 0, 1, 1, backoff.ActionRestart}, {2, 0, 2, 2, backoff.ActionRestart}, {1, 16 * second, 0, 3, backoff.ActionRestart}, {2, 0, 3, 4, backoff.ActionRestart},
		{1, 17 * second, 0, 5, backoff.ActionRestart}, {2, 0, 1, 6, backoff.ActionRestart}, {2, 0, 2, 7, backoff.ActionGiveUp}, {2, 601 * second, 1, 1, backoff.ActionGiveUp},
	} {
		run++
		step(c, tt.ran)
		if d := r.Exited("a", p, backoff.Exit{Run: run, Code: tt.code, Started: c.Now().Add(-tt.ran), Finished: c.Now()}); d.RuleFailures != tt.own || d.Failures != tt.count || d.Action != tt.action {
			t.Errorf("exit %d: %+v, want %+v", run, d, tt)
		}
	}
}

// Counts follow a rule's name, or its index if unnamed. Those of removed rules are
// dropped.
func TestCountsFollowTheNameOfARule(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	rule := func(name string, code int32) backoff.Rule {
		return backoff.Rule{Name: name, Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{code}}, Delay: &backoff.Policy{Initial: second, Max: minute}}
	}
	run := int64(0)
	exit := func(code int32, rules ...backoff.Rule) int {
		run++
		return r.Exited("a", backoff.ExitPolicy{Rules: rules}, backoff.Exit{Run: run, Code: code}).RuleFailures
	}
	a, b, none := rule("a", 1), rule("b", 2), rule("", 3)
	got := []int{exit(1, a, b, none), exit(2, a, b, none), exit(3, a, b, none), exit(1, b, a, none), exit(3, b, a, none), // moved: a goes on
		exit(3, none, b, a),                                           // without a name, an index is another rule
		exit(2, a), exit(2, a, b), exit(2), exit(2, a, b), exit(1, a)} // b was gone; without any rules it is not
	if want := []int{1, 1, 1, 2, 2, 1, 0, 1, 0, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
	if s, _ := r.State("a"); len(s.Rules) != 1 || s.Rules[0].Name != "a" {
		t.Errorf("kept %+v", s.Rules)
	}
}

// RetryAfter raises a delay, up to the Max of the curve in force.
func TestRetryAfterIsMinimumDelay(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	p := richPolicy()
	for i, tt := range []struct {
		code  int32
		after time.Duration
		want  time.Duration
	}{{1, 5 * second, 10 * second}, {1, 25 * second, 25 * second}, {1, time.Hour, 300 * second}, {1, -time.Hour, 80 * second}, {75, time.Minute, 5 * second}} {
		if d := r.Exited("a", p, backoff.Exit{Run: int64(i + 1), Code: tt.code, RetryAfter: tt.after}); d.Delay != tt.want || r.Remaining("a") != tt.want {
			t.Errorf("exit %d: %+v, want %v", i, d, tt.want)
		}
	}
}

// The history holds the newest exits, up to the option History, with their decisions.
func TestHistoryHoldsTheExitsBeforeTheLast(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c, History: 3}
	r := newRestarter(t, backoff.CrashLoop(), o)
	var want []backoff.ExitRecord
	for run := range int64(8) {
		e := crash(run+1, c.Now(), 0)
		d := r.Exited("a", backoff.ExitPolicy{}, e)
		r.Exited("a", backoff.ExitPolicy{}, e) // again: nothing new
		if run == 4 {
			d, _ = r.RestartNow("a") // what was decided in the end
		}
		s, _ := r.State("a")
		if diff := cmp.Diff(want[max(0, len(want)-3):], s.History); diff != "" && len(want) > 0 {
			t.Errorf("run %d: %s", run, diff)
		}
		want = append(want, backoff.ExitRecord{e, d})
		step(c, second)
		if run%3 == 2 {
			r = reborn(t, r, backoff.CrashLoop(), o)
		}
	}
	less := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, History: 2})
	s, _ := r.State("a")
	if err := less.Restore("a", s); err != nil {
		t.Fatal(err)
	}
	if got, _ := less.State("a"); !cmp.Equal(got.History, s.History[1:]) {
		t.Errorf("kept %+v of %+v", got.History, s.History)
	}
}

// Restore reports all impossible counts and histories at once.
func TestImpossibleRuleStatesAreRefused(t *testing.T) {
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock(), RefuseFuture: true})
	s := backoff.RestarterState{Last: backoff.Exit{Code: 1}, Decision: backoff.Decision{Action: backoff.ActionRestart, Failures: 1, Rule: -1, RuleName: "x", RuleFailures: 1},
		Rules:   []backoff.RuleState{{Rule: -1, Failures: -1, Used: -1, Keep: -1, Reset: -1, Recent: []time.Time{t0.Add(1)}}, {Name: "a"}, {Name: "a", Rule: 1}, {Rule: 3}, {Rule: 3}},
		History: []backoff.ExitRecord{{}, {backoff.Exit{Code: 1, Finished: t0.Add(1)}, backoff.Decision{Action: backoff.ActionRestart, Failures: 1, Rule: -1, Delay: -1}}}}
	s.Rules = append(s.Rules, make([]backoff.RuleState, 16)...)
	s.History = append(s.History, slices.Repeat([]backoff.ExitRecord{{Decision: backoff.Decision{Action: backoff.ActionStop, Rule: -1}}}, 999)...)
	for i := range 16 {
		s.Rules[5+i].Rule = 10 + i
	}
	want := []string{"decision.ruleName", "decision.ruleFailures",
		"rules[0].rule", "rules[0].failures", "rules[0].used", "rules[0].keep", "rules[0].reset", "rules[0].recent[0]", "rules[2]", "rules[4]",
		"history[0].decision.action", "history[0].decision.failures", "history[1].exit.finished", "history[1].decision.delay", "rules", "history"}
	if got := fieldsOf(r.Restore("a", s)); !slices.Equal(got, want) {
		t.Errorf("refused %q, want %q", got, want)
	}
}

// The memory of a key is bounded for all rules and exits. -v prints it.
func TestMemoryOfAKeyIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, History: backoff.MaxHistory})
	var p backoff.ExitPolicy
	for i := range backoff.MaxRules {
		values := make([]int32, backoff.MaxExitCodes)
		for k := range values {
			values[k] = int32(2*k + 1000*i)
		}
		p.Rules = append(p.Rules, backoff.Rule{Name: fmt.Sprint("rule-", i), Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: values},
			Delay: &backoff.Policy{Initial: 1, Max: 1}, Limit: backoff.MaxLimit, Window: 1000 * time.Hour})
	}
	var sizes []int
	run := int64(0)
	for range 3 {
		for i := range backoff.MaxRules {
			for range 2 * backoff.MaxLimit {
				run++
				r.Exited("a", p, backoff.Exit{Run: run, Code: int32(1000 * i)})
				step(c, 1)
			}
		}
		sizes = append(sizes, r.SizeOf("a"))
	}
	t.Logf("a key without rules holds %d bytes; with %d rules of %d codes and limits of %d, and a history of %d, %d bytes",
		backoff.HistorySize, backoff.MaxRules, backoff.MaxExitCodes, backoff.MaxLimit, backoff.MaxHistory, sizes[2])
	if sizes[0] != sizes[2] || sizes[2] > 1<<20 {
		t.Errorf("%v bytes", sizes)
	}
	// Exits under other rules leave nothing of these.
	other := backoff.Rules{{Action: backoff.ActionRestart, MinFailures: 1}}
	r.Exited("a", backoff.ExitPolicy{Rules: other}, backoff.Exit{Run: run + 1, Code: 1})
	if r.RuleCounts("a") != 0 {
		t.Error("rules that are gone are remembered")
	}
}

// Deciding by twenty rules of 255 codes does not allocate.
func TestManyRulesDoNotAllocate(t *testing.T) {
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{History: 10})
	p := manyRules()
	e := crash(0, time.Now(), second)
	for name, code := range map[string]int32{"none": -1, "the first": 0, "the last": 19000} {
		e.Code = code
		for range 2 * backoff.MaxLimit {
			e.Run++
			r.Exited("a", p, e)
		}
		if n := testing.AllocsPerRun(100, func() { e.Run++; r.Exited("a", p, e) }); n != 0 {
			t.Errorf("%s decides: %v allocations", name, n)
		}
	}
}

// Editing a list of codes in place between two exits takes effect.
func TestCodesEditedInPlaceTakeEffect(t *testing.T) {
	p := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever, Rules: manyRules().Rules}
	codes := p.Rules[7].ExitCodes
	codes.Ranges = []backoff.CodeRange{{-20, -11}}
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
	run := int64(0)
	check := func(code int32, want backoff.Action, rule int) {
		t.Helper()
		run++
		e := backoff.Exit{Run: run, Code: code}
		d := r.Exited("a", p, e)
		if d.Action != want || d.Rule != rule {
			t.Errorf("code %d: %s by rule %d, want %s by %d", code, d.Action, d.Rule, want, rule)
		}
		if action, by := p.DecideExit(e, d.Failures); action != d.Action || by != d.Rule {
			t.Errorf("code %d: DecideExit says %s by %d, Exited %s by %d", code, action, by, d.Action, d.Rule)
		}
		for i, s := range d.Explain(p, e) {
			if s.Matched != (i == rule) || i == 7 && s.Matched != strings.Contains(s.Why, fmt.Sprintf("exit code %d is in", code)) {
				t.Errorf("code %d: %v", code, s)
			}
		}
	}
	for range 3 {
		check(-1, backoff.ActionStop, -1)
		check(codes.Values[3], backoff.ActionRestart, 7)
		check(-15, backoff.ActionRestart, 7)
	}
	was := codes.Values[3]
	codes.Values[3], codes.Ranges[0].Last = -1, -16
	for range 3 {
		check(-1, backoff.ActionRestart, 7)
		check(was, backoff.ActionStop, -1)
		check(-15, backoff.ActionStop, -1)
	}
}

// manyRules are as many rules as there can be, with as many codes.
func manyRules() (p backoff.ExitPolicy) {
	for i := range backoff.MaxRules {
		values := make([]int32, backoff.MaxExitCodes)
		for k := range values {
			values[k] = int32(2*k + 1000*i)
		}
		p.Rules = append(p.Rules, backoff.Rule{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: values}, MinFailures: 1,
			Delay: &backoff.Policy{Initial: second, Max: minute}, Limit: backoff.MaxLimit, Window: time.Hour})
	}
	return p
}

func BenchmarkExitedByManyRules(b *testing.B) {
	r := newRestarter(b, backoff.CrashLoop(), backoff.RestarterOptions[string]{})
	p := manyRules()
	e := crash(0, time.Now(), second)
	e.Code = -1
	b.ReportAllocs()
	for b.Loop() {
		e.Run++
		r.Exited("a", p, e)
	}
}

// Restore accepts states that result from policies which Validate rejects.
func TestStatesOfInvalidPoliciesAreRestored(t *testing.T) {
	clock := fakeClock()
	long := backoff.ExitPolicy{}
	for i := range 2 * backoff.MaxRules {
		long.Rules = append(long.Rules, backoff.Rule{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{int32(i)}}, Limit: 3})
	}
	named := func(code int32) backoff.Rule {
		return backoff.Rule{Name: "twice", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{code}}, Limit: 3}
	}
	of := func(r backoff.Rule) backoff.ExitPolicy {
		r.Action, r.ExitCodes = backoff.ActionRestart, &backoff.ExitCodes{Operator: backoff.OperatorNotIn}
		return backoff.ExitPolicy{Rules: backoff.Rules{r}}
	}
	kept := map[string]int{"negative window": 1, "negative window, no limit": 1, "negative reset": 1, "negative max": 1, "one name twice": 1, "too many rules": backoff.MaxRules}
	policies := map[string]backoff.ExitPolicy{
		"negative window":           of(backoff.Rule{Limit: 3, Window: -second}),
		"negative window, no limit": of(backoff.Rule{Delay: &backoff.Policy{Initial: second, Max: second}, Window: -1 << 63}),
		"negative reset":            of(backoff.Rule{Delay: &backoff.Policy{Initial: second, Max: second, ResetAfter: -second}}),
		"negative max":              of(backoff.Rule{Delay: &backoff.Policy{Initial: second, Max: -1 << 63}}),
		"one name twice":            {Rules: backoff.Rules{named(0), named(1)}},
		"too many rules":            long,
	}
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: clock})
	for name, c := range policies {
		for code := range int32(2 * backoff.MaxRules) {
			r.Exited(name, c, backoff.Exit{Run: int64(code) + 1, Code: code})
		}
		if s, _ := r.State(name); c.Validate() == nil || len(s.Rules) != kept[name] {
			t.Errorf("%s: %+v", name, s.Rules)
		}
	}
	reborn(t, r, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: clock})
	// A limit of a negative window holds for ever.
	if d := r.Exited("negative window", policies["negative window"], backoff.Exit{Run: 1000}); d.Action != backoff.ActionGiveUp || r.Len() != len(policies) {
		t.Errorf("%+v", d)
	}
}
