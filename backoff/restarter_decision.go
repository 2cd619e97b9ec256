package backoff

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Decision is the response to one exit. The zero value means no decision.
type Decision struct {
	Action Action `json:"action"`
	// Delay is the time from the exit, or from a later RestartNow, to the restart.
	Delay     time.Duration `json:"delay"`
	NotBefore time.Time     `json:"notBefore,omitzero"` // when the restart is due, for display; zero without a restart
	Failures  int           `json:"failures"`           // failures in a row, including restarted successes
	Rule      int           `json:"rule"`               // index of the rule that decided, or -1

	RuleName string `json:"ruleName,omitempty"` // that rule's name
	// RuleFailures is the rule's own failures in a row if Delay follows the rule's
	// curve, and otherwise 0.
	RuleFailures int `json:"ruleFailures,omitempty"`

	// PolicyInvalid means that PolicyFor's Policy or the rule's Delay was invalid and
	// ignored.
	PolicyInvalid bool `json:"policyInvalid,omitempty"`
}

// Remaining returns the time left of d's wait at now, within [0, Delay]. Unlike
// Restarter.Remaining, it ignores a later RestartNow.
func (d Decision) Remaining(now time.Time) time.Duration {
	return max(min(d.NotBefore.Sub(now), d.Delay), 0)
}

// Reason explains d for e under c in one sentence.
func (d Decision) Reason(c ExitPolicy, e Exit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d", e.Code)
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s)", e.Reason)
	}
	if d.Action == "" {
		b.WriteString(": nothing decided")
		return b.String()
	}
	var rule *Rule
	if d.Rule >= 0 && d.Rule < len(c.Rules) {
		rule = &c.Rules[d.Rule]
	}
	switch {
	case rule == nil:
		policy := c.RestartPolicy
		if policy == "" {
			policy = RestartPolicyAlways
		}
		fmt.Fprintf(&b, " under restartPolicy %s", policy)
	case rule.ExitCodes != nil && rule.Name == "" && !rule.hasConditionOfOurs():
		fmt.Fprintf(&b, " is %s %s of %s", rule.ExitCodes.Operator, rule.ExitCodes.listText(), rule.text(d.Rule))
	default:
		fmt.Fprintf(&b, " meets rule %s", rule.text(d.Rule))
	}
	switch d.Action {
	case ActionStop:
		b.WriteString(": not restarted")
	case ActionGiveUp:
		why := "the limit of restarts is used up"
		if rule != nil && rule.Action == ActionGiveUp {
			why = "as the rule says"
		} else if rule != nil && rule.Limit > 0 {
			why = "the rule's limit of " + rule.limitText() + " is used up"
		}
		fmt.Fprintf(&b, ": given up, %s (%s)", why, d.failuresText())
	case ActionRestart, ActionRestartAll:
		what := "restarted"
		if d.Action == ActionRestartAll {
			what = "restarted with all containers"
		}
		when := "at once"
		if d.Delay > 0 {
			when = fmt.Sprintf("after %v", d.Delay)
		}
		fmt.Fprintf(&b, ": %s %s (%s)", what, when, d.failuresText())
	}
	if d.PolicyInvalid {
		b.WriteString(", by another policy, because that of PolicyFor or the rule is invalid")
	}
	return b.String()
}

// failuresText names the count behind the delay.
func (d Decision) failuresText() string {
	if d.RuleFailures > 0 {
		return fmt.Sprintf("the rule's failure %d in a row", d.RuleFailures)
	}
	return fmt.Sprintf("failure %d in a row", d.Failures)
}

// decisionJSON adds a field that hides one of the same name.
type decisionJSON struct {
	*decisionFields
	Delay durationText `json:"delay"`
}

// MarshalJSON encodes Delay as a string.
func (d Decision) MarshalJSON() ([]byte, error) {
	return json.Marshal(decisionJSON{(*decisionFields)(&d), durationText(d.Delay)})
}

// UnmarshalJSON ignores unknown fields.
func (d *Decision) UnmarshalJSON(text []byte) error {
	j := decisionJSON{(*decisionFields)(d), durationText(d.Delay)}
	err := json.Unmarshal(text, &j)
	d.Delay = time.Duration(j.Delay)
	return err
}

type decisionFields Decision
