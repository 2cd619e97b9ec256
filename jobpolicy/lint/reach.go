package lint

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/restartkit/restart/internal/exitcode"
	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// unreachable returns why a rule decides on no pod, or "" if it may decide on some.
func (c *checker) unreachable(i int) (why string, severity Severity) {
	rules := rulesOf(&c.spec)
	rule := &rules[i]
	if !rule.Action.Known() {
		return fmt.Sprintf("the action %s is unknown, so the rule is skipped; use Count, FailIndex, FailJob or Ignore", quote.Text(string(rule.Action))), SeverityWarning
	}
	if !meetable(rule) {
		return "no pod can meet the rule's requirement; give it exit codes other than 0, or conditions", SeverityWarning
	}
	if !c.hasContainer(rule) {
		return fmt.Sprintf("the template has no container %s, so the rule matches no pod; name one of its containers", quote.Text(*rule.OnExitCodes.ContainerName)), SeverityWarning
	}
	for j := range i {
		if c.canDecide(j) && covers(&rules[j], rule) {
			return c.whyCovered(i, j), c.severity(i, []int{j})
		}
	}
	if listed := valuesOf(rule); len(listed) > 0 {
		if earlier := c.decidedBefore(i); len(earlier) == len(listed) {
			by := deciders(earlier)
			return plural(by, "matches", "together match") + " every pod that this rule matches; move this rule before them or remove it", c.severity(i, by)
		}
	}
	return "", ""
}

// whyCovered says that rule j, which comes first, matches every pod of rule i.
func (c *checker) whyCovered(i, j int) string {
	rule, earlier := &c.spec.PodFailurePolicy.Rules[i], &c.spec.PodFailurePolicy.Rules[j]
	first := "rule " + strconv.Itoa(j)
	switch {
	case rule.Action == batch.ActionFailJob && earlier.Action == batch.ActionFailIndex && covers(rule, earlier):
		return first + " fails the index for the same failures, so this rule never fails the Job; remove one of the two"
	case isAnyFailure(earlier):
		return first + " matches every failure (NotIn [0]); move this rule before " + first
	}
	return first + " matches every pod that this rule matches; move this rule before " + first + " or remove it"
}

// severity returns the severity of a finding that earlier rules leave nothing to rule i,
// or to some of its values. That is harmless if the earlier rules have the same action.
func (c *checker) severity(i int, earlier []int) Severity {
	rules := c.spec.PodFailurePolicy.Rules
	for _, j := range earlier {
		if rules[j].Action != rules[i].Action {
			return SeverityWarning
		}
	}
	return SeverityNotice
}

// canDecide reports whether rule i could decide on some pod if it were the first rule.
func (c *checker) canDecide(i int) bool {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	return rule.Action.Known() && meetable(rule) && c.hasContainer(rule)
}

// meetable reports whether some pod can meet the requirement of a rule. None can if the
// rule has no conditions and lists no exit code other than 0.
func meetable(rule *batch.PodFailurePolicyRule) bool {
	on := rule.OnExitCodes
	switch {
	case on == nil:
		return len(rule.OnPodConditions) > 0
	case on.Operator == batch.OpIn:
		return slices.ContainsFunc(on.Values, func(v int32) bool { return v != 0 })
	}
	return on.Operator == batch.OpNotIn
}

// hasContainer reports whether the template has the container that the rule names, if
// any. A specification without containers may have any.
func (c *checker) hasContainer(rule *batch.PodFailurePolicyRule) bool {
	on, pod := rule.OnExitCodes, &c.spec.Template.Spec
	if on == nil || on.ContainerName == nil || len(pod.Containers)+len(pod.InitContainers) == 0 {
		return true
	}
	named := func(container batch.Container) bool { return container.Name == *on.ContainerName }
	return slices.ContainsFunc(pod.Containers, named) || slices.ContainsFunc(pod.InitContainers, named)
}

// covers reports whether a matches every pod that b matches.
//
// A pod meets a rule through one container or one condition, and it may have any others
// beside it. So it suffices to compare single containers and conditions.
func covers(a, b *batch.PodFailurePolicyRule) bool {
	switch {
	case a.OnExitCodes != nil && b.OnExitCodes != nil:
		return coversContainer(a.OnExitCodes, b.OnExitCodes) && coversCodes(a.OnExitCodes, b.OnExitCodes)
	case a.OnExitCodes == nil && b.OnExitCodes == nil:
		return !slices.ContainsFunc(b.OnPodConditions, func(o batch.OnPodCondition) bool { return !slices.Contains(a.OnPodConditions, o) })
	}
	return false
}

