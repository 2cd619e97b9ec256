package backoff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/internal/exitcode"
)

// RestartPolicy says when a container is restarted, as in core/v1. The zero
// value, as in a manifest that leaves it out, means Always. A RestartPolicy is a
// plain value.
type RestartPolicy string

// The restart policies, as spelled in core/v1.
const (
	RestartPolicyAlways    RestartPolicy = "Always"    // after every exit
	RestartPolicyOnFailure RestartPolicy = "OnFailure" // after an exit code other than 0
	RestartPolicyNever     RestartPolicy = "Never"     // after none
)

// Action is what to do about an exit. A rule's action is ActionRestart,
// ActionRestartAll or ActionGiveUp, a decision's any of the four. The zero value is
// none of them.
type Action string

// The actions. ActionRestart and ActionRestartAll are spelled as in core/v1.
const (
	ActionStop       Action = "Stop"                 // leave it stopped
	ActionRestart    Action = "Restart"              // start it again
	ActionRestartAll Action = "RestartAllContainers" // start it and all its companions again (KEP-5532)
	ActionGiveUp     Action = "GiveUp"               // leave it stopped: it used up its limit, or a rule says so
)

// restarts reports whether a is one of the actions that start something again.
func (a Action) restarts() bool { return a == ActionRestart || a == ActionRestartAll }

// decides reports whether a rule can have a as its action.
func (a Action) decides() bool { return a.restarts() || a == ActionGiveUp }

// Operator relates an exit code to a list of codes, as in core/v1. The zero
// value is not valid. An Operator is a plain value.
type Operator string

// The operators, as spelled in core/v1.
const (
	OperatorIn    Operator = "In"    // the code is one of the values; no code is, if there are none
	OperatorNotIn Operator = "NotIn" // the code is none of the values; every code is, if there are none
)

// ExitCodes is a condition on an exit code: In is met by a code that is one of the
// values or in one of the ranges, NotIn by any other. Its zero value matches nothing.
// It is safe for concurrent use by multiple goroutines while nobody writes to it.
type ExitCodes struct {
	Operator Operator    `json:"operator,omitempty"`
	Values   []int32     `json:"values,omitempty"` // in any order; at most 255, ranges included
	Ranges   []CodeRange `json:"ranges,omitempty"` // of codes 0 to 255; not in core/v1
}

// CodeRange is the exit codes from First to Last, both included. Its text is
// "128-159". The zero value is the code 0 alone. A CodeRange is a plain value.
type CodeRange struct{ First, Last int32 }

// Rule is one entry of a container's restartPolicyRules. A rule matches an exit if
// it has a condition and all its conditions hold. core/v1 knows Action and ExitCodes;
// the other fields are ours. In JSON durations are texts such as "90s". The zero value
// matches nothing. A Rule is safe for concurrent use by multiple goroutines while
// nobody writes to it.
//
// A rule with a Delay has its own count of failures in a row, which are the exits that
// it decided since the key last ran longer than Delay's ResetAfter; a rule with a
// Limit counts its own restarts. A key keeps the counts of a rule under its Name, or
// its index if it has none: name the rules of a policy that can change.
type Rule struct {
	Name   string `json:"name,omitempty"`   // unique, a DNS label; in the Decision and its Reason
	Action Action `json:"action,omitempty"` // Restart, RestartAllContainers or GiveUp

	// The conditions. Those that are not set are none. Signals have their names on Linux.
	ExitCodes   *ExitCodes    `json:"exitCodes,omitempty"`  // the exit code is one of these, or none of them
	Reasons     []string      `json:"reasons,omitempty"`    // the exit's Reason is exactly one of these
	Signals     []string      `json:"signals,omitempty"`    // its signal is one of these: SIGKILL, SIGRTMIN+1 and so on
	RanLessThan time.Duration `json:"ranLess,omitempty"`    // the run was shorter than this
	RanAtLeast  time.Duration `json:"ranAtLeast,omitempty"` // the run was no shorter than this
	MinFailures int           `json:"attempts,omitempty"`   // it is the key's n-th failure in a row or a later one

	// Delay is the curve of the rule's own failures in a row. Nil: the policy of the key
	// gives the delay, by the key's failures.
	Delay *Policy `json:"delay,omitempty"`
	// Limit is how many restarts the rule allows within Window; then its Action is
	// GiveUp. Such restarts do not count for the Restarter's Limit. 0: the rule has no
	// limit of its own.
	Limit int `json:"limit,omitempty"`
	// Window is the time over which Limit counts; 0: for ever, which Validate refuses beside a
	// Delay that sets ResetAfter.
	Window time.Duration `json:"window,omitempty"`
}

// Rules are a container's restartPolicyRules. The zero value has none. Rules are safe
// for concurrent use by multiple goroutines while nobody writes to them.
type Rules []Rule

// ExitPolicy says what to do about the exits of a container, a process or anything else
// that ends with a code: a restart policy, and rules that come before it. Its JSON is
// that of a container in core/v1 (KEP-5307, KEP-5532) with more fields in a Rule, so that
// a container of a manifest fills it; ValidateKubernetes says whether Kubernetes takes
// it too. The zero value restarts after every exit. An ExitPolicy is safe for concurrent
// reads.
type ExitPolicy struct {
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`      // Always, OnFailure, Never; empty is Always
	Rules         Rules         `json:"restartPolicyRules,omitempty"` // at most 20; the first that matches wins
}

// DecideExit returns what to do about an exit, which is the attempt-th failure in a
// row, and the index of the rule that decided, or -1 if the restart policy did. Limits
// are not looked at; a Restarter does that. Give an exit with Started its Finished too.
//
// The first rule that matches decides. DecideExit takes a policy that Validate refuses
// as it is: it skips a rule without conditions or with an unknown operator, leaves the
// decision to the restart policy if the rule's action is unknown, and reads an unknown
// restart policy as Always.
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

// meetsOurs reports whether the conditions hold that core/v1 does not know.
func (r *Rule) meetsOurs(e *Exit, attempt int) bool {
	return (len(r.Reasons) == 0 || slices.Contains(r.Reasons, e.Reason)) &&
		(len(r.Signals) == 0 || slices.Contains(r.Signals, signalName(e.signal()))) &&
		(r.RanLessThan == 0 || e.ran() < r.RanLessThan) &&
		(r.RanAtLeast == 0 || e.ran() >= r.RanAtLeast) &&
		(r.MinFailures == 0 || attempt >= r.MinFailures)
}

// hasConditionOfOurs reports whether r has a condition that core/v1 does not know.
func (r *Rule) hasConditionOfOurs() bool {
	return len(r.Reasons) > 0 || len(r.Signals) > 0 || r.RanLessThan != 0 || r.RanAtLeast != 0 || r.MinFailures != 0
}

// counts reports whether r has counts of its own.
func (r *Rule) counts() bool { return r.Delay != nil || r.Limit > 0 }

// list reports whether a code is one of the values or in one of the ranges.
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

// String returns the range as its text has it, as in 128-159.
func (r CodeRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }
