package lint

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
)

var curve = backoff.Policy{Initial: time.Second, Max: 4 * time.Second} // starts over after 8s

// worldExits are all exits that rules of the vocabulary below tell apart, with the
// failures in a row that they can be.
func worldExits() (exits []backoff.Exit, attempts []int) {
	begin := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, code := range []int32{0, 1, 2, 3, 137, 300} {
		for _, signal := range []int32{0, 9, 15, 33} {
			for _, reason := range []string{"", "A", "B"} {
				for _, ran := range []time.Duration{0, time.Second - 1, time.Second, 8 * time.Second, 8*time.Second + 1, time.Minute} {
					for n := range 4 {
						if n > 0 && ran > 8*time.Second {
							continue // the curve starts over
						}
						exits = append(exits, backoff.Exit{Code: code, Signal: signal, Reason: reason, Started: begin, Finished: begin.Add(ran)})
						attempts = append(attempts, n+1)
					}
				}
			}
		}
	}
	return exits, attempts
}

// vocabulary is a few values of every condition.
func vocabulary() (rules []backoff.Rule) {
	in := func(op backoff.Operator, values []int32, ranges ...backoff.CodeRange) *backoff.ExitCodes {
		return &backoff.ExitCodes{Operator: op, Values: values, Ranges: ranges}
	}
	for _, codes := range []*backoff.ExitCodes{nil, in("In", []int32{1}), in("In", []int32{1, 2}), in("NotIn", []int32{1}), in("NotIn", nil), in("In", nil), in("In", nil, backoff.CodeRange{First: 1, Last: 200}), in("Exists", nil)} {
		for _, r := range []backoff.Rule{{}, {Reasons: []string{"A"}}, {Signals: []string{"SIGKILL"}}, {Signals: []string{"NONE"}}, {RanLessThan: time.Second}, {RanAtLeast: time.Second},
			{MinFailures: 2}, {MinFailures: 3}, {RanAtLeast: 8*time.Second + 1, MinFailures: 2}} {
			r.Action, r.ExitCodes = backoff.ActionRestart, codes
			rules = append(rules, r)
		}
	}
	return append(rules, backoff.Rule{Action: "Reboot", MinFailures: 1}, backoff.Rule{Action: backoff.ActionGiveUp, MinFailures: 1})
}

// Check reports a rule as unreachable exactly if no exit reaches it, in every policy of
// two rules of the vocabulary, and of three rules of a part of it.
func TestUnreachableIsExact(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	exits, attempts := worldExits()
	words := vocabulary()
	policies, unreachable := 0, 0
	check := func(rules ...backoff.Rule) {
		policies++
		c := backoff.ExitPolicy{Rules: rules}
		reached := make([]bool, len(rules))
		left := len(rules)
		for k, e := range exits {
			if _, i := c.DecideExit(e, attempts[k]); i >= 0 && !reached[i] {
				reached[i] = true
				if left--; left == 0 {
					break
				}
			}
		}
		said := make([]bool, len(rules))
		for _, f := range Check(c, curve) {
			if f.Kind == KindUnreachable {
				said[f.Rule] = true
				unreachable++
			}
		}
		for i := range rules {
			if said[i] == reached[i] {
				t.Fatalf("rule %d of %+v: reached %t, said to be unreachable %t", i, rules, reached[i], said[i])
			}
		}
	}
	for _, a := range words {
		check(a)
		for _, b := range words {
			check(a, b)
		}
	}
	few := words[9:45:45]
	for i := 0; i < len(few); i += 2 {
		for j := 0; j < len(few); j += 3 {
			for k := 1; k < len(few); k += 2 {
				check(few[i], few[j], few[k])
			}
		}
	}
	t.Logf("%d policies, %d unreachable rules, %d exits", policies, unreachable, len(exits))
	if policies < 5000 || unreachable < 1000 {
		t.Error("too few")
	}
}

