package backoff

import (
	"fmt"
	"strings"
	"time"
)

// Decision is the response to one exit. The zero value means no decision.
type Decision struct {
	Action   Action `json:"action"`
	New      bool   `json:"new"`                // false if the exit was reported before or is older than the last one; then this repeats the last decision
	Failures int    `json:"failures"`           // failures in a row, including restarted successes
	Rule     int    `json:"rule"`               // index of the rule that decided, or -1
	RuleName string `json:"ruleName,omitempty"` // that rule's name
	// RuleFailures is the rule's own failures in a row if the delay follows the rule's
	// curve, and otherwise 0.
	RuleFailures int `json:"ruleFailures,omitempty"`
	// Again means that a limit had been reached before, and counts have not started over
	// since.
	Again bool `json:"again,omitempty"`

	// NotBefore is when the restart is due or, after a give-up that ends, when one start is
	// allowed again. It is zero if no start will be allowed.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Delay is the time from State.From, usually the end of the run, to NotBefore.
	Delay time.Duration `json:"-"`

	// Invalid lists the mistakes of an invalid policy, as ExitPolicy.Validate does.
	// Then the Action is Stop, and nothing was remembered: the same exit is decided once the
	// policy is mended.
	Invalid error `json:"-"`
}

// Remaining returns the time left of d's wait at now, within [0, Delay]. Unlike
// Restarter.CanStart, it ignores everything that happened after the decision.
func (d Decision) Remaining(now time.Time) time.Duration {
	if d.NotBefore.IsZero() {
		return 0
	}
	return left(d.Delay, d.NotBefore.Add(-d.Delay), now)
}

// Reason explains d for e under p in one sentence. Under a Restarter whose policy completes
// p, pass the result of Restarter.Complete.
func (d Decision) Reason(p ExitPolicy, e Exit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d", e.Code)
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s)", e.Reason)
	}
	switch {
	case d.Action == "":
		b.WriteString(": nothing decided")
		return b.String()
	case d.Invalid != nil:
		fmt.Fprintf(&b, ": not restarted, because the policy is invalid: %v", d.Invalid)
		return b.String()
	}
	var rule *Rule
	if d.Rule >= 0 && d.Rule < len(p.Rules) {
		rule = &p.Rules[d.Rule]
	}
	switch {
	case rule == nil:
		policy := p.RestartPolicy
		if policy == "" {
			policy = RestartPolicyAlways
		}
		fmt.Fprintf(&b, " under restartPolicy %s", policy)
	case rule.ExitCodes != nil && rule.Name == "" && !rule.hasExtensions():
		fmt.Fprintf(&b, " is %s %s of %s", rule.ExitCodes.Operator, rule.ExitCodes.listText(), rule.text(d.Rule))
	default:
		fmt.Fprintf(&b, " meets rule %s", rule.text(d.Rule))
	}
	switch d.Action {
	case ActionStop:
		b.WriteString(": not restarted")
	case ActionGiveUp:
		b.WriteString(": given up")
		if !d.NotBefore.IsZero() {
			fmt.Fprintf(&b, " for %v", d.Delay)
		}
		fmt.Fprintf(&b, ", %s (%s)", d.whyGivenUp(&p, rule), d.failuresText(rule, e))
	case ActionRestart, ActionRestartAll:
		what := "restarts"
		if d.Action == ActionRestartAll {
			what = "restarts with all containers"
		}
		when := "at once"
		if d.Delay > 0 {
			when = fmt.Sprintf("in %v", d.Delay)
		}
		fmt.Fprintf(&b, ": %s %s (%s)", what, when, d.failuresText(rule, e))
	}
	return b.String()
}

// whyGivenUp names the rule or the limit behind a give-up.
func (d Decision) whyGivenUp(p *ExitPolicy, rule *Rule) string {
	switch {
	case rule != nil && rule.Action == ActionGiveUp:
		return "as the rule says"
	case d.Again:
		return "because a limit was reached before"
	case p.Retries > 0 && d.Failures > p.Retries:
		return fmt.Sprintf("after %s in a row", plural(p.Retries, "retry"))
	case rule != nil && rule.Limit > 0:
		return "the rule's limit of " + limitText(rule.Limit, rule.Window) + " is used up"
	case p.Limit > 0:
		return "the limit of " + limitText(p.Limit, p.Window) + " is used up"
	}
	return "the limit of restarts is used up"
}

// failuresText names the count behind the delay. An exit with code 0 counts as well, but
// nobody calls it a failure.
func (d Decision) failuresText(rule *Rule, e Exit) string {
	what := "failure"
	if e.Code == 0 {
		what = "exit"
	}
	switch {
	case rule != nil && rule.Uncounted:
		return "not counted as a failure"
	case d.RuleFailures > 0:
		return fmt.Sprintf("the rule's %s %d in a row", what, d.RuleFailures)
	}
	return fmt.Sprintf("%s %d in a row", what, d.Failures)
}

func limitText(limit int, window time.Duration) string {
	if window > 0 {
		return fmt.Sprintf("%s in %v", plural(limit, "restart"), window)
	}
	return plural(limit, "restart")
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		thing = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
