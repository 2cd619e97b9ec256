package jobpolicy

import (
	"fmt"

	"github.com/restartkit/restart/internal/exitcode"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Match is the result of a pod failure policy for a failed pod. Only Counted is
// meaningful on a zero Match.
type Match struct {
	Rule      int          // index of the deciding rule, -1 if none
	Action    batch.Action // "" if none
	Container string       // name of the matching container, for a rule on exit codes
	ExitCode  int32        // of Container
	Condition string       // type of the matching condition, for a rule on conditions
}

// Counted reports whether the failure counts towards the backoff limits. All except
// ignored failures do.
func (m Match) Counted() bool { return m.Action != batch.ActionIgnore }

// Message returns the message of the Job's condition if a FailJob rule decided,
// otherwise "". It equals Kubernetes' message, which other controllers match with
// regular expressions.
func (m Match) Message(pod *batch.Pod) string {
	switch {
	case m.Action != batch.ActionFailJob || pod == nil:
		return ""
	case m.ExitCode == 0: // a matching container never has exit code 0
		return fmt.Sprintf("Pod %s/%s has condition %s matching %s rule at index %d",
			pod.Namespace, pod.Name, m.Condition, m.Action, m.Rule)
	}
	return fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d matching %s rule at index %d",
		m.Container, pod.Namespace, pod.Name, m.ExitCode, m.Action, m.Rule)
}

// noMatch is the result if no rule matches.
var noMatch = Match{Rule: -1}

// MatchPod returns the first rule with a known action that matches the pod (KEP-3329,
// "Evaluation"). It assumes that the pod has failed. A nil policy has no rules.
func MatchPod(p *batch.PodFailurePolicy, pod *batch.Pod) Match {
	if p == nil || pod == nil {
		return noMatch
	}
	// Filling a table costs about as much as two scans of all values.
	if ends := len(pod.Status.ContainerStatuses) + len(pod.Status.InitContainerStatuses); ends > 2 && values(p) > fewValues {
		var t codeTable
		t.fill(p)
		return firstMatch(p, pod, t.candidates(pod))
	}
	return firstMatch(p, pod, allRules)
}

// MatchExit is MatchPod for schedulers without pods. It takes a single container's name
// and exit code. Rules on conditions never match, nor does exit code 0.
func MatchExit(p *batch.PodFailurePolicy, container string, code int32) Match {
	if p == nil {
		return noMatch
	}
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.Action.Known() && rule.OnExitCodes != nil && metBy(rule.OnExitCodes, container, code) {
			return Match{Rule: i, Action: rule.Action, Container: container, ExitCode: code}
		}
	}
	return noMatch
}

// ruleTable is a policy prepared for matching many pods.
type ruleTable struct {
	policy *batch.PodFailurePolicy
	codes  *codeTable // nil if the lists are short enough to scan
}

// newRuleTable prepares a policy for matching many pods.
func newRuleTable(p *batch.PodFailurePolicy) *ruleTable {
	t := &ruleTable{policy: p}
	if values(p) > fewValues {
		t.codes = new(codeTable)
		t.codes.fill(p)
	}
	return t
}

// match returns the result of MatchPod for the policy.
func (t *ruleTable) match(pod *batch.Pod) Match {
	if t.codes == nil {
		return firstMatch(t.policy, pod, allRules)
	}
	return firstMatch(t.policy, pod, t.codes.candidates(pod))
}

// firstMatch tries the rules in order, but only the candidates among the first 32.
func firstMatch(p *batch.PodFailurePolicy, pod *batch.Pod, candidates uint32) Match {
	for i := range p.Rules {
		if i < tabled && candidates>>i&1 == 0 {
			continue
		}
		rule := &p.Rules[i]
		if !rule.Action.Known() {
			continue
		}
		if m, ok := matchRule(rule, pod); ok {
			m.Rule, m.Action = i, rule.Action
			return m
		}
	}
	return noMatch
}

// matchRule reports whether the rule matches, and returns the match.
func matchRule(r *batch.PodFailurePolicyRule, pod *batch.Pod) (Match, bool) {
	if on := r.OnExitCodes; on != nil {
		if c := findExit(on, pod); c != nil {
			return Match{Container: c.Name, ExitCode: c.State.Terminated.ExitCode}, true
		}
		return Match{}, false
	}
	if c := findCondition(r.OnPodConditions, pod.Status.Conditions); c != nil {
		return Match{Condition: string(c.Type)}, true
	}
	return Match{}, false
}

// manyPairs is the largest number of patterns times conditions compared one by one.
const manyPairs = 1000

// findCondition returns the first condition that matches a pattern, or nil.
func findCondition(patterns []batch.OnPodCondition, conditions []batch.PodCondition) *batch.PodCondition {
	var wanted map[batch.OnPodCondition]bool
	if int64(len(patterns))*int64(len(conditions)) > manyPairs { // an int may have 32 bits
		wanted = make(map[batch.OnPodCondition]bool, len(patterns))
		for _, o := range patterns {
			wanted[batch.OnPodCondition{Type: o.Type, Status: statusOf(o)}] = true
		}
	}
	for i := range conditions {
		c := &conditions[i]
		if wanted[batch.OnPodCondition{Type: c.Type, Status: c.Status}] {
			return c
		}
		for k := 0; wanted == nil && k < len(patterns); k++ {
			if matchesCondition(patterns[k], c) {
				return c
			}
		}
	}
	return nil
}

// findExit returns the first container that meets the requirement, with app containers
// before init containers and each in the order of the statuses.
func findExit(o *batch.OnExitCodes, pod *batch.Pod) *batch.ContainerStatus {
	for _, statuses := range [2][]batch.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			if end := c.State.Terminated; end != nil && metBy(o, c.Name, end.ExitCode) {
				return c
			}
		}
	}
	return nil
}

// metBy reports whether a container with this name and exit code meets the requirement.
// Exit code 0 never does. An empty but non-nil ContainerName matches only a container
// without a name.
func metBy(o *batch.OnExitCodes, container string, code int32) bool {
	if code == 0 || o.ContainerName != nil && *o.ContainerName != container {
		return false
	}
	met, _ := exitcode.Matches(o.Operator, o.Values, code)
	return met
}

func matchesCondition(o batch.OnPodCondition, c *batch.PodCondition) bool {
	return o.Type == c.Type && statusOf(o) == c.Status
}

// statusOf returns the pattern's status, by default True as in the API.
func statusOf(o batch.OnPodCondition) batch.ConditionStatus {
	if o.Status == "" {
		return batch.ConditionTrue
	}
	return o.Status
}
