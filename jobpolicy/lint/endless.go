package lint

import (
	"fmt"
	"slices"

	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// effective returns rule i without the exit codes and conditions that have no effect, because
// earlier rules decide on them or because no pod has them. decides is false if nothing is left
// of the rule.
func (c *checker) effective(i int) (rule batch.PodFailurePolicyRule, decides bool) {
	rule = c.spec.PodFailurePolicy.Rules[i]
	if why, _ := c.unreachable(i); why != "" {
		return rule, false
	}
	if rule.OnExitCodes != nil {
		rule.OnExitCodes = c.undecided(i)
		scratch := checker{spec: c.spec}
		scratch.spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{rule}}
		return rule, scratch.impossibleCodes(0)
	}
	decided := c.decidedBefore(i)
	var left []batch.OnPodCondition
	for k, o := range rule.OnPodConditions {
		isDecided := slices.ContainsFunc(decided, func(d decision) bool { return d.position == k })
		if !isDecided && !c.isUnknown(o.Type) {
			left = append(left, o)
		}
	}
	rule.OnPodConditions = left
	return rule, len(left) > 0
}

// undecided returns the exit codes of rule i on which no earlier rule decides, in order.
func (c *checker) undecided(i int) *batch.OnExitCodes {
	rules := rulesOf(&c.spec)
	left := *rules[i].OnExitCodes
	left.Values = slices.Clone(left.Values)
	for j := range i {
		earlier := rules[j].OnExitCodes
		if earlier == nil || !c.canDecide(j) || !coversContainer(earlier, &left) {
			continue
		}
		switch {
		case left.Operator == batch.OpIn:
			left.Values = slices.DeleteFunc(left.Values, func(code int32) bool { return meets(earlier, code) })
		case earlier.Operator == batch.OpIn:
			left.Values = append(left.Values, earlier.Values...)
		default: // both are NotIn, which leaves the codes that only the earlier rule excludes
			excluded := left.Values
			left.Operator = batch.OpIn
			left.Values = slices.DeleteFunc(slices.Clone(earlier.Values), func(code int32) bool { return slices.Contains(excluded, code) })
		}
	}
	slices.Sort(left.Values)
	left.Values = slices.Compact(left.Values)
	return &left
}

// ignoresOwnFailures reports whether a rule ignores failures of the Job's own programs,
// and not only disruptions, which have reasons outside the Job.
func ignoresOwnFailures(rule *batch.PodFailurePolicyRule) bool {
	if rule.Action != batch.ActionIgnore {
		return false
	}
	return rule.OnExitCodes != nil || slices.ContainsFunc(rule.OnPodConditions, func(o batch.OnPodCondition) bool { return o != disruption })
}

// endless reports rules that ignore failures of the Job's own programs in a Job without
// a deadline. No limit counts them, so a program that always fails so is restarted for
// ever. Conditions count only if the kubelet sets them on every failed pod.
func (c *checker) endless(i int) {
	if c.spec.ActiveDeadlineSeconds != nil {
		return
	}
	rule, decides := c.effective(i)
	if !decides || !ignoresOwnFailures(&rule) {
		return
	}
	field := "onExitCodes"
	var what string
	if on := rule.OnExitCodes; on != nil {
		what = codesText(&rule)
		if on.ContainerName != nil {
			what = "of container " + quote.Plain(*on.ContainerName) + " " + what
		}
	} else {
		always := slices.IndexFunc(rule.OnPodConditions, onEveryFailedPod)
		if always < 0 {
			return
		}
		field, what = "onPodConditions", "with the condition "+patternText(&rule)(always)+", which every failed pod has,"
	}
	c.add(KindEndless, SeverityWarning, i, rulePath(i, field), fmt.Sprintf(
		"failures %s never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them", what))
}

// onEveryFailedPod reports whether the kubelet sets the condition, with this status, on
// every pod that has run and failed.
func onEveryFailedPod(o batch.OnPodCondition) bool {
	switch o.Type {
	case batch.PodReady, "ContainersReady", "PodReadyToStartContainers":
		return o.Status == batch.ConditionFalse
	case "PodScheduled":
		return o.Status == batch.ConditionTrue
	}
	return false
}
