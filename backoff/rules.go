package backoff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/internal/exitcode"
)

// RestartPolicy selects the exits after which a container restarts, as in core/v1. The
// zero value means Always.
type RestartPolicy string

// The restart policies.
const (
	RestartPolicyAlways    RestartPolicy = "Always"    // after every exit
	RestartPolicyOnFailure RestartPolicy = "OnFailure" // after an exit code other than 0
	RestartPolicyNever     RestartPolicy = "Never"     // after no exit
)

// Action is a response to an exit. ActionStop is not valid in a Rule.
type Action string

// The actions. ActionRestart and ActionRestartAll are spelled as in core/v1.
const (
	ActionStop       Action = "Stop"                 // leave it stopped
	ActionRestart    Action = "Restart"              // start it again
	ActionRestartAll Action = "RestartAllContainers" // start it and all its companions again (KEP-5532)
	ActionGiveUp     Action = "GiveUp"               // leave it stopped, because a limit is used up or a rule says so
)

// restarts reports whether a is a restart.
func (a Action) restarts() bool { return a == ActionRestart || a == ActionRestartAll }

// decides reports whether a is valid as the action of a rule.
func (a Action) decides() bool { return a.restarts() || a == ActionGiveUp }

// Operator relates an exit code to a list of codes, as in core/v1.
type Operator string

// The operators.
const (
	OperatorIn    Operator = "In"    // the code is listed
	OperatorNotIn Operator = "NotIn" // the code is not listed
)

// ExitCodes is a condition on an exit code. Operator refers to the codes in Values and
// Ranges.
type ExitCodes struct {
	Operator Operator    `json:"operator,omitempty"`
	Values   []int32     `json:"values,omitempty"` // in any order; at most 255, ranges included
	Ranges   []CodeRange `json:"ranges,omitempty"` // of codes 0 to 255; not in core/v1
	Unknown  string      `json:"-"`                // all other fields, as in Policy; Validate reports them
}

// CodeRange holds the exit codes from First to Last, both included.
type CodeRange struct{ First, Last int32 }

// Rule is one entry of restartPolicyRules. It matches an exit if it has conditions and
// all of them hold. Only Action and ExitCodes exist in core/v1.
//
// A rule with a Delay counts its own failures in a row, namely the exits it decided
// since the key last ran longer than Delay's ResetAfter. Counts belong to the rule's
// Name, or its index if unnamed, so name the rules of a policy that can change.
type Rule struct {
	Name   string `json:"name,omitempty"`   // unique DNS label, shown in the Decision and its Reason
	Action Action `json:"action,omitempty"` // Restart, RestartAllContainers or GiveUp

	// Conditions. Unset ones are ignored. Signals have their Linux names.
	ExitCodes   *ExitCodes    `json:"exitCodes,omitempty"`  // condition on the exit code
	Reasons     []string      `json:"reasons,omitempty"`    // the exit's Reason is exactly one of these
	Signals     []string      `json:"signals,omitempty"`    // its signal is one of these, such as SIGKILL or SIGRTMIN+1
	RanLessThan time.Duration `json:"ranLess,omitempty"`    // the run was shorter than this
	RanAtLeast  time.Duration `json:"ranAtLeast,omitempty"` // the run was at least this long
	MinFailures int           `json:"attempts,omitempty"`   // at least this many failures in a row, this exit included

	// Delay is the curve for the rule's own failures in a row; nil means the curve and
	// failures of the key.
	Delay *Policy `json:"delay,omitempty"`
	// Limit is the number of the rule's restarts allowed within Window before the
	// action becomes GiveUp; 0 means no limit. These restarts do not count toward the
	// Restarter's Limit.
	Limit int `json:"limit,omitempty"`
	// Window is the period of Limit; 0 means forever, which Validate rejects if Delay
	// sets ResetAfter. To set it to 0, or no longer to 0, starts the count over.
	Window time.Duration `json:"window,omitempty"`

	// Unknown holds all other fields, as in Policy. Validate reports them.
	Unknown string `json:"-"`
}

// Rules is a container's list of restartPolicyRules.
type Rules []Rule

