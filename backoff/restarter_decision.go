package backoff

import (
	"fmt"
	"strings"
	"time"
)

// Decision is what to do about one exit. Its zero value is no decision. A Decision is a
// plain value, to be copied and shared.
type Decision struct {
	Action    Action        `json:"action"`             // Stop, Restart, RestartAll, GiveUp
	Delay     time.Duration `json:"delay"`              // from the exit to the restart; nanoseconds in JSON
	NotBefore time.Time     `json:"notBefore,omitzero"` // the instant of the restart, for display; zero if there is none
	Failures  int           `json:"failures"`           // exits in a row that count: failures, and successes that are restarted
	Rule      int           `json:"rule"`               // index of the rule that decided, or -1

	PolicyInvalid bool `json:"policyInvalid,omitempty"` // PolicyFor returned an invalid policy; the Restarter's was used
}

// Remaining returns what is left of d's wait when the wall clock shows now: within
// [0, Delay], also if the clock was set back. It knows of no later Wake, which
// Restarter.Remaining does.
func (d Decision) Remaining(now time.Time) time.Duration {
	return max(min(d.NotBefore.Sub(now), d.Delay), 0)
}

// Why says in one sentence why d was taken about e under c.
func (d Decision) Why(c ContainerPolicy, e Exit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d", e.Code)
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s)", e.Reason)
	}
	if d.Rule >= 0 && d.Rule < len(c.Rules) && c.Rules[d.Rule].ExitCodes != nil {
		codes := c.Rules[d.Rule].ExitCodes
		fmt.Fprintf(&b, " is %s %v of restartPolicyRules[%d]", codes.Operator, codes.Values, d.Rule)
	} else {
		policy := c.RestartPolicy
		if policy == "" {
			policy = RestartPolicyAlways
		}
		fmt.Fprintf(&b, " under restartPolicy %s", policy)
	}
	switch d.Action {
	case Stop:
		b.WriteString(": not restarted")
	case GiveUp:
		fmt.Fprintf(&b, ": given up, the limit of restarts is used up (failure %d in a row)", d.Failures)
	case Restart, RestartAll:
		what := "restarted"
		if d.Action == RestartAll {
			what = "restarted with all containers"
		}
		when := "at once"
		if d.Delay > 0 {
			when = fmt.Sprintf("after %v", d.Delay)
		}
		fmt.Fprintf(&b, ": %s %s (failure %d in a row)", what, when, d.Failures)
	default:
		b.WriteString(": nothing decided")
	}
	if d.PolicyInvalid {
		b.WriteString(", by the Restarter's own policy, for PolicyFor returned an invalid one")
	}
	return b.String()
}
