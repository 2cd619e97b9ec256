package backoff

import (
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
	OperatorIn    Operator = "In"    // the code is one of the values; no code is, if there are none
	OperatorNotIn Operator = "NotIn" // the code is none of the values; every code is, if there are none
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

// Validate returns FieldErrors with every mistake in c, or nil. Paths are those of
// the JSON, as in restartPolicyRules[0].exitCodes.operator.
func (c ContainerPolicy) Validate() error {
	var errs FieldErrors
	switch c.RestartPolicy {
	case "", RestartPolicyAlways, RestartPolicyOnFailure, RestartPolicyNever:
	default:
		errs.Add(ErrorTypeNotSupported, "restartPolicy", string(c.RestartPolicy), "must be Always, OnFailure or Never")
	}
	if n := len(c.Rules); n > maxRules {
		errs.Add(ErrorTypeTooMany, "restartPolicyRules", n, fmt.Sprintf("must be at most %d", maxRules))
	}
	for i, r := range c.Rules {
		r.validate(&errs, fmt.Sprintf("restartPolicyRules[%d]", i))
	}
	return errs.Err()
}

func (r Rule) validate(errs *FieldErrors, path string) {
	if !r.Action.restarts() {
		errs.Add(ErrorTypeNotSupported, path+".action", string(r.Action), "must be Restart or RestartAllContainers")
	}
	if r.ExitCodes == nil {
		errs.Add(ErrorTypeRequired, path+".exitCodes", nil, "must be given")
		return
	}
	if o := r.ExitCodes.Operator; o != OperatorIn && o != OperatorNotIn {
		errs.Add(ErrorTypeNotSupported, path+".exitCodes.operator", string(o), "must be In or NotIn")
	}
	if n := len(r.ExitCodes.Values); n > maxExitCodes {
		errs.Add(ErrorTypeTooMany, path+".exitCodes.values", n, fmt.Sprintf("must be at most %d", maxExitCodes))
	}
}

// Decide returns what to do about an exit with that code, which is Stop, Restart or
// RestartAll, and the index of the rule that decided, or -1 if the restart policy
// did.
//
// The first rule whose exit codes match decides. Decide takes a policy that Validate
// refuses as it is: it skips a rule without exit codes or with an unknown operator,
// leaves the decision to the restart policy if the rule's action is unknown, and
// reads an unknown restart policy as Always.
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
