package backoff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/field"
)

// The limits of core/v1.
const (
	maxRules     = 20
	maxExitCodes = 255
)

// The limits of the other fields.
const (
	maxName   = 63   // bytes of a rule's name
	maxListed = 255  // reasons or signals of a rule
	maxLimit  = 1000 // restarts within a window, each remembered with its time
)

// Validate returns field.Errors listing every mistake in c, or nil. Unknown fields of
// rules are mistakes, with a suggestion. Paths are JSON paths, such as
// restartPolicyRules[0].exitCodes.operator.
func (c ExitPolicy) Validate() error {
	var errs field.Errors
	c.validate(&errs)
	return errs.Err()
}

// ValidateKubernetes is like Validate, and also rejects an empty RestartPolicy with
// rules, and fields and actions unknown to Kubernetes 1.36 and 1.37 with KEP-5307 and
// KEP-5532.
func (c ExitPolicy) ValidateKubernetes() error {
	var errs field.Errors
	if c.RestartPolicy == "" && len(c.Rules) > 0 {
		errs.Add(field.Required, "restartPolicy", nil, "must be given with rules")
	}
	c.validate(&errs)
	for i := range c.Rules {
		c.Rules[i].validateKubernetes(&errs, fmt.Sprintf("restartPolicyRules[%d]", i))
	}
	return errs.Err()
}

func (c *ExitPolicy) validate(errs *field.Errors) {
	switch c.RestartPolicy {
	case "", RestartPolicyAlways, RestartPolicyOnFailure, RestartPolicyNever:
	default:
		errs.Add(field.NotSupported, "restartPolicy", string(c.RestartPolicy), "must be Always, OnFailure or Never")
	}
	if n := len(c.Rules); n > maxRules {
		errs.Add(field.TooMany, "restartPolicyRules", n, fmt.Sprintf("must be at most %d", maxRules))
	}
	names := make(map[string]bool)
	for i := range c.Rules {
		r, path := &c.Rules[i], fmt.Sprintf("restartPolicyRules[%d]", i)
		switch {
		case r.Name == "":
		case !isLabel(r.Name):
			errs.Add(field.Invalid, path+".name", r.Name, fmt.Sprintf("must be 1 to %d lower-case letters, digits and hyphens, with no hyphen at either end", maxName))
		case names[r.Name]:
			errs.Add(field.Duplicate, path+".name", r.Name, "must be unique")
		}
		names[r.Name] = true
		r.validate(errs, path)
	}
}

