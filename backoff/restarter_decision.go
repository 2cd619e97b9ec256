package backoff

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Decision is what to do about one exit. Its zero value is no decision. A Decision is a
// plain value, to be copied and shared.
type Decision struct {
	Action Action `json:"action"` // any of the four
	// Delay is the time from the exit to the restart; after RestartNow, from that call.
	Delay     time.Duration `json:"delay"`
	NotBefore time.Time     `json:"notBefore,omitzero"` // when the restart is due, for display; zero if none is
	Failures  int           `json:"failures"`           // in a row: failures, and successes that are restarted
	Rule      int           `json:"rule"`               // index of the rule that decided, or -1

	RuleName string `json:"ruleName,omitempty"` // its name
	// RuleFailures is the number of the rule's own failures in a row, if Delay is from the
	// rule's curve; 0 if Delay goes by Failures.
	RuleFailures int `json:"ruleFailures,omitempty"`

	// PolicyInvalid says that PolicyFor or the rule gave an invalid Policy. In its place the
	// Restarter's, or the key's, was used.
	PolicyInvalid bool `json:"policyInvalid,omitempty"`
}

// Remaining returns what is left of d's wait when the wall clock shows now: within
// [0, Delay], also if the clock was set back. It knows of no later RestartNow, which
// Restarter.Remaining does.
func (d Decision) Remaining(now time.Time) time.Duration {
	return max(min(d.NotBefore.Sub(now), d.Delay), 0)
}

// Reason says in one sentence why d was taken about e under c; of a zero Decision, that
// nothing was decided.
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
		b.WriteString(", by another policy, for PolicyFor or the rule gave an invalid one")
	}
	return b.String()
}

// failuresText says which count the delay goes by.
func (d Decision) failuresText() string {
	if d.RuleFailures > 0 {
		return fmt.Sprintf("failure %d in a row of the rule", d.RuleFailures)
	}
	return fmt.Sprintf("failure %d in a row", d.Failures)
}

// decisionJSON writes a field beside the others, which it hides.
type decisionJSON struct {
	*decisionFields
	Delay storedDuration `json:"delay"`
}

// MarshalJSON returns the decision with Delay as a text.
func (d Decision) MarshalJSON() ([]byte, error) {
	return json.Marshal(decisionJSON{(*decisionFields)(&d), storedDuration(d.Delay)})
}

// UnmarshalJSON reads what MarshalJSON returns. Unknown fields are ignored.
func (d *Decision) UnmarshalJSON(text []byte) error {
	j := decisionJSON{(*decisionFields)(d), storedDuration(d.Delay)}
	err := json.Unmarshal(text, &j)
	d.Delay = time.Duration(j.Delay)
	return err
}

type decisionFields Decision