// Check reports a limit exactly if no history of a few runs uses it up on a Restarter.
func TestUnusedLimitsAreExact(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	tried, reported := 0, 0
	for _, delay := range []*backoff.Policy{nil, {Initial: time.Second, Max: time.Second}, {Initial: time.Second, Max: 8 * time.Second}, {Initial: time.Second, Max: 8 * time.Second, ResetAfter: 1},
		{Initial: 2 * time.Second, Max: 2 * time.Second, FreeFailures: 2}, {Initial: 10 * time.Second, Max: 10 * time.Second}} {
		for _, conditions := range []backoff.Rule{{}, {RanAtLeast: 2 * time.Second}, {RanLessThan: 3 * time.Second}, {RanAtLeast: 9 * time.Second}} {
			for limit := 1; limit <= 3; limit++ {
				for _, window := range []time.Duration{1, time.Second, 3 * time.Second, 3*time.Second + 1, 4 * time.Second, 7*time.Second + 1, 9 * time.Second, 12 * time.Second, 15 * time.Second, time.Minute} {
					r := conditions
					r.Name, r.Action, r.ExitCodes = "r", backoff.ActionRestart, &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{1}}
					r.Delay, r.Limit, r.Window = delay, limit, window
					c := backoff.ExitPolicy{Rules: backoff.Rules{r}}
					said := slices.ContainsFunc(Check(c, curve), func(f Finding) bool { return f.Kind == KindLimitNeverHit || f.Kind == KindDelayTooLong })
					tried++
					if said {
						reported++
					}
					if used := usedUp(t, c, limit+2); used == said {
						t.Fatalf("%+v, delay %+v: used up %t, reported %t", r, delay, used, said)
					}
				}
			}
		}
	}
	t.Logf("%d limits, %d never used up", tried, reported)
	if reported < 50 || reported > tried-50 {
		t.Error("too few of either")
	}
}

// An earlier rule that decides on short runs makes a limit as hard to use up as a
// condition for longer runs. Other earlier rules never make a reported limit usable.
func TestUnusedLimitsAfterAnotherRule(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	one := func(r backoff.Rule) backoff.Rule {
		r.Action = backoff.ActionRestart
		return r
	}
	tried, reported := 0, 0
	for _, first := range []struct {
		backoff.Rule
		exact bool // it divides the runs alone, from below
	}{
		{one(backoff.Rule{RanLessThan: time.Minute}), true},
		{one(backoff.Rule{RanLessThan: 2 * time.Second}), true},
		{one(backoff.Rule{RanLessThan: 2 * time.Second, Delay: &backoff.Policy{Initial: 1, Max: 1}}), true},
		{one(backoff.Rule{RanAtLeast: 2 * time.Second, Delay: &backoff.Policy{Initial: 1, Max: 1, ResetAfter: 1}}), false},
		{one(backoff.Rule{RanAtLeast: 9 * time.Second, Delay: &backoff.Policy{Initial: 1, Max: 1, FreeFailures: 9}}), false},
		{backoff.Rule{Action: backoff.ActionGiveUp, RanLessThan: 3 * time.Second}, true},
		{one(backoff.Rule{Reasons: []string{"A"}, RanLessThan: time.Minute}), true},
	} {
		for _, delay := range []*backoff.Policy{nil, {Initial: time.Second, Max: time.Second}, {Initial: time.Second, Max: 8 * time.Second, ResetAfter: 1}} {
			for _, conditions := range []backoff.Rule{{}, {RanAtLeast: time.Second}, {RanLessThan: 3 * time.Second}} {
				for limit := 1; limit <= 2; limit++ {
					for _, window := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 9 * time.Second, 90 * time.Second, 3 * time.Minute} {
						r := one(conditions)
						r.ExitCodes = &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{1}}
						r.Delay, r.Limit, r.Window = delay, limit, window
						c := backoff.ExitPolicy{Rules: backoff.Rules{first.Rule, r}}
						said, unreachable := false, false
						for _, f := range Check(c, curve) {
							said = said || f.Rule == 1 && (f.Kind == KindLimitNeverHit || f.Kind == KindDelayTooLong)
							unreachable = unreachable || f.Rule == 1 && f.Kind == KindUnreachable
						}
						tried++
						if said {
							reported++
						}
						if used := usedUp(t, c, limit+2); used && (said || unreachable) || first.exact && !used && !said && !unreachable && conditions.RanLessThan == 0 {
							t.Fatalf("%+v, then %+v, delay %+v: used up %t, reported %t", first.Rule, r, delay, used, said)
						}
					}
				}
			}
		}
	}
	t.Logf("%d limits, %d never used up", tried, reported)
	if reported < 50 || reported > tried-50 {
		t.Error("too few of either")
	}
}

