package backoff_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/rapidseed"
	"pgregory.net/rapid"
)

// slowDecideExit decides literally: a rule matches if it has a condition and all hold,
// and the first matching rule decides.
func slowDecideExit(c backoff.ExitPolicy, e backoff.Exit, attempt int) (backoff.Action, int) {
	signal := e.Signal
	if signal == 0 && e.Code >= 129 && e.Code <= 192 {
		signal = e.Code - 128
	}
	name := ""
	if signal > 0 && signal < 65 {
		name = backoff.SignalNames[signal]
	}
	ran := time.Duration(0)
	if !e.Started.IsZero() {
		ran = e.Finished.Sub(e.Started)
	}
	for i, r := range c.Rules {
		var holds []bool
		if r.ExitCodes != nil {
			listed := slices.Contains(r.ExitCodes.Values, e.Code)
			for _, span := range r.ExitCodes.Ranges {
				for code := span.First; code <= span.Last; code++ {
					listed = listed || code == e.Code
				}
			}
			holds = append(holds, r.ExitCodes.Operator == "In" && listed || r.ExitCodes.Operator == "NotIn" && !listed)
		}
		if len(r.Reasons) > 0 {
			holds = append(holds, slices.Contains(r.Reasons, e.Reason))
		}
		if len(r.Signals) > 0 {
			holds = append(holds, slices.Contains(r.Signals, name))
		}
		if r.RanLessThan > 0 {
			holds = append(holds, ran < r.RanLessThan)
		}
		if r.RanAtLeast > 0 {
			holds = append(holds, ran >= r.RanAtLeast)
		}
		if r.MinFailures > 0 {
			holds = append(holds, attempt >= r.MinFailures)
		}
		if len(holds) == 0 || slices.Contains(holds, false) {
			continue
		}
		switch r.Action {
		case "Restart", "RestartAllContainers", "GiveUp":
			return r.Action, i
		}
		break
	}
	matching := backoff.ExitPolicy{RestartPolicy: c.RestartPolicy}
	return slowDecide(matching, e.Code)
}

// richPolicies draws policies with everything that a rule can have, valid but for
// operators, actions and rules without conditions.
func richPolicies() *rapid.Generator[backoff.ExitPolicy] {
	return rapid.Custom(func(t *rapid.T) backoff.ExitPolicy {
		c := containerPolicies().Draw(t, "plain")
		sometimes := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
		duration := rapid.SampledFrom([]time.Duration{1, second, minute, 10 * minute})
		for i := range c.Rules {
			r := &c.Rules[i]
			if sometimes("name?") {
				r.Name = string(rune('a' + i))
			}
			if sometimes("give up?") {
				r.Action = backoff.ActionGiveUp
			}
			if r.ExitCodes != nil && sometimes("ranges?") {
				first := rapid.Int32Range(0, 200).Draw(t, "first")
				r.ExitCodes.Ranges = []backoff.CodeRange{{first, first + rapid.Int32Range(0, 55).Draw(t, "width")}}
			}
			if sometimes("reasons?") {
				r.Reasons = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Error", "OOMKilled", "Evicted"}), 1, 2, rapid.ID).Draw(t, "reasons")
			}
			if sometimes("signals?") {
				r.Signals = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"SIGKILL", "SIGTERM", "SIGRTMIN+1"}), 1, 2, rapid.ID).Draw(t, "signals")
			}
			if sometimes("less?") {
				r.RanLessThan = duration.Draw(t, "less")
			}
			if sometimes("at least?") {
				r.RanAtLeast = duration.Draw(t, "at least")
			}
			if sometimes("attempts?") {
				r.MinFailures = rapid.IntRange(1, 4).Draw(t, "attempts")
			}
			if r.Action == backoff.ActionGiveUp {
				continue
			}
			if sometimes("delay?") {
				d := duration.Draw(t, "initial")
				r.Delay = &backoff.Policy{Initial: d, Max: d * 4, FreeFailures: rapid.IntRange(0, 1).Draw(t, "free")}
			}
			if sometimes("limit?") {
				r.Limit = rapid.IntRange(1, 3).Draw(t, "limit of the rule")
				if sometimes("window?") {
					r.Window = duration.Draw(t, "window of the rule")
				}
			}
		}
		return c
	})
}

func richExits() *rapid.Generator[backoff.Exit] {
	return rapid.Custom(func(t *rapid.T) backoff.Exit {
		e := backoff.Exit{
			Code:   rapid.OneOf(codes(), rapid.Int32Range(120, 260)).Draw(t, "code"),
			Signal: rapid.SampledFrom([]int32{0, 0, 9, 15, 35, 99, -1}).Draw(t, "signal"),
			Reason: rapid.SampledFrom([]string{"", "Error", "OOMKilled", "Evicted"}).Draw(t, "reason"),
		}
		if e.Finished = t0; rapid.Bool().Draw(t, "ran?") {
			e.Started = t0.Add(-rapid.SampledFrom([]time.Duration{-1, 0, 1, second - 1, second, minute, time.Hour}).Draw(t, "ran"))
		}
		return e
	})
}

