package backoff

import (
	"cmp"
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
}

// CodeRange holds the exit codes from First to Last, both included. Its text is
// 128-159.
type CodeRange struct{ First, Last int32 }

// Rule is one entry of restartPolicyRules. It matches an exit if it has conditions and
// all of them hold. Only Action and ExitCodes exist in core/v1.
//
// A rule with a Delay counts its own failures in a row, namely the exits it decided
// since the last run longer than Delay's ResetAfter. They are also failures of the policy,
// and lengthen its next delay, unless they are Uncounted. Counts belong to the rule's
// Name, or its index if unnamed, so name the rules of a policy that can change.
//
// A rule without a Delay waits as the policy does. To restart at once and count the
// failure, use a Delay whose FreeFailures never end, as in
//
//	Delay: &Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt, ResetAfter: 10 * time.Minute}
//
// and a Limit against endless restarts. Without the ResetAfter, which would be twice Max, every
// run would start the counts over. To restart at once without counting the failure, use
// Uncounted.
type Rule struct {
	Name   string `json:"name,omitempty"`   // unique DNS label, shown in the Decision and its Reason
	Action Action `json:"action,omitempty"` // Restart, RestartAllContainers or GiveUp

	// Conditions. Unset ones are ignored. Signals have their Linux names.
	ExitCodes   *ExitCodes    `json:"exitCodes,omitempty"`   // condition on the exit code
	Reasons     []string      `json:"reasons,omitempty"`     // the exit's Reason is exactly one of these
	Signals     []string      `json:"signals,omitempty"`     // its signal is one of these, such as SIGKILL or SIGRTMIN+1
	RanLessThan time.Duration `json:"ranLessThan,omitempty"` // the run was shorter than this
	RanAtLeast  time.Duration `json:"ranAtLeast,omitempty"`  // the run was at least this long
	MinFailures int           `json:"minFailures,omitempty"` // at least this many failures in a row, this exit included

	// Uncounted makes an exit no failure: a pause, a planned restart, a drain. Such an
	// exit changes neither failures nor limits. Its restart waits for Delay's first delay.
	// Without a Delay it adds no wait: it restarts when the wait before it ends, or at once
	// if that is over. A run longer than ResetAfter starts the counts over all the same.
	Uncounted bool `json:"uncounted,omitempty"`

	// Delay is the curve for the rule's own failures in a row; nil means the policy's
	// curve and failures.
	Delay *Policy `json:"delay,omitempty"`
	// Limit is the number of the rule's restarts allowed within Window before the
	// action becomes GiveUp; 0 means no limit. Restarts by a rule with a Limit do not
	// count toward the policy's Limit, and those by a rule without one do.
	Limit int `json:"limit,omitempty"`
	// Window is the period of Limit; 0 means since the counts last started over. To set
	// it to 0, or no longer to 0, starts the count of the limit over.
	Window time.Duration `json:"window,omitempty"`
}

// ExitPolicy is everything that decides about an exit: a restart policy, rules that take
// precedence over it, a curve, and limits. Its zero value restarts after every exit, by
// the curve of CrashLoop, without limits. A Restarter replaces zero fields by
// those of its own policy; see NewRestarter.
//
// Its JSON is that of a core/v1 container (KEP-5307, KEP-5532) with more fields, so a
// container of a manifest can be decoded into it. Unknown fields of rules and curves are
// errors. Unknown fields beside them belong to the container and are ignored, unless they
// look like a misspelled field of ExitPolicy. Do not embed an ExitPolicy in a struct that
// is decoded, because its UnmarshalJSON would take the place of the struct's: decode the
// same text into both.
type ExitPolicy struct {
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	Rules         []Rule        `json:"restartPolicyRules,omitempty"` // at most 20; the first that matches wins

	// Delay is the curve of exits that no rule with a Delay decides; nil means
	// CrashLoop.
	Delay *Policy `json:"delay,omitempty"`
	// Limit is the number of restarts within Window before GiveUp; 0 means no limit. The
	// give-up stays when the Window has passed, and in a saved state: see GiveUpFor and
	// Forgive.
	Limit int `json:"limit,omitempty"`
	// Window is the period of Limit; 0 means since the counts last started over, as they do
	// after a run longer than ResetAfter. With Forever, every restart counts until the limit
	// is reached.
	Window time.Duration `json:"window,omitempty"`
	// Retries is the number of restarts in a row, with no run between them longer than
	// ResetAfter, before GiveUp; 0 means no limit. With 3, the fourth failure gives up.
	Retries int `json:"retries,omitempty"`
	// GiveUpFor is how long a give-up by a limit lasts, of the policy or of a rule. Then
	// one start is allowed, and the next failure gives up again for as long. 0 means
	// until Forgive.
	GiveUpFor time.Duration `json:"giveUpFor,omitempty"`
}