func TestCheckIgnoresInvalidLimits(t *testing.T) {
	for limit, want := range map[int]int{mostLimit: 1, mostLimit + 1: 0, math.MaxInt: 0} {
		c := backoff.ExitPolicy{Rules: backoff.Rules{{Action: backoff.ActionRestart, MinFailures: 1, Limit: limit, Window: 2 * time.Second}}}
		if f := Check(c, curve); len(f) != want {
			t.Errorf("%d: %v", limit, f)
		}
	}
}

// A limit without a window counts all restarts and is therefore used up eventually.
func TestLimitWithoutWindowIsUsedUp(t *testing.T) {
	c := backoff.ExitPolicy{Rules: backoff.Rules{{Action: backoff.ActionRestart, MinFailures: 1, Limit: 3}}}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if f := Check(c, curve); len(f) != 0 {
		t.Error(f)
	}
}

// Check skips rules after too many earlier ones that can be met together, and remains
// exact for the others.
func TestCheckSkipsRulesOfHardPolicies(t *testing.T) {
	// Each code is missing from the lists of half of the earlier rules, and each reason
	// from those of another half: no way holds another.
	c := backoff.ExitPolicy{}
	for i := range mostRules {
		r := backoff.Rule{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn}}
		for k := range 255 {
			if set := half(k); i == mostRules-1 || set>>i&1 != 0 {
				r.ExitCodes.Values = append(r.ExitCodes.Values, int32(k))
			}
			if set := half(3*k + 1000); i == mostRules-1 || set>>i&1 != 0 {
				r.Reasons = append(r.Reasons, fmt.Sprint("R", k))
			}
		}
		c.Rules = append(c.Rules, r)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	s := newSpace(c.Rules, curve)
	hard := 0
	for i := range c.Rules {
		ways, ok := s.ways(i, s.met)
		if len(ways) > mostWays {
			t.Errorf("rule %d: %d ways", i, len(ways))
		}
		if !ok {
			hard++
			if why := s.unreachable(i); why != "" {
				t.Errorf("rule %d was not looked through: %s", i, why)
			}
			if run := s.shortest(i, 7); run != 7 {
				t.Errorf("rule %d: %v", i, run)
			}
		}
	}
	if hard == 0 {
		t.Error("no rule is hard")
	}
	t.Logf("%d hard rules", hard)
	Check(c, curve)
}

// half returns the k-th of some sets of nine of the first 19 rules.
func half(k int) (set rules) {
	x := uint32(k)*2654435761 + 12345
	for bits.OnesCount32(uint32(set)) < 9 {
		x = x*1664525 + 1013904223
		set |= 1 << ((x >> 16) % 19)
	}
	return set
}

