package jobpolicy

import (
	"fmt"

	"github.com/restartkit/restart/internal/exitcode"
)

// Match is what a pod failure policy says about one failed pod. Of its zero
// value only Counted is meaningful; a pod that no rule matches has Rule -1.
type Match struct {
	Rule      int    // index of the rule that decided, -1 if none
	Action    Action // "" if none
	Container string // name of the container that matched, for a rule on exit codes
	ExitCode  int32  // and its exit code
	Condition string // type of the condition that matched, for a rule on conditions
}

// Counted reports whether the failure counts towards the backoff limits:
// everything but Ignore does.
func (m Match) Counted() bool { return m.Action != PodFailurePolicyActionIgnore }

// Message returns the message of the Job's condition when a FailJob rule
// decided, and "" otherwise. The text is Kubernetes' own, byte for byte, since
// other controllers match it with regular expressions.
func (m Match) Message(pod *Pod) string {
	switch {
	case m.Action != PodFailurePolicyActionFailJob || pod == nil:
		return ""
	case m.ExitCode == 0: // a container that matched ended with another
		return fmt.Sprintf("Pod %s/%s has condition %s matching %s rule at index %d",
			pod.Namespace, pod.Name, m.Condition, m.Action, m.Rule)
	}
	return fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d matching %s rule at index %d",
		m.Container, pod.Namespace, pod.Name, m.ExitCode, m.Action, m.Rule)
}

// noMatch is the answer when no rule matches.
var noMatch = Match{Rule: -1}

// Match returns the first rule that matches the pod and has a known action
// (KEP-3329, "Evaluation"). The pod's phase is not looked at: the caller knows
// that it failed. A nil policy has no rules. Match does not allocate, unless a
// rule's patterns times the pod's conditions are more than a thousand.
func (p *PodFailurePolicy) Match(pod *Pod) Match {
	if p == nil || pod == nil {
		return noMatch
	}
	var codes codeTable
	codes.read(pod)
	for i := range p.Rules {
		rule := &p.Rules[i]
		on := rule.OnExitCodes
		if !rule.Action.known() || on != nil && !codes.mayMeet(on) {
			continue
		}
		if m, ok := rule.match(pod, on.meets); ok {
			m.Rule, m.Action = i, rule.Action
			return m
		}
	}
	return noMatch
}

// match reports whether the rule's requirement is met, and by what. meets says
// which exit codes do.
func (r *PodFailurePolicyRule) match(pod *Pod, meets func(code int32) bool) (Match, bool) {
	if on := r.OnExitCodes; on != nil {
		if c := on.find(pod, meets); c != nil {
			return Match{Container: c.Name, ExitCode: c.State.Terminated.ExitCode}, true
		}
		return Match{}, false
	}
	if c := findCondition(r.OnPodConditions, pod.Status.Conditions); c != nil {
		return Match{Condition: string(c.Type)}, true
	}
	return Match{}, false
}

// manyPairs is how many patterns times conditions are compared one by one.
const manyPairs = 1000

// findCondition returns the first of the conditions that a pattern matches, nil
// if there is none.
func findCondition(patterns []OnPodCondition, conditions []PodCondition) *PodCondition {
	var wanted map[OnPodCondition]bool
	if int64(len(patterns))*int64(len(conditions)) > manyPairs { // an int may have 32 bits
		wanted = make(map[OnPodCondition]bool, len(patterns))
		for _, o := range patterns {
			wanted[OnPodCondition{o.Type, o.status()}] = true
		}
	}
	for i := range conditions {
		c := &conditions[i]
		if wanted[OnPodCondition{c.Type, c.Status}] {
			return c
		}
		for k := 0; wanted == nil && k < len(patterns); k++ {
			if patterns[k].matches(c) {
				return c
			}
		}
	}
	return nil
}

// find returns the first container, in the order of the statuses and the app
// containers first, that is looked at and whose exit code meets the requirement.
func (o *OnExitCodes) find(pod *Pod, meets func(code int32) bool) *ContainerStatus {
	for _, statuses := range [2][]ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if c := &statuses[i]; o.looksAt(c) && meets(c.State.Terminated.ExitCode) {
				return c
			}
		}
	}
	return nil
}

// meets reports whether the exit code meets the requirement.
func (o *OnExitCodes) meets(code int32) bool {
	met, _ := exitcode.Matches(o.Operator, o.Values, code)
	return met
}

// looksAt reports whether the container is one whose exit code is compared: it
// ended with a non-zero code and has the wanted name. A name that is set but
// empty only fits a status without a name.
func (o *OnExitCodes) looksAt(c *ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 &&
		(o.ContainerName == nil || *o.ContainerName == c.Name)
}

func (o OnPodCondition) matches(c *PodCondition) bool {
	return o.Type == c.Type && o.status() == c.Status
}

// status is the wanted status; True is the API's default.
func (o OnPodCondition) status() ConditionStatus {
	if o.Status == "" {
		return ConditionTrue
	}
	return o.Status
}

// known reports whether the action is one that this package carries out. Rules
// with another action, of a later Kubernetes perhaps, are passed over.
func (a Action) known() bool {
	switch a {
	case PodFailurePolicyActionFailJob, PodFailurePolicyActionFailIndex, PodFailurePolicyActionIgnore, PodFailurePolicyActionCount:
		return true
	}
	return false
}
