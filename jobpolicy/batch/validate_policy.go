package batch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/restartkit/restart/field"
)

// Limits of a pod failure policy (KEP-3329, "JobSpec API").
const (
	maxPolicyRules      = 20
	maxPolicyValues     = 255
	maxPolicyConditions = 20
)

func (s *JobSpec) validatePodFailurePolicy(errs *field.Errors) {
	if s.PodFailurePolicy == nil {
		return
	}
	const path = "spec.podFailurePolicy.rules"
	rules := s.PodFailurePolicy.Rules
	if len(rules) > maxPolicyRules {
		errs.Add(field.TooMany, path, len(rules), fmt.Sprintf("must be at most %d", maxPolicyRules))
	}
	var names containerNames
	reasons := make(map[Reason]int)
	for i := range rules {
		rule := &rules[i]
		validateRuleName(errs, i, rule, len(rules), reasons)
		s.validateAction(errs, i, rule.Action)
		if rule.OnExitCodes != nil {
			s.validateExitCodes(errs, i, rule.OnExitCodes, &names)
		}
		validateConditions(errs, i, rule.OnPodConditions)
		switch exitCodes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
		case exitCodes && conditions:
			errs.Add(field.Invalid, fmt.Sprintf("%s[%d]", path, i), nil, "must have onExitCodes or onPodConditions, not both")
		case !exitCodes && !conditions:
			errs.Add(field.Invalid, fmt.Sprintf("%s[%d]", path, i), nil, "must have onExitCodes or onPodConditions")
		}
	}
}

// maxReason is the longest reason of a condition.
const maxReason = 128

// conditionReason matches the reasons that the API server accepts in a condition.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// validateRuleName checks that a rule's name forms a valid and unique reason.
func validateRuleName(errs *field.Errors, i int, rule *PodFailurePolicyRule, rules int, taken map[Reason]int) {
	if rule.Name == "" {
		return
	}
	path := fmt.Sprintf("spec.podFailurePolicy.rules[%d].name", i)
	reason := rule.Reason(i)
	other, twice := taken[reason]
	taken[reason] = i
	number, err := strconv.Atoi(rule.Name)
	switch {
	case len(reason) > maxReason:
		errs.Add(field.TooLong, path, rule.Name, fmt.Sprintf("must be at most %d bytes", maxReason-len(JobReasonPodFailurePolicy)-1))
	case !conditionReason.MatchString(string(reason)):
		errs.Add(field.Invalid, path, rule.Name, "must consist of letters, digits, underscores, commas and colons, and not end with a comma or a colon")
	case twice:
		errs.Add(field.Duplicate, path, rule.Name, fmt.Sprintf("rule %d has this name", other))
	case err == nil && number != i && number >= 0 && number < rules && strconv.Itoa(number) == rule.Name:
		errs.Add(field.Invalid, path, rule.Name, "must not be the number of another rule")
	}
}

func (s *JobSpec) validateAction(errs *field.Errors, rule int, a Action) {
	const actions = "must be Count, FailIndex, FailJob or Ignore"
	path := func() string { return fmt.Sprintf("spec.podFailurePolicy.rules[%d].action", rule) }
	switch {
	case a == "":
		errs.Add(field.Required, path(), nil, actions)
	case !a.Known():
		errs.Add(field.NotSupported, path(), string(a), actions)
	case a == ActionFailIndex && s.BackoffLimitPerIndex == nil:
		errs.Add(field.Invalid, path(), string(a), "needs backoffLimitPerIndex")
	}
}

// containerNames is the set of a pod template's container names, filled on first use.
type containerNames map[string]struct{}

func (n *containerNames) have(name string, s *PodSpec) bool {
	if *n == nil {
		*n = containerNames{}
		for _, containers := range [2][]Container{s.Containers, s.InitContainers} {
			for i := range containers {
				(*n)[containers[i].Name] = struct{}{}
			}
		}
	}
	_, ok := (*n)[name]
	return ok
}