// usedUp reports whether a history of so many runs uses up the limit of the last rule.
func usedUp(t *testing.T, c backoff.ExitPolicy, runs int) bool {
	var search func(history []time.Duration) bool
	last := c.Rules[len(c.Rules)-1]
	choices := []time.Duration{0, last.RanAtLeast, 1 + 1}
	over := curve.ResetThreshold() + 1
	if d := last.Delay; d != nil {
		over = d.ResetThreshold() + 1
	}
	choices = append(choices, over, max(over, last.RanAtLeast))
	if len(c.Rules) > 1 {
		choices = append(choices, c.Rules[0].RanLessThan)
	}
	slices.Sort(choices)
	choices = slices.Compact(choices)
	search = func(history []time.Duration) bool {
		clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
		r, err := backoff.NewRestarter(curve, backoff.RestarterOptions[string]{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		for run, ran := range history {
			started := clock.Now()
			clock.SetTime(started.Add(ran))
			d := r.Exited("a", c, backoff.Exit{Run: int64(run + 1), Code: 1, Started: started, Finished: clock.Now()})
			if d.Action == backoff.ActionGiveUp {
				return d.Rule == len(c.Rules)-1
			}
			clock.SetTime(clock.Now().Add(r.Remaining("a")))
		}
		if len(history) == runs {
			return false
		}
		for _, ran := range choices {
			if search(append(slices.Clip(history), ran)) {
				return true
			}
		}
		return false
	}
	return search(nil)
}

func TestFindingTexts(t *testing.T) {
	codes := func(values ...int32) *backoff.ExitCodes {
		return &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: values}
	}
	c := backoff.ExitPolicy{Rules: backoff.Rules{
		{Name: "busy", Action: backoff.ActionRestart, ExitCodes: codes(75, 256, -1), Limit: 3, Window: time.Second},
		{Action: backoff.ActionGiveUp, ExitCodes: codes(75)},
		{Action: backoff.ActionRestart, Reasons: []string{"OOMKilled"}, Limit: 10, Window: 30 * time.Second},
		{Action: backoff.ActionRestart, RanAtLeast: time.Hour, MinFailures: 2},
		{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn}},
		{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Ranges: []backoff.CodeRange{{First: 1, Last: 9}}}},
		{Action: "Reboot", MinFailures: 1},
	}}
	const want = `restartPolicyRules[0].exitCodes.values: no process on Linux ends with 256, -1; remove them (impossible-code)
restartPolicyRules[0].window: restarts are at least 1s apart, so the limit of 3 is never used up in 1s; make the window longer (delay-too-long)
restartPolicyRules[1]: rule busy decides on every exit that this rule matches; remove this rule, or move it up (unreachable)
restartPolicyRules[2].limit: restarts 1 and 11 would be at least 35s apart, so the limit of 10 is never used up in 30s; lower it, or make the window longer (limit-never-hit)
restartPolicyRules[3]: no exit meets all conditions of the rule; remove the rule, or change a condition (unreachable)
restartPolicyRules[5]: rule restartPolicyRules[4] decides on every exit that this rule matches; remove this rule, or move it up (unreachable)
restartPolicyRules[6]: the rule has no known action; set one (unreachable)
`
	var got strings.Builder
	for _, f := range Check(c, curve) {
		fmt.Fprintln(&got, f)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	for _, good := range []backoff.ExitPolicy{{}, {Rules: c.Rules[4:5]}} {
		if f := Check(good, backoff.CrashLoop()); len(f) != 0 {
			t.Errorf("%v", f)
		}
	}
}

// Check handles the maximum number of rules with the longest lists.
func TestLargePoliciesAreChecked(t *testing.T) {
	var c backoff.ExitPolicy
	for i := range 40 {
		r := backoff.Rule{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn}, MinFailures: 40 - i, RanLessThan: time.Duration(i+1) * time.Second, Limit: 1000, Window: 1000 * time.Hour}
		for k := range 255 {
			r.ExitCodes.Values = append(r.ExitCodes.Values, int32(i*k))
			r.Reasons = append(r.Reasons, fmt.Sprint("R", (k*i)%300))
		}
		c.Rules = append(c.Rules, r)
	}
	for _, f := range Check(c, backoff.CrashLoop()) {
		if f.Rule >= 20 {
			t.Errorf("%v", f)
		}
	}
}

