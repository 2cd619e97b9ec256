package backoff

import (
	"errors"
	"fmt"

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

// Action is what to do about a container that exited. Rules hold Restart and
// RestartAll; decisions hold any of the four. The zero value is none of them. An
// Action is a plain value.
type Action string

// The actions. Restart and RestartAll are spelled as in core/v1.
const (
	Stop       Action = "Stop"                 // leave it stopped
	Restart    Action = "Restart"              // start it again
	RestartAll Action = "RestartAllContainers" // start it and all its companions again (KEP-5532)
	GiveUp     Action = "GiveUp"               // it would be restarted, but used up its limit
)

// restarts reports whether a is one of the actions that start something again.
func (a Action) restarts() bool { return a == Restart || a == RestartAll }

// Operator relates an exit code to a list of codes, as in core/v1. The zero
// value is not valid. An Operator is a plain value.
type Operator string

// The operators, as spelled in core/v1.
const (
	In    Operator = "In"    // one of the values; of no values, nothing is
	NotIn Operator = "NotIn" // none of the values; of no values, everything is
)

// ExitCodes is a condition on an exit code. Its zero value matches nothing. It is
// safe for concurrent use by multiple goroutines while nobody writes to it.
type ExitCodes struct {
	Operator Operator `json:"operator,omitempty"`
	Values   []int32  `json:"values,omitempty"` // in any order; at most 255
}

// Rule is one entry of a container's restartPolicyRules. Its zero value matches
// nothing. A Rule is safe for concurrent use by multiple goroutines while nobody
// writes to it.
type Rule struct {
	Action    Action     `json:"action,omitempty"`    // Restart or RestartAll
	ExitCodes *ExitCodes `json:"exitCodes,omitempty"` // required
}

// ContainerPolicy is a container's restartPolicy and restartPolicyRules, with the
// JSON of core/v1 (KEP-5307, KEP-5532), so that a container of a manifest fills
// it. The zero value restarts after every exit. A ContainerPolicy is safe for
// concurrent use by multiple goroutines while nobody writes to it.
type ContainerPolicy struct {
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`      // Always, OnFailure, Never; empty is Always
	Rules         []Rule        `json:"restartPolicyRules,omitempty"` // at most 20; the first that matches wins
}

// The limits of core/v1.
const (
	maxRules     = 20
	maxExitCodes = 255
)

// Validate reports everything that is wrong with c, joined into one error whose
// parts name the field by its path, or nil.
func (c ContainerPolicy) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("backoff: ContainerPolicy.Validate(): "+format, args...))
		}
	}
	switch c.RestartPolicy {
	case "", RestartPolicyAlways, RestartPolicyOnFailure, RestartPolicyNever:
	default:
		check(false, "restartPolicy is %q, must be Always, OnFailure or Never", c.RestartPolicy)
	}
	check(len(c.Rules) <= maxRules, "restartPolicyRules has %d rules, must have at most %d", len(c.Rules), maxRules)
	for i, r := range c.Rules {
		path := fmt.Sprintf("restartPolicyRules[%d]", i)
		check(r.Action.restarts(), "%s.action is %q, must be Restart or RestartAllContainers", path, r.Action)
		if r.ExitCodes == nil {
			check(false, "%s.exitCodes is missing, must be given", path)
			continue
		}
		operator, values := r.ExitCodes.Operator, r.ExitCodes.Values
		check(operator == In || operator == NotIn, "%s.exitCodes.operator is %q, must be In or NotIn", path, operator)
		check(len(values) <= maxExitCodes, "%s.exitCodes.values has %d codes, must have at most %d", path, len(values), maxExitCodes)
	}
	return errors.Join(errs...)
}

// Decide returns what to do about an exit with code, Stop, Restart or RestartAll,
// and the index of the rule that decided, or -1 if the restart policy did.
//
// The first rule whose exit codes match decides. A rule without exit codes or
// with an unknown operator is skipped; one with an unknown action leaves the
// decision to the restart policy, and an unknown restart policy is read as
// Always: policies are taken as they come, Validate is there to refuse them.
func (c ContainerPolicy) Decide(code int32) (Action, int) {
	for i, r := range c.Rules {
		if r.ExitCodes == nil {
			continue
		}
		if matched, _ := exitcode.Matches(r.ExitCodes.Operator, r.ExitCodes.Values, code); !matched {
			continue
		}
		if r.Action.restarts() {
			return r.Action, i
		}
		break
	}
	if c.RestartPolicy == RestartPolicyNever || c.RestartPolicy == RestartPolicyOnFailure && code == 0 {
		return Stop, -1
	}
	return Restart, -1
}
