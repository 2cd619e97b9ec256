package lint

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// policy checks the rules of the pod failure policy.
func (c *checker) policy() {
	for i, reach := range reachOf(&c.spec) {
		rule := &c.spec.PodFailurePolicy.Rules[i]
		if !reach.decides {
			c.unreachable(i, rule, reach)
			continue
		}
		list, values := "onPodConditions", patternText(rule)
		if rule.OnExitCodes != nil {
			list, values = "onExitCodes.values", codeText(rule)
		}
		field := func(name string) string { return fmt.Sprintf("spec.podFailurePolicy.rules[%d].%s", i, name) }
		if len(reach.shadowed) > 0 {
			c.add(KindShadowed, c.severity(rule, reach.shadowing), i, field(list), fmt.Sprintf(
				"%s %s first; remove %s from one of the rules", plural(reach.shadowing, "decides on", "decide on"), listText(reach.shadowed, values), itOrThem(reach.shadowed)))
		}
		if len(reach.twice) > 0 {
			c.add(KindDuplicate, SeverityNotice, i, field(list), fmt.Sprintf("the rule repeats %s; list %s once", listText(reach.twice, values), itOrThem(reach.twice)))
		}
		c.impossibleCodes(i, rule, reach, field("onExitCodes.values"))
		c.drain(i, rule, reach, field("onExitCodes"))
	}
}

// unreachable reports why a rule decides on no pod.
func (c *checker) unreachable(i int, rule *batch.PodFailurePolicyRule, reach ruleReach) {
	warn := func(text string) {
		c.add(KindUnreachable, c.severity(rule, reach.shadowing), i, fmt.Sprintf("spec.podFailurePolicy.rules[%d]", i), text)
	}
	first := "rule " + strconv.Itoa(reach.cover)
	switch {
	case !rule.Action.Known():
		warn(fmt.Sprintf("the action %s is unknown, so the rule is skipped; use Count, FailIndex, FailJob or Ignore", quote.Text(string(rule.Action))))
	case reach.cover >= 0 && c.sameButFailIndex(rule, reach.cover):
		warn(first + " fails the index for the same failures, so this rule never fails the Job; remove one of the two")
	case reach.cover >= 0 && isAnyFailure(&c.spec.PodFailurePolicy.Rules[reach.cover]):
		warn(first + " matches every failure (NotIn [0]); move this rule before " + first)
	case reach.cover >= 0:
		warn(first + " matches every pod that this rule matches; move this rule before " + first + " or remove it")
	case len(reach.shadowing) > 0:
		warn(plural(reach.shadowing, "matches", "together match") + " every pod that this rule matches; move this rule before them or remove it")
	case rule.OnExitCodes != nil && len(codesOf(rule.OnExitCodes)) > 0:
		warn(fmt.Sprintf("the template has no container %s, so the rule matches no pod; name one of its containers", quote.Text(*rule.OnExitCodes.ContainerName)))
	default:
		warn("no pod can meet the rule's requirement; give it exit codes other than 0, or conditions")
	}
}

// severity returns the severity of rules or values made void by earlier rules. They are
// harmless if the earlier rules have the same action.
func (c *checker) severity(rule *batch.PodFailurePolicyRule, shadowing []int) Severity {
	for _, j := range shadowing {
		if c.spec.PodFailurePolicy.Rules[j].Action != rule.Action {
			return SeverityWarning
		}
	}
	if len(shadowing) == 0 {
		return SeverityWarning
	}
	return SeverityNotice
}

// sameButFailIndex reports whether a FailJob rule has the requirement of an earlier
// FailIndex rule.
func (c *checker) sameButFailIndex(rule *batch.PodFailurePolicyRule, cover int) bool {
	earlier := &c.spec.PodFailurePolicy.Rules[cover]
	if rule.Action != batch.ActionFailJob || earlier.Action != batch.ActionFailIndex {
		return false
	}
	if rule.OnExitCodes == nil {
		return !slices.ContainsFunc(earlier.OnPodConditions, func(o batch.OnPodCondition) bool { return !hasPattern(rule, o.Type, o.Status) })
	}
	a, b := rule.OnExitCodes, earlier.OnExitCodes
	return equalNames(a.ContainerName, b.ContainerName) && slices.Equal(codesOf(a), codesOf(b))
}

// isAnyFailure reports whether the rule is NotIn 0 for any container.
func isAnyFailure(rule *batch.PodFailurePolicyRule) bool {
	on := rule.OnExitCodes
	return on != nil && on.ContainerName == nil && slices.Equal(codesOf(on), allCodes())
}

// impossibleCodes reports exit codes below 0 or above 255, which do not occur on Linux.
func (c *checker) impossibleCodes(i int, rule *batch.PodFailurePolicyRule, reach ruleReach, field string) {
	if rule.OnExitCodes == nil {
		return
	}
	if !reach.onLinux {
		c.add(KindImpossibleCode, SeverityWarning, i, field,
			"the rule decides only on exit codes below 0 or above 255, which no container on Linux has; list codes from 1 to 255")
		return
	}
	var odd []int
	for k, v := range rule.OnExitCodes.Values {
		if v < 0 || v > 255 {
			odd = append(odd, k)
		}
	}
	if len(odd) > 0 {
		c.add(KindImpossibleCode, SeverityNotice, i, field, fmt.Sprintf(
			"no container on Linux exits with %s; remove %s", listText(odd, codeText(rule)), itOrThem(odd)))
	}
}

// drain reports FailJob rules that a disruption can trigger. A drained node or a
// preemption ends containers with 137 or 143, so such a rule needs one for the
// disruption before it (KEP-3329, "Story 3").
func (c *checker) drain(i int, rule *batch.PodFailurePolicyRule, reach ruleReach, field string) {
	if rule.Action != batch.ActionFailJob || !reach.killed {
		return
	}
	fix := "put a rule for the condition DisruptionTarget before it"
	for j := range c.spec.PodFailurePolicy.Rules {
		if r := &c.spec.PodFailurePolicy.Rules[j]; r.Action.Known() && hasPattern(r, batch.DisruptionTarget, batch.ConditionTrue) {
			if j < i {
				return
			}
			fix = fmt.Sprintf("move rule %d for the condition DisruptionTarget before it", j)
			break
		}
	}
	c.add(KindDrain, SeverityWarning, i, field,
		"a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; "+fix)
}

// equalNames reports whether two requirements name the same container, or neither names
// one.
func equalNames(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