// The first code after a range may be the only one that reaches a later rule.
func TestCodeAfterARangeIsTried(t *testing.T) {
	codes := func(first, last int32) *backoff.ExitCodes {
		return &backoff.ExitCodes{Operator: backoff.OperatorIn, Ranges: []backoff.CodeRange{{First: first, Last: last}}}
	}
	c := backoff.ExitPolicy{Rules: backoff.Rules{
		{Action: backoff.ActionRestart, ExitCodes: codes(0, 5)}, {Action: backoff.ActionRestart, ExitCodes: codes(3, 6)},
	}}
	if found := Check(c, curve); len(found) > 0 {
		t.Error(found)
	}
}

func TestDurationsSaturate(t *testing.T) {
	for _, sum := range []time.Duration{add(never, 0), add(never, 1), add(never/2+1, never/2+1), add(1, never)} {
		if sum != never {
			t.Errorf("a sum is %v, not %v", sum, never)
		}
	}
}

func TestPossibleCodesAreNotReported(t *testing.T) {
	c := backoff.ExitPolicy{Rules: backoff.Rules{{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{0, 255}}}}}
	if found := Check(c, curve); len(found) > 0 {
		t.Error(found)
	}
}

func TestLeastDropsSupersets(t *testing.T) {
	if kept, ok := least(map[rules]bool{0b001: true, 0b011: true, 0b110: true, 0b111: true}); !ok || !slices.Equal(kept, []rules{0b001, 0b110}) {
		t.Errorf("kept %b", kept)
	}
	many := make(map[rules]bool)
	for set := rules(1); len(many) <= mostSets; set += 2 {
		many[set] = true
	}
	if kept, ok := least(many); ok {
		t.Errorf("kept %d of %d sets", len(kept), len(many))
	}
	delete(many, 3)
	if kept, ok := least(many); !ok || len(kept) != 1 {
		t.Errorf("kept %d of %d sets", len(kept), len(many))
	}
}

// choices returns the sets of k of the rules from first to last, each with all of more.
func choices(k int, first, last uint, more rules) map[rules]bool {
	sets := make(map[rules]bool)
	for set := range rules(1) << (last - first + 1) {
		if bits.OnesCount32(uint32(set)) == k {
			sets[set<<first|more] = true
		}
	}
	return sets
}

// The search gives up if one side, or two together, have too many ways.
func TestWaysAreBounded(t *testing.T) {
	s := &space{possible: 1<<mostRules - 1}
	const last = rules(1) << 19
	for _, tt := range []struct {
		sides []map[rules]bool
		want  int // -1 for too many
	}{
		{[]map[rules]bool{choices(2, 0, 9, last)}, 45},
		{[]map[rules]bool{choices(6, 0, 12, last)}, -1},
		{[]map[rules]bool{choices(2, 0, 9, last|0x7fc00), choices(1, 10, 18, last|0x3ff)}, 45 * 9},
		{[]map[rules]bool{choices(2, 0, 9, last|0x7fc00), choices(2, 10, 18, last|0x3ff)}, -1},
	} {
		if ways, ok := s.ways(19, tt.sides); ok != (tt.want >= 0) || ok && len(ways) != tt.want {
			t.Errorf("%d ways, %t; want %d", len(ways), ok, tt.want)
		}
	}
}

// Up to mostWays sets are kept.
func TestLeastKeepsMostWays(t *testing.T) {
	sets := make(map[rules]bool)
	for set := rules(0); len(sets) < mostWays; set++ {
		if bits.OnesCount32(uint32(set)) == 7 { // none of them contains another one
			sets[set] = true
		}
	}
	if kept, ok := least(sets); !ok || len(kept) != mostWays {
		t.Errorf("kept %d of %d sets: %v", len(kept), mostWays, ok)
	}
	sets[0x7f<<20] = true
	if _, ok := least(sets); ok {
		t.Error("one set more is kept, too")
	}
}
