package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/internal/spelling"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// policy checks the rules of the pod failure policy.
func (c *checker) policy() {
	rules := rulesOf(&c.spec)
	for i := range rules {
		if rules[i].Action == leftOut {
			continue
		}
		if why, severity := c.unreachable(i); why != "" {
			c.add(KindUnreachable, severity, i, rulePath(i, ""), why)
			continue
		}
		c.repeated(i)
		if rules[i].OnExitCodes != nil {
			if possible := c.impossibleCodes(i); !possible {
				continue
			}
		} else {
			c.unknownConditions(i)
		}
		c.drain(i)
		c.drainedBefore(i)
		c.endless(i)
	}
}

// rulesOf returns the rules of the pod failure policy.
func rulesOf(s *batch.JobSpec) []batch.PodFailurePolicyRule {
	if s.PodFailurePolicy == nil {
		return nil
	}
	return s.PodFailurePolicy.Rules
}

// The sizes of the largest valid policy. Whatever exceeds them is not read, so that the
// work stays bounded.
const (
	mostRules      = 20
	mostCodes      = 255
	mostConditions = 20
)

// withinBounds returns the policy, or a copy without anything that no valid policy has.
func withinBounds(p *batch.PodFailurePolicy) *batch.PodFailurePolicy {
	if p == nil {
		return nil
	}
	rules := slices.Clone(p.Rules[:min(len(p.Rules), mostRules)])
	for i := range rules {
		rule := &rules[i]
		rule.OnPodConditions = rule.OnPodConditions[:min(len(rule.OnPodConditions), mostConditions)]
		if on := rule.OnExitCodes; on != nil && len(on.Values) > mostCodes {
			short := *on
			short.Values = on.Values[:mostCodes]
			rule.OnExitCodes = &short
		}
	}
	return &batch.PodFailurePolicy{Rules: rules}
}

// rulePath returns the path of a rule, or of one of its fields.
func rulePath(i int, field string) string {
	path := fmt.Sprintf("spec.podFailurePolicy.rules[%d]", i)
	if field != "" {
		path += "." + field
	}
	return path
}

// impossibleCodes reports exit codes that no container on Linux has, and returns whether
// the rule has others. On Windows an exit code has 32 bits. Those below -255 are never
// written for Linux, so they are only reported in a pod that asks for Linux.
func (c *checker) impossibleCodes(i int) (possible bool) {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	system := systemOf(&c.spec.Template.Spec)
	on := rule.OnExitCodes
	var odd []int
	possible = on.Operator == batch.OpNotIn
	for k, v := range on.Values {
		switch {
		case v == 0:
		case system == "windows", v > 0 && v <= 255, system == "" && v < -255:
			possible = true
		default:
			odd = append(odd, k)
		}
	}
	if len(odd) == 0 {
		return possible
	}
	severity, text, remedy := SeverityNotice, "no container on Linux exits with "+listText(odd, codeText(rule)), "remove "+itOrThem(odd)
	if !possible {
		severity, text, remedy = SeverityWarning, "the rule decides only on exit codes below 0 or above 255, which no container on Linux has", "list codes from 1 to 255"
	}
	if system == "" {
		remedy += ", or set os.name to windows in the template if it is for Windows"
	}
	c.add(KindImpossibleCode, severity, i, rulePath(i, "onExitCodes.values"), text+"; "+remedy)
	return possible
}

// systemOf returns the operating system that the pod asks for, "" if it does not say.
func systemOf(pod *batch.PodSpec) string {
	if pod.OS != nil && pod.OS.Name != "" {
		return pod.OS.Name
	}
	for _, label := range []string{"kubernetes.io/os", "beta.kubernetes.io/os"} {
		if system := pod.NodeSelector[label]; system != "" {
			return system
		}
	}
	return ""
}

// podConditions are the conditions that Kubernetes itself sets, in any version from 1.25
// on (core/v1 of v1.38.0-beta.0; PodHasNetwork is PodReadyToStartContainers up to 1.27).
var podConditions = []string{
	"DisruptionTarget", "Ready", "ContainersReady", "Initialized", "PodScheduled", "PodReadyToStartContainers",
	"PodResizePending", "PodResizeInProgress", "AllContainersRestarting", "PodHasNetwork",
}

// insteadOf says what to use instead of names that are often taken for conditions.
var insteadOf = map[string]string{
	"OOMKilled":   "it is the reason of a container's end; use onExitCodes with 137",
	"Error":       "it is the reason of a container's end; use onExitCodes",
	"Evicted":     "it is the reason of a pod; use DisruptionTarget, which evicted pods have",
	"Preempted":   "it is the reason of an event; use DisruptionTarget, which preempted pods have",
	"Failed":      "it is the phase of a pod; use onExitCodes with NotIn [0] for any failure",
	"ConfigIssue": "it is an example in the documentation; if a controller of yours sets it, give it a domain, such as example.com/ConfigIssue",
}

// unknownConditions reports conditions without a domain that no part of Kubernetes sets.
// Controllers outside Kubernetes set others, by convention with a domain.
func (c *checker) unknownConditions(i int) {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	reported := make(map[batch.PodConditionType]bool)
	for k, o := range rule.OnPodConditions {
		name := string(o.Type)
		if reported[o.Type] || !c.isUnknown(o.Type) {
			continue
		}
		reported[o.Type] = true
		advice := insteadOf[name]
		if near := spelling.Nearest(name, podConditions); advice == "" && near != "" {
			advice = "use " + near + " if it is meant"
		}
		if advice == "" {
			advice = "if a controller of yours sets it, give it a domain, such as example.com/" + quote.Plain(name)
		}
		c.add(KindUnknownCondition, SeverityWarning, i, rulePath(i, fmt.Sprintf("onPodConditions[%d].type", k)), fmt.Sprintf(
			"no part of Kubernetes sets the condition %s; %s", quote.Plain(name), advice))
	}
}

// isUnknown reports whether nobody sets a condition: no part of Kubernetes, no readiness
// gate of the pod, and no other controller, by its name.
func (c *checker) isUnknown(condition batch.PodConditionType) bool {
	isGate := slices.ContainsFunc(c.spec.Template.Spec.ReadinessGates, func(g batch.PodReadinessGate) bool { return g.ConditionType == condition })
	return !isGate && !strings.Contains(string(condition), "/") && !slices.Contains(podConditions, string(condition))
}