func (s *JobSpec) validateExitCodes(errs *field.Errors, rule int, on *OnExitCodes, names *containerNames) {
	path := func(name string) string {
		return fmt.Sprintf("spec.podFailurePolicy.rules[%d].onExitCodes.%s", rule, name)
	}
	switch on.Operator {
	case OpIn, OpNotIn:
	case "":
		errs.Add(field.Required, path("operator"), nil, "must be In or NotIn")
	default:
		errs.Add(field.NotSupported, path("operator"), string(on.Operator), "must be In or NotIn")
	}
	if name := on.ContainerName; name != nil && !names.have(*name, &s.Template.Spec) {
		errs.Add(field.Invalid, path("containerName"), *name, "no container or init container of the template has this name")
	}
	switch n := len(on.Values); {
	case n == 0:
		errs.Add(field.Invalid, path("values"), nil, "must have at least one exit code")
	case n > maxPolicyValues:
		errs.Add(field.TooMany, path("values"), n, fmt.Sprintf("must be at most %d", maxPolicyValues))
	}
	validateValues(errs, on, path)
}

// validateValues checks each exit code. An ascending list has no duplicates and needs
// no set of the codes seen.
func validateValues(errs *field.Errors, on *OnExitCodes, path func(string) string) {
	values := on.Values
	rises, ordered, zero := true, true, false
	for i, v := range values {
		zero = zero || v == 0
		if i > 0 && values[i-1] >= v {
			rises = false
			ordered = ordered && values[i-1] == v
		}
	}
	noZero := on.Operator == OpIn
	if rises && !(zero && noZero) {
		return
	}
	seen := make(map[int32]struct{}, len(values))
	for i, v := range values {
		if v == 0 && noZero {
			errs.Add(field.Invalid, path(fmt.Sprintf("values[%d]", i)), v, "must not be 0 with In, because 0 is success")
		}
		if _, ok := seen[v]; ok {
			errs.Add(field.Duplicate, path(fmt.Sprintf("values[%d]", i)), v, "")
		}
		seen[v] = struct{}{}
	}
	if !ordered {
		errs.Add(field.Invalid, path("values"), nil, "must be in increasing order")
	}
}

func validateConditions(errs *field.Errors, rule int, patterns []OnPodCondition) {
	const path = "spec.podFailurePolicy.rules[%d].onPodConditions"
	if n := len(patterns); n > maxPolicyConditions {
		errs.Add(field.TooMany, fmt.Sprintf(path, rule), n, fmt.Sprintf("must be at most %d", maxPolicyConditions))
	}
	for i := range patterns {
		p := &patterns[i]
		for _, mistake := range qualifiedNameMistakes(string(p.Type)) {
			errs.Add(field.Invalid, fmt.Sprintf(path+"[%d].type", rule, i), string(p.Type), mistake)
		}
		switch p.Status {
		case ConditionTrue, ConditionFalse, ConditionUnknown:
		case "":
			errs.Add(field.Required, fmt.Sprintf(path+"[%d].status", rule, i), nil, "must be True, False or Unknown")
		default:
			errs.Add(field.NotSupported, fmt.Sprintf(path+"[%d].status", rule, i), string(p.Status), "must be True, False or Unknown")
		}
	}
}

// qualifiedNameMistakes returns the mistakes in a name with an optional DNS subdomain
// and slash before it, such as example.com/Name.
func qualifiedNameMistakes(text string) (mistakes []string) {
	prefix, name, slash := strings.Cut(text, "/")
	switch {
	case !slash:
		name = text
	case strings.Contains(name, "/"):
		return []string{"must have at most one slash"}
	case prefix == "":
		mistakes = append(mistakes, "must have a domain before the slash")
	default:
		if len(prefix) > 253 {
			mistakes = append(mistakes, "must have at most 253 bytes before the slash")
		}
		if !isSubdomain(prefix) {
			mistakes = append(mistakes, "must have a lower case domain name before the slash")
		}
	}
	if name == "" {
		mistakes = append(mistakes, "must not be empty")
	}
	if len(name) > 63 {
		mistakes = append(mistakes, "must have at most 63 bytes in the name")
	}
	if !isName(name) {
		mistakes = append(mistakes, "must be letters, digits, '-', '_' and '.', with a letter or digit at both ends")
	}
	return mistakes
}

// isName reports whether s consists of letters, digits, '-', '_' and '.', with a letter
// or digit at both ends.
func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c), isLower(c), 'A' <= c && c <= 'Z':
		case i > 0 && i < len(s)-1 && (c == '-' || c == '_' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// isSubdomain reports whether s consists of parts separated by dots, each made of lower
// case letters, digits and '-' with a letter or digit at both ends.
func isSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		for i := range len(part) {
			switch c := part[i]; {
			case isDigit(c), isLower(c):
			case c == '-' && i > 0 && i < len(part)-1:
			default:
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