// A rule matches exactly the exits that meet its conditions, and Explain names the
// deciding rule.
func TestRichRulesAgreeWithModel(t *testing.T) {
	decided := map[backoff.Action]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := richPolicies().Draw(t, "policy")
		for range 20 {
			e, attempt := richExits().Draw(t, "exit"), rapid.IntRange(1, 5).Draw(t, "attempt")
			action, rule := c.DecideExit(e, attempt)
			if a, r := slowDecideExit(c, e, attempt); action != a || rule != r {
				t.Fatalf("%s by %d, want %s by %d", action, rule, a, r)
			}
			if rule >= 0 {
				decided[action]++
			}
			d := backoff.Decision{Action: action, Rule: rule, Failures: attempt}
			if action == backoff.ActionStop && e.Code == 0 {
				d.Failures--
			}
			for i, s := range d.Explain(c, e) {
				if s.Matched != (i == rule) || s.Why == "" || s.Rule != i {
					t.Fatalf("%v: %d decided", s, rule)
				}
			}
		}
	})
	if rapidseed.Fixed() && (decided[backoff.ActionRestart] == 0 || decided[backoff.ActionRestartAll] == 0 || decided[backoff.ActionGiveUp] == 0) {
		t.Errorf("rules decided %v", decided)
	}
}

// A Restarter and a State judge a policy without allocating, as Validate does.
func TestValidityIsThatOfValidate(t *testing.T) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := richPolicies().Draw(t, "policy")
		sometimes := func(what string) bool { return rapid.IntRange(0, 5).Draw(t, what) == 0 }
		bad := rapid.SampledFrom([]time.Duration{-1, 0, 1, minute})
		if rapid.Bool().Draw(t, "mend") { // what is drawn at random is seldom valid
			p.RestartPolicy = ""
			for i := range p.Rules {
				r := &p.Rules[i]
				r.Action, r.RanLessThan, r.RanAtLeast = backoff.ActionRestart, 0, 0
				if r.ExitCodes == nil {
					r.MinFailures = 1
				} else {
					r.ExitCodes.Operator = backoff.OperatorIn
				}
			}
		}
		if sometimes("limit?") {
			p.Limit, p.Window = rapid.IntRange(-1, 2000).Draw(t, "limit"), bad.Draw(t, "window")
		}
		if sometimes("failures?") {
			p.Retries, p.GiveUpFor = rapid.IntRange(-1, 2).Draw(t, "max"), bad.Draw(t, "give up")
		}
		if sometimes("curve?") {
			p.Delay = &backoff.Policy{Initial: bad.Draw(t, "initial"), Max: bad.Draw(t, "max delay")}
		}
		for i := range p.Rules {
			r := &p.Rules[i]
			if sometimes("uncounted?") {
				r.Uncounted = true
			}
			if sometimes("same name?") {
				r.Name = rapid.SampledFrom([]string{"a", "b", "-", "A", strings.Repeat("x", 64)}).Draw(t, "name")
			}
			if sometimes("a bad reason?") {
				r.Reasons = append(r.Reasons, rapid.SampledFrom([]string{"", "Error", "E*"}).Draw(t, "reason"))
			}
			if sometimes("a bad signal?") {
				r.Signals = append(r.Signals, rapid.SampledFrom([]string{"", "SIGKILL", "KILL"}).Draw(t, "signal"))
			}
			if sometimes("bad numbers?") {
				r.Limit, r.Window, r.MinFailures = rapid.IntRange(-1, 2).Draw(t, "limit"), bad.Draw(t, "window"), rapid.IntRange(-1, 2).Draw(t, "failures")
			}
			if sometimes("a bad range?") && r.ExitCodes != nil {
				r.ExitCodes.Ranges = append(r.ExitCodes.Ranges, rapid.SampledFrom([]backoff.CodeRange{{First: 5, Last: 3}, {First: -1, Last: 3}, {First: 0, Last: 256}}).Draw(t, "range"))
			}
		}
		want := p.Validate()
		if p.Valid() != (want == nil) {
			t.Fatalf("valid: %t, but %v", p.Valid(), want)
		}
		if want == nil {
			valid++
		} else {
			invalid++
		}
	})
	if rapidseed.Fixed() && (valid == 0 || invalid == 0) {
		t.Errorf("%d valid, %d invalid", valid, invalid)
	}
}
