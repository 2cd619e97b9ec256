package backoff

import (
	"fmt"
	"slices"
	"strings"
	"time"

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

// Validate returns field.Errors listing every mistake in p, or nil. Paths are JSON paths,
// such as restartPolicyRules[0].exitCodes.operator.
func (p ExitPolicy) Validate() error {
	var errs field.Errors
	p.validate(&errs)
	return errs.Err()
}

func (p *ExitPolicy) validate(errs *field.Errors) {
	if !p.RestartPolicy.valid() {
		errs.Add(field.NotSupported, "restartPolicy", string(p.RestartPolicy), "must be Always, OnFailure or Never")
	}
	if n := len(p.Rules); n > maxRules {
		errs.Add(field.TooMany, "restartPolicyRules", n, fmt.Sprintf("must be at most %d", maxRules))
	}
	names := make(map[string]bool)
	for i := range p.Rules {
		r, path := &p.Rules[i], fmt.Sprintf("restartPolicyRules[%d]", i)
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
	validateCurve(errs, "delay", p.Delay)
	validateLimit(errs, "", p.Limit, p.Window)
	errs.Check(p.Retries >= 0, "retries", p.Retries, ">= 0 (0 means no limit)")
	errs.Check(p.GiveUpFor >= 0, "giveUpFor", p.GiveUpFor, ">= 0 (0 means until forgiven)")
}

func (p RestartPolicy) valid() bool {
	switch p {
	case "", RestartPolicyAlways, RestartPolicyOnFailure, RestartPolicyNever:
		return true
	}
	return false
}

// validateCurve adds the mistakes in a policy, if there is one.
func validateCurve(errs *field.Errors, path string, p *Policy) {
	if p == nil {
		return
	}
	var of field.Errors
	p.validate(&of)
	for _, e := range of {
		e.Field = path + "." + strings.ToLower(e.Field[:1]) + e.Field[1:]
		*errs = append(*errs, e)
	}
}

// validateLimit adds the mistakes in a limit and its window.
func validateLimit(errs *field.Errors, path string, limit int, window time.Duration) {
	errs.Check(limit >= 0, path+"limit", limit, ">= 0 (0 means none)")
	errs.Check(window >= 0, path+"window", window, ">= 0 (0 means since the counts started over)")
	errs.Check(window <= 0 || limit != 0, path+"window", window, "0 without a limit")
	errs.Check(window <= 0 || limit <= maxLimit, path+"limit", limit, fmt.Sprintf("at most %d within a window", maxLimit))
}

// valid is Validate() == nil without allocating.
func (p *ExitPolicy) valid() bool {
	if len(p.Rules) > maxRules || !p.RestartPolicy.valid() || p.Retries < 0 || p.GiveUpFor < 0 ||
		p.Delay != nil && !p.Delay.valid() || !validLimit(p.Limit, p.Window) {
		return false
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.valid() || r.Name != "" && slices.ContainsFunc(p.Rules[:i], func(other Rule) bool { return other.Name == r.Name }) {
			return false
		}
	}
	return true
}

func validLimit(limit int, window time.Duration) bool {
	return limit >= 0 && window >= 0 && (window == 0 || limit > 0 && limit <= maxLimit)
}

// valid reports whether validate finds no mistake.
func (r *Rule) valid() bool {
	switch {
	case !r.Action.decides(),
		r.Name != "" && !isLabel(r.Name),
		r.ExitCodes == nil && !r.hasExtensions(),
		r.ExitCodes != nil && !r.ExitCodes.valid(),
		len(r.Reasons) > maxListed || len(r.Signals) > maxListed,
		r.RanLessThan < 0 || r.RanAtLeast < 0 || r.RanLessThan > 0 && r.RanAtLeast >= r.RanLessThan,
		r.MinFailures < 0,
		!validLimit(r.Limit, r.Window),
		r.Delay != nil && !r.Delay.valid(),
		r.Action == ActionGiveUp && (r.Delay != nil || r.Limit > 0 || r.Uncounted),
		r.Uncounted && r.Limit > 0:
		return false
	}
	for i, reason := range r.Reasons {
		if reason == "" || isPattern(reason) || slices.Contains(r.Reasons[:i], reason) {
			return false
		}
	}
	for i, name := range r.Signals {
		if !isSignal(name) || slices.Contains(r.Signals[:i], name) {
			return false
		}
	}
	return true
}

// isPattern reports whether a reason looks like a pattern.
func isPattern(reason string) bool { return strings.ContainsAny(reason, `*?[](){}|^$+\`) }

func isSignal(name string) bool { return name != "" && slices.Contains(signalNames[:], name) }

func (c *ExitCodes) valid() bool {
	if c.Operator != OperatorIn && c.Operator != OperatorNotIn || len(c.Values)+len(c.Ranges) > maxExitCodes {
		return false
	}
	for _, r := range c.Ranges {
		if r.First < 0 || r.Last > 255 || r.First > r.Last {
			return false
		}
	}
	return true
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
	} else if !r.hasExtensions() {
		errs.Add(field.Required, path+".exitCodes", nil, "must be given, or another condition")
	}
	validateListed(errs, path+".reasons", r.Reasons, func(reason string) (field.Type, string) {
		switch {
		case reason == "":
			return field.Invalid, "must not be empty"
		case isPattern(reason):
			return field.Invalid, "must be a whole reason, not a pattern"
		}
		return "", ""
	})
	validateListed(errs, path+".signals", r.Signals, func(name string) (field.Type, string) {
		if !isSignal(name) {
			return field.NotSupported, "must be a Linux signal such as SIGKILL or SIGRTMIN+1"
		}
		return "", ""
	})
	r.validateNumbers(errs, path)
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
	errs.Check(r.RanLessThan >= 0, path+".ranLessThan", r.RanLessThan, ">= 0 (0 means none)")
	errs.Check(r.RanAtLeast >= 0, path+".ranAtLeast", r.RanAtLeast, ">= 0 (0 means none)")
	errs.Check(r.RanLessThan <= 0 || r.RanAtLeast < r.RanLessThan, path+".ranAtLeast", r.RanAtLeast, fmt.Sprintf("below ranLessThan, %v", r.RanLessThan))
	errs.Check(r.MinFailures >= 0, path+".minFailures", r.MinFailures, ">= 0 (0 means none)")
	validateLimit(errs, path+".", r.Limit, r.Window)
	validateCurve(errs, path+".delay", r.Delay)
	if r.Action == ActionGiveUp {
		errs.Check(r.Delay == nil, path+".delay", nil, "absent from a rule that gives up")
		errs.Check(r.Limit <= 0, path+".limit", r.Limit, "0 in a rule that gives up")
		errs.Check(!r.Uncounted, path+".uncounted", true, "false in a rule that gives up")
	}
	errs.Check(!r.Uncounted || r.Limit <= 0, path+".limit", r.Limit, "0 in a rule whose exits are not counted")
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
}