// isLabel reports whether name is a DNS label.
func isLabel(name string) bool {
	return name != "" && len(name) <= maxName && name[0] != '-' && name[len(name)-1] != '-' &&
		strings.IndexFunc(name, func(c rune) bool { return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') }) < 0
}

func (r *Rule) validate(errs *field.Errors, path string) {
	if !r.Action.decides() {
		errs.Add(field.NotSupported, path+".action", string(r.Action), "must be Restart, RestartAllContainers or GiveUp")
	}
	if r.ExitCodes != nil {
		r.ExitCodes.validate(errs, path+".exitCodes")
	} else if !r.hasConditionOfOurs() {
		errs.Add(field.Required, path+".exitCodes", nil, "must be given, or another condition")
	}
	validateListed(errs, path+".reasons", r.Reasons, func(reason string) (field.Type, string) {
		switch {
		case reason == "":
			return field.Invalid, "must not be empty"
		case strings.ContainsAny(reason, `*?[](){}|^$+\`):
			return field.Invalid, "must be a whole reason, not a pattern"
		}
		return "", ""
	})
	validateListed(errs, path+".signals", r.Signals, func(name string) (field.Type, string) {
		if name == "" || !slices.Contains(signalNames[:], name) {
			return field.NotSupported, "must be a Linux signal such as SIGKILL or SIGRTMIN+1"
		}
		return "", ""
	})
	r.validateNumbers(errs, path)
	validateUnknown(errs, path+".", r.Unknown, ruleFields{})
}

// validateListed adds the mistakes in a list of strings.
func validateListed(errs *field.Errors, path string, list []string, wrong func(string) (field.Type, string)) {
	if len(list) > maxListed {
		errs.Add(field.TooMany, path, len(list), fmt.Sprintf("must be at most %d", maxListed))
		list = list[:maxListed]
	}
	for k, text := range list {
		at := fmt.Sprintf("%s[%d]", path, k)
		if kind, detail := wrong(text); detail != "" {
			errs.Add(kind, at, text, detail)
		} else if slices.Contains(list[:k], text) {
			errs.Add(field.Duplicate, at, text, "")
		}
	}
}

// validateNumbers adds the mistakes in counts, durations and limits.
func (r *Rule) validateNumbers(errs *field.Errors, path string) {
	errs.Check(r.RanLessThan >= 0, path+".ranLess", r.RanLessThan, ">= 0 (0 means none)")
	errs.Check(r.RanAtLeast >= 0, path+".ranAtLeast", r.RanAtLeast, ">= 0 (0 means none)")
	errs.Check(r.RanLessThan <= 0 || r.RanAtLeast < r.RanLessThan, path+".ranAtLeast", r.RanAtLeast, fmt.Sprintf("below ranLess, %v", r.RanLessThan))
	errs.Check(r.MinFailures >= 0, path+".attempts", r.MinFailures, ">= 0 (0 means none)")
	errs.Check(r.Limit >= 0, path+".limit", r.Limit, ">= 0 (0 means none)")
	errs.Check(r.Window >= 0, path+".window", r.Window, ">= 0 (0 means forever)")
	errs.Check(r.Window <= 0 || r.Limit != 0, path+".window", r.Window, "0 without a limit")
	errs.Check(r.Window <= 0 || r.Limit <= maxLimit, path+".limit", r.Limit, fmt.Sprintf("at most %d within a window", maxLimit))
	if r.Delay != nil {
		var of field.Errors
		r.Delay.validate(&of)
		for _, e := range of {
			name, ok := policyNames[e.Field]
			if !ok || e.Type == field.Unknown {
				name = e.Field
			}
			e.Field = path + ".delay." + name
			*errs = append(*errs, e)
		}
		if r.Limit > 0 && r.Window == 0 && r.Delay.ResetAfter > 0 && r.Action != ActionGiveUp {
			errs.Add(field.Required, path+".window", nil, "must be given with delay.resetAfter, or the limit holds forever")
		}
	}
	if r.Action == ActionGiveUp {
		errs.Check(r.Delay == nil, path+".delay", nil, "absent from a rule that gives up")
		errs.Check(r.Limit <= 0, path+".limit", r.Limit, "0 in a rule that gives up")
	}
}

func (c *ExitCodes) validate(errs *field.Errors, path string) {
	if o := c.Operator; o != OperatorIn && o != OperatorNotIn {
		errs.Add(field.NotSupported, path+".operator", string(o), "must be In or NotIn")
	}
	if n := len(c.Values) + len(c.Ranges); n > maxExitCodes {
		name, detail := ".values", fmt.Sprintf("must be at most %d", maxExitCodes)
		if len(c.Values) == 0 {
			name = ".ranges"
		} else if len(c.Ranges) > 0 {
			detail += ", ranges included"
		}
		errs.Add(field.TooMany, path+name, n, detail)
	}
	for k, r := range c.Ranges[:min(len(c.Ranges), maxExitCodes)] {
		at := fmt.Sprintf("%s.ranges[%d]", path, k)
		switch {
		case r.First < 0 || r.Last < 0 || r.First > 255 || r.Last > 255:
			errs.Add(field.Invalid, at, r.String(), "must be within 0-255")
		case r.First > r.Last:
			errs.Add(field.Invalid, at, r.String(), "must not end before it begins")
		}
	}
	validateUnknown(errs, path+".", c.Unknown, codesFields{})
}

// validateKubernetes adds everything unknown to core/v1.
func (r *Rule) validateKubernetes(errs *field.Errors, path string) {
	if r.Action == ActionGiveUp {
		errs.Add(field.NotSupported, path+".action", string(r.Action), "must be Restart or RestartAllContainers in Kubernetes")
	}
	if r.ExitCodes == nil && r.hasConditionOfOurs() {
		errs.Add(field.Required, path+".exitCodes", nil, "must be given in Kubernetes")
	}
	foreign := func(has bool, name string, value any) {
		if has {
			errs.Add(field.NotSupported, path+name, value, "Kubernetes has no such field")
		}
	}
	foreign(r.Name != "", ".name", r.Name)
	foreign(r.ExitCodes != nil && len(r.ExitCodes.Ranges) > 0, ".exitCodes.ranges", nil)
	foreign(len(r.Reasons) > 0, ".reasons", nil)
	foreign(len(r.Signals) > 0, ".signals", nil)
	foreign(r.RanLessThan != 0, ".ranLess", r.RanLessThan)
	foreign(r.RanAtLeast != 0, ".ranAtLeast", r.RanAtLeast)
	foreign(r.MinFailures != 0, ".attempts", r.MinFailures)
	foreign(r.Delay != nil, ".delay", nil)
	foreign(r.Limit != 0, ".limit", r.Limit)
	foreign(r.Window != 0, ".window", r.Window)
}