// withDefaults returns p with its zero fields replaced by those of d. A Limit and its
// Window belong together.
func (p ExitPolicy) withDefaults(d *ExitPolicy) ExitPolicy {
	p.RestartPolicy = cmp.Or(p.RestartPolicy, d.RestartPolicy)
	if len(p.Rules) == 0 {
		p.Rules = d.Rules
	}
	if p.Delay == nil {
		p.Delay = d.Delay
	}
	if p.Limit == 0 && p.Window == 0 {
		p.Limit, p.Window = d.Limit, d.Window
	}
	p.Retries = cmp.Or(p.Retries, d.Retries)
	p.GiveUpFor = cmp.Or(p.GiveUpFor, d.GiveUpFor)
	return p
}

// defaultCurve is the curve of a policy without one.
var defaultCurve = CrashLoop()

// curve returns the curve of the policy.
func (p *ExitPolicy) curve() *Policy {
	if p.Delay == nil {
		return &defaultCurve
	}
	return p.Delay
}

// curves yields every curve of the policy.
func (p *ExitPolicy) curves(yield func(*Policy) bool) {
	if !yield(p.curve()) {
		return
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; r.Delay != nil && !yield(r.Delay) {
			return
		}
	}
}

// minBound is the least bound of a wait. A stored wait beyond the bound is damaged.
const minBound = 24 * time.Hour

// bound returns the longest wait that a State can have, at least a day.
func (p *ExitPolicy) bound() time.Duration {
	longest := max(minBound, p.GiveUpFor)
	for curve := range p.curves {
		longest = max(longest, curve.Max)
	}
	return longest
}

// jitters reports whether a decision may use a random number.
func (p *ExitPolicy) jitters() bool {
	for curve := range p.curves {
		if curve.Jitter > 0 {
			return true
		}
	}
	return false
}

// DecideExit returns the action for an exit and the index of the rule that decided, or
// -1 if the restart policy did. attempt is the number of failures in a row, including
// this one. If e.Started is set, e.Finished must be too. Limits are ignored.
//
// The first matching rule decides. DecideExit does not validate p. It skips rules
// without conditions or with an unknown operator, applies the restart policy if the
// rule's action is unknown, and treats an unknown restart policy as Always.
func (p ExitPolicy) DecideExit(e Exit, attempt int) (Action, int) {
	return p.decide(&e, attempt)
}

// decide is DecideExit without copies of p and e.
func (p *ExitPolicy) decide(e *Exit, attempt int) (Action, int) {
	for i := range p.Rules {
		r := &p.Rules[i]
		if codes := r.ExitCodes; codes != nil {
			if met, _ := exitcode.Meets(codes.Operator, codes.list(e.Code)); !met {
				continue
			}
		}
		if r.hasExtensions() {
			if !r.meetsExtensions(e, attempt) {
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
	if p.RestartPolicy == RestartPolicyNever || p.RestartPolicy == RestartPolicyOnFailure && e.Code == 0 {
		return ActionStop, -1
	}
	return ActionRestart, -1
}

// meetsExtensions reports whether the conditions that core/v1 has not hold.
func (r *Rule) meetsExtensions(e *Exit, attempt int) bool {
	return (len(r.Reasons) == 0 || slices.Contains(r.Reasons, e.Reason)) &&
		(len(r.Signals) == 0 || slices.Contains(r.Signals, signalName(e.signal()))) &&
		(r.RanLessThan == 0 || e.ran() < r.RanLessThan) &&
		(r.RanAtLeast == 0 || e.ran() >= r.RanAtLeast) &&
		(r.MinFailures == 0 || attempt >= r.MinFailures)
}

// hasExtensions reports whether r has a condition that core/v1 has not.
func (r *Rule) hasExtensions() bool {
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