// coversContainer reports whether a looks at every container that b looks at.
func coversContainer(a, b *batch.OnExitCodes) bool {
	return a.ContainerName == nil || b.ContainerName != nil && *a.ContainerName == *b.ContainerName
}

// coversCodes reports whether every exit code that meets b meets a. Both can be met.
func coversCodes(a, b *batch.OnExitCodes) bool {
	switch {
	case b.Operator == batch.OpIn:
		return !slices.ContainsFunc(b.Values, func(v int32) bool { return v != 0 && !meets(a, v) })
	case a.Operator == batch.OpNotIn: // b is NotIn, too
		return !slices.ContainsFunc(a.Values, func(v int32) bool { return v != 0 && !slices.Contains(b.Values, v) })
	}
	return false // a list does not cover all codes but a few
}

// meets reports whether an exit code meets the requirement. 0 never does.
func meets(on *batch.OnExitCodes, code int32) bool {
	met, _ := exitcode.Matches(on.Operator, on.Values, code)
	return met && code != 0
}

// isAnyFailure reports whether the rule matches every failure of any container.
func isAnyFailure(rule *batch.PodFailurePolicyRule) bool {
	on := rule.OnExitCodes
	return on != nil && on.ContainerName == nil && coversCodes(on, &batch.OnExitCodes{Operator: batch.OpNotIn})
}

// value is one listed exit code or one condition pattern of a rule. It has the form of a
// rule, so that covers can compare it with other rules.
type value struct {
	position int
	rule     batch.PodFailurePolicyRule
}

// valuesOf returns the listed exit codes of a rule, except 0, or its patterns. A rule
// with NotIn lists no codes that it matches.
func valuesOf(rule *batch.PodFailurePolicyRule) (values []value) {
	if on := rule.OnExitCodes; on != nil {
		for k, v := range on.Values {
			if on.Operator == batch.OpIn && v != 0 {
				one := batch.OnExitCodes{ContainerName: on.ContainerName, Operator: batch.OpIn, Values: []int32{v}}
				values = append(values, value{k, batch.PodFailurePolicyRule{OnExitCodes: &one}})
			}
		}
		return values
	}
	for k, o := range rule.OnPodConditions {
		values = append(values, value{k, batch.PodFailurePolicyRule{OnPodConditions: []batch.OnPodCondition{o}}})
	}
	return values
}

// decision says which rule decides on a listed value first.
type decision struct{ position, by int }

// decidedBefore returns the listed values of rule i on which earlier rules decide.
func (c *checker) decidedBefore(i int) (decided []decision) {
	rules := c.spec.PodFailurePolicy.Rules
	for _, v := range valuesOf(&rules[i]) {
		for j := range i {
			if c.canDecide(j) && covers(&rules[j], &v.rule) {
				decided = append(decided, decision{v.position, j})
				break
			}
		}
	}
	return decided
}

// deciders returns the rules that decide, in order.
func deciders(decided []decision) (rules []int) {
	for _, d := range decided {
		rules = append(rules, d.by)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// repeated reports listed values on which earlier rules decide, and patterns that the
// rule lists twice.
func (c *checker) repeated(i int) {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	field, text := rulePath(i, "onPodConditions"), patternText(rule)
	if rule.OnExitCodes != nil {
		field, text = rulePath(i, "onExitCodes.values"), codeText(rule)
	}
	var shadowed, twice []int
	decided := c.decidedBefore(i)
	for _, d := range decided {
		shadowed = append(shadowed, d.position)
	}
	for k, o := range rule.OnPodConditions {
		if rule.OnExitCodes == nil && slices.Contains(rule.OnPodConditions[:k], o) && !slices.Contains(shadowed, k) {
			twice = append(twice, k)
		}
	}
	if len(shadowed) > 0 {
		by := deciders(decided)
		c.add(KindShadowed, c.severity(i, by), i, field, fmt.Sprintf(
			"%s %s first; remove %s from one of the rules", plural(by, "decides on", "decide on"), listText(shadowed, text), itOrThem(shadowed)))
	}
	if len(twice) > 0 {
		c.add(KindDuplicate, SeverityNotice, i, field, fmt.Sprintf("the rule repeats %s; list %s once", listText(twice, text), itOrThem(twice)))
	}
}
