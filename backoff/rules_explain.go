package backoff

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RuleResult explains the outcome of one rule for one exit.
type RuleResult struct {
	Rule    int // its index
	Name    string
	Action  Action
	Matched bool   // this rule decided
	Why     string // outcome of each condition, or that the rule was not reached
}

// String returns the result as a single line.
func (s RuleResult) String() string {
	verdict := "no match"
	if s.Matched {
		verdict = "matched"
	}
	name := ""
	if s.Name != "" {
		name = " " + s.Name
	}
	return fmt.Sprintf("rule %d%s (%s): %s: %s", s.Rule, name, s.Action, verdict, s.Why)
}

// Explain explains how p led to d for e, with one result per rule, in order. For a zero
// Decision, e is taken as a first failure.
func (d Decision) Explain(p ExitPolicy, e Exit) []RuleResult {
	attempt := max(d.Failures, 1)
	decided := d.Rule
	uncounted := decided >= 0 && decided < len(p.Rules) && p.Rules[decided].Uncounted
	if uncounted || d.Action == ActionStop && e.Code == 0 {
		attempt = addCount(max(d.Failures, 0), 1)
	}
	if d.Action == "" {
		_, decided = p.DecideExit(e, attempt)
	}
	steps := make([]RuleResult, len(p.Rules))
	ended := -1 // the rule that ended the search
	for i := range p.Rules {
		r := &p.Rules[i]
		steps[i] = RuleResult{Rule: i, Name: r.Name, Action: r.Action, Matched: i == decided}
		if ended >= 0 {
			steps[i].Why = fmt.Sprintf("not reached, rule %s decided", p.Rules[ended].text(ended))
			continue
		}
		matches := true // as far as e tells; without Finished the run length is unknown
		var parts []string
		for _, condition := range r.conditions(&e, attempt) {
			matches = matches && condition.holds
			parts = append(parts, condition.text)
		}
		steps[i].Why = strings.Join(parts, "; ")
		switch {
		case len(parts) == 0:
			steps[i].Why = "the rule has no condition"
		case i == decided:
			ended = i
		case matches && decided < 0 && !r.Action.decides():
			steps[i].Why = "unknown action, the restart policy decides (" + steps[i].Why + ")"
			ended = i
		}
	}
	return steps
}

// condition is the outcome of one condition of a rule for one exit.
type condition struct {
	holds bool
	text  string
}

// conditions returns the outcomes of a rule's conditions.
func (r *Rule) conditions(e *Exit, attempt int) (all []condition) {
	add := func(holds bool, met, notMet string) {
		text := notMet
		if holds {
			text = met
		}
		all = append(all, condition{holds, text})
	}
	if c := r.ExitCodes; c != nil {
		is, listed := fmt.Sprintf("exit code %d is ", e.Code), c.list(e.Code)
		in, out := is+"in "+c.listText(), is+"not in "+c.listText()
		switch c.Operator {
		case OperatorIn:
			add(listed, in, out)
		case OperatorNotIn:
			add(!listed, out, in)
		default:
			add(false, "", fmt.Sprintf("unknown operator %q", c.Operator))
		}
	}
	if len(r.Reasons) > 0 {
		is := fmt.Sprintf("reason %q is ", e.Reason)
		add(slices.Contains(r.Reasons, e.Reason), fmt.Sprintf("%sin %v", is, r.Reasons), fmt.Sprintf("%snot in %v", is, r.Reasons))
	}
	if len(r.Signals) > 0 {
		name := signalName(e.signal())
		is := fmt.Sprintf("signal %s is ", name)
		if name == "" {
			is = "no known signal, so "
		}
		add(slices.Contains(r.Signals, name), fmt.Sprintf("%sin %v", is, r.Signals), fmt.Sprintf("%snot in %v", is, r.Signals))
	}
	addRan := func(holds bool, bound time.Duration, met, notMet string) {
		text := func(relation string) string { return fmt.Sprintf("ran %v, %s %v", e.ran(), relation, bound) }
		if !e.Started.IsZero() && e.Finished.IsZero() {
			text = func(string) string { return "run length unknown without Finished" }
		}
		add(holds, text(met), text(notMet))
	}
	if r.RanLessThan != 0 {
		addRan(e.ran() < r.RanLessThan, r.RanLessThan, "less than", "not less than")
	}
	if r.RanAtLeast != 0 {
		addRan(e.ran() >= r.RanAtLeast, r.RanAtLeast, "at least", "less than")
	}
	if r.MinFailures != 0 {
		is := fmt.Sprintf("failure %d in a row is ", attempt)
		add(attempt >= r.MinFailures, fmt.Sprintf("%sat least %d", is, r.MinFailures), fmt.Sprintf("%sbelow %d", is, r.MinFailures))
	}
	return all
}