// ExitPolicy is a restart policy with rules that take precedence. Its JSON is that of a
// core/v1 container (KEP-5307, KEP-5532) with additional fields in Rule, so a
// manifest's container can be unmarshaled into it. The zero value restarts after every
// exit.
//
// Decoding ignores unknown fields beside RestartPolicy and Rules, because they belong
// to the container. To detect a misspelled restartPolicyRules, decode a struct that
// embeds ExitPolicy and has all other fields of the container, and disallow unknown
// fields.
type ExitPolicy struct {
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	Rules         Rules         `json:"restartPolicyRules,omitempty"` // at most 20; the first that matches wins
}

// DecideExit returns the action for an exit and the index of the rule that decided, or
// -1 if the restart policy did. attempt is the number of failures in a row, including
// this one. If e.Started is set, e.Finished must be too. Limits are ignored.
//
// The first matching rule decides. DecideExit does not validate c. It skips rules
// without conditions or with an unknown operator, applies the restart policy if the
// rule's action is unknown, and treats an unknown restart policy as Always.
func (c ExitPolicy) DecideExit(e Exit, attempt int) (Action, int) {
	return c.decide(&e, attempt)
}

// decide is DecideExit without copies of c and e.
func (c *ExitPolicy) decide(e *Exit, attempt int) (Action, int) {
	for i := range c.Rules {
		r := &c.Rules[i]
		if codes := r.ExitCodes; codes != nil {
			if met, _ := exitcode.Meets(codes.Operator, codes.list(e.Code)); !met {
				continue
			}
		}
		if r.hasConditionOfOurs() {
			if !r.meetsOurs(e, attempt) {
				continue
			}
		} else if r.ExitCodes == nil {
			continue
		}
		if r.Action.decides() {
			return r.Action, i
		}
		break
	}
	if c.RestartPolicy == RestartPolicyNever || c.RestartPolicy == RestartPolicyOnFailure && e.Code == 0 {
		return ActionStop, -1
	}
	return ActionRestart, -1
}

// meetsOurs reports whether the conditions unknown to core/v1 hold.
func (r *Rule) meetsOurs(e *Exit, attempt int) bool {
	return (len(r.Reasons) == 0 || slices.Contains(r.Reasons, e.Reason)) &&
		(len(r.Signals) == 0 || slices.Contains(r.Signals, signalName(e.signal()))) &&
		(r.RanLessThan == 0 || e.ran() < r.RanLessThan) &&
		(r.RanAtLeast == 0 || e.ran() >= r.RanAtLeast) &&
		(r.MinFailures == 0 || attempt >= r.MinFailures)
}

// hasConditionOfOurs reports whether r has a condition unknown to core/v1.
func (r *Rule) hasConditionOfOurs() bool {
	return len(r.Reasons) > 0 || len(r.Signals) > 0 || r.RanLessThan != 0 || r.RanAtLeast != 0 || r.MinFailures != 0
}

// counts reports whether r has counts of its own.
func (r *Rule) counts() bool { return r.Delay != nil || r.Limit > 0 }

// list reports whether code is in Values or Ranges.
func (c *ExitCodes) list(code int32) bool {
	if slices.Contains(c.Values, code) {
		return true
	}
	for _, r := range c.Ranges {
		if r.First <= code && code <= r.Last {
			return true
		}
	}
	return false
}

// text names a rule in a message.
func (r *Rule) text(i int) string {
	if r.Name != "" {
		return r.Name
	}
	return fmt.Sprintf("restartPolicyRules[%d]", i)
}

// limitText prints a rule's limit.
func (r *Rule) limitText() string {
	restarts := fmt.Sprintf("%d restarts", r.Limit)
	if r.Limit == 1 {
		restarts = "1 restart"
	}
	if r.Window > 0 {
		return fmt.Sprintf("%s in %v", restarts, r.Window)
	}
	return restarts
}

// listText prints the values and ranges.
func (c *ExitCodes) listText() string {
	var parts []string
	for _, v := range c.Values {
		parts = append(parts, fmt.Sprint(v))
	}
	for _, r := range c.Ranges {
		parts = append(parts, r.String())
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// String returns the text form, such as 128-159.
func (r CodeRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }
