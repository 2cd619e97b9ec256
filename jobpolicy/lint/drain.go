package lint

import (
	"fmt"
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// killedBefore returns the first rule before rule i that does not ignore its pods and
// matches every container which a disruption ends, with exit code 137 or 143. It returns -1 if
// there is no such rule, or if a rule before it may decide on these pods.
func (c *checker) killedBefore(i int) int {
	pod := &c.spec.Template.Spec
	rules := rulesOf(&c.spec)[:i]
	first := slices.IndexFunc(rules, func(r batch.PodFailurePolicyRule) bool {
		on := r.OnExitCodes
		if on == nil || !r.Action.Known() || r.Action == batch.ActionIgnore || systemOf(pod) == "windows" {
			return false
		}
		isAll := on.ContainerName == nil || len(pod.Containers) == 1 && len(pod.InitContainers) == 0 && pod.Containers[0].Name == *on.ContainerName
		return isAll && meets(on, 137) && meets(on, 143)
	})
	decidesEarlier := func(r batch.PodFailurePolicyRule) bool {
		return r.Action.Known() && (matchesDisruption(&r) || r.OnExitCodes != nil && (meets(r.OnExitCodes, 137) || meets(r.OnExitCodes, 143)))
	}
	if first > 0 && slices.ContainsFunc(rules[:first], decidesEarlier) {
		return -1
	}
	return first
}

// drainedBefore reports rule i if it ignores disruptions and an earlier rule counts most
// of them. One that fails the Job for them is reported itself.
func (c *checker) drainedBefore(i int) {
	rules := rulesOf(&c.spec)
	if rules[i].Action != batch.ActionIgnore || !matchesDisruption(&rules[i]) {
		return
	}
	if j := c.killedBefore(i); j >= 0 && rules[j].Action != batch.ActionFailJob {
		c.add(KindDrain, SeverityWarning, i, rulePath(i, "onPodConditions"), fmt.Sprintf(
			"a drained node or a preemption ends containers with exit code 137 or 143, on which rule %d decides first, so such a pod is not ignored; move this rule before rule %d", j, j))
	}
}

// drain reports rule i if it is a FailJob rule that a disruption can trigger. On Linux, a
// drained node or a preemption ends containers with exit code 137 or 143. If a FailJob
// rule matches one of these codes, a rule for the condition DisruptionTarget must come
// before it (KEP-3329, "Story 3").
func (c *checker) drain(i int) {
	rules := rulesOf(&c.spec)
	rule := &rules[i]
	if rule.Action != batch.ActionFailJob || rule.OnExitCodes == nil || systemOf(&c.spec.Template.Spec) == "windows" {
		return
	}
	killed := func(code int32) bool {
		one := batch.PodFailurePolicyRule{OnExitCodes: &batch.OnExitCodes{ContainerName: rule.OnExitCodes.ContainerName, Operator: batch.OpIn, Values: []int32{code}}}
		return meets(rule.OnExitCodes, code) && !slices.ContainsFunc(rules[:i], func(r batch.PodFailurePolicyRule) bool { return r.Action.Known() && covers(&r, &one) })
	}
	if !killed(137) && !killed(143) {
		return
	}
	fix := "put a rule for the condition DisruptionTarget before it"
	for j := range rules {
		if rules[j].Action.Known() && matchesDisruption(&rules[j]) {
			if j < i {
				return
			}
			fix = fmt.Sprintf("move rule %d for the condition DisruptionTarget before it", j)
			break
		}
	}
	c.add(KindDrain, SeverityWarning, i, rulePath(i, "onExitCodes"),
		"a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; "+fix)
}

// disruption is the pattern of pods that are about to be killed for a reason outside the
// Job, such as a drained node.
var disruption = batch.OnPodCondition{Type: batch.DisruptionTarget, Status: batch.ConditionTrue}

// matchesDisruption reports whether the rule matches every disrupted pod.
func matchesDisruption(rule *batch.PodFailurePolicyRule) bool {
	return rule.OnExitCodes == nil && slices.Contains(rule.OnPodConditions, disruption)
}
