package jobpolicy

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/count"
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

// noMatch is the result if no rule matches.
var noMatch = Match{Rule: -1}

// MatchPod returns the first rule with a known action that matches the pod (KEP-3329,
// "Evaluation"). It assumes that the pod has failed. A nil policy has no rules.
func MatchPod(p *batch.PodFailurePolicy, pod *batch.Pod) Match {
	if p == nil || pod == nil {
		return noMatch
	}
	for i := range p.Rules {
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

// MatchExit is MatchPod for schedulers without pods. It takes a single container's name
// and exit code. Rules on conditions never match, nor does exit code 0. A pod failure
// policy has no rules on reasons such as OOMKilled; those of package backoff do.
func MatchExit(p *batch.PodFailurePolicy, container string, code int32) Match {
	if p == nil {
		return noMatch
	}
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.Action.Known() && rule.OnExitCodes != nil && metBy(rule.OnExitCodes, container, code, false) {
			return Match{Rule: i, Action: rule.Action, Container: container, ExitCode: code}
		}
	}
	return noMatch
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

// NextCounts returns the failure counts for the replacement of a failed pod with this
// Match, given the index's counts before the failure. failures counts towards the limit
// per index; ignored does not. Both saturate at 2^31-1 (KEP-3850, "Tracking the number
// of failures per index").
func (m Match) NextCounts(failures, ignored int) (nextFailures, nextIgnored int) {
	failures, ignored = addCounts(max(failures, 0), 0), addCounts(max(ignored, 0), 0)
	if m.Counted() {
		return addCounts(failures, 1), ignored
	}
	return failures, addCounts(ignored, 1)
}

// IndexFailed reports whether a failed pod fails its index for good, because a
// FailIndex rule matched, or the failure is counted and failures exceeds limit.
// failures is the count after this failure, as returned by NextCounts, so a limit of 1
// allows two runs. With a nil limit no index fails.
func (m Match) IndexFailed(failures int, limit *int32) bool {
	return m.indexFailedAfter(max(failures, 1)-1, limit)
}

// indexFailedAfter is IndexFailed for the number of counted failures before this one,
// as pods carry it.
func (m Match) indexFailedAfter(before int, limit *int32) bool {
	switch {
	case limit == nil:
		return false
	case m.Action == batch.ActionFailIndex:
		return true
	}
	return m.Counted() && before >= int(*limit)
}

// addCounts returns the sum of two failure counts, at most maxCount.
func addCounts(a, b int) int { return min(a, maxCount-b) + b }

// maxCount is the highest failure count in an annotation.
const maxCount = count.Max

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

// findExit returns the first container that meets the requirement, with app containers
// before init containers and each in the order of the statuses.
func findExit(o *batch.OnExitCodes, pod *batch.Pod) *batch.ContainerStatus {
	// The API server accepts only values in increasing order, which allow a binary
	// search. Checking the order costs about as much as one linear search, so it pays
	// only with several containers.
	ordered := len(pod.Status.ContainerStatuses) > 2 && slices.IsSorted(o.Values)
	for _, statuses := range [2][]batch.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			if end := c.State.Terminated; end != nil && metBy(o, c.Name, end.ExitCode, ordered) {
				return c
			}
		}
	}
	return nil
}

// metBy reports whether a container with this name and exit code meets the requirement.
// Exit code 0 never does. An empty but non-nil ContainerName matches only a container
// without a name. ordered says that the values are known to be in increasing order.
func metBy(o *batch.OnExitCodes, container string, code int32, ordered bool) bool {
	if code == 0 || o.ContainerName != nil && *o.ContainerName != container {
		return false
	}
	var listed bool
	if ordered {
		_, listed = slices.BinarySearch(o.Values, code)
	} else {
		listed = slices.Contains(o.Values, code)
	}
	met, _ := exitcode.Meets(o.Operator, listed)
	return met
}

// manyPairs is the largest number of patterns times conditions compared one by one.
// Beyond it the patterns become a map. A pod and a policy with 60,000 of each, which a
// hostile client can make, would otherwise take a minute.
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
			if o := patterns[k]; o.Type == c.Type && statusOf(o) == c.Status {
				return c
			}
		}
	}
	return nil
}

// statusOf returns the pattern's status, by default True as in the API.
func statusOf(o batch.OnPodCondition) batch.ConditionStatus {
	if o.Status == "" {
		return batch.ConditionTrue
	}
	return o.Status
}

// MatchSuccess returns the index of the first rule that is met, or -1. A rule with
// indexes is met once all of them, or as many as its count, have succeeded. A rule with
// only a count is met once that many indexes have succeeded. A rule's indexes at or
// above completions are ignored; if it has no others, it is never met. If no index has
// succeeded, no rule is met, even with count 0.
func MatchSuccess(p *batch.SuccessPolicy, succeeded indexset.Set, completions int) (rule int) {
	if p == nil || succeeded.IsZero() {
		return -1
	}
	for i := range p.Rules {
		if metSuccess(&p.Rules[i], succeeded, completions) {
			return i
		}
	}
	return -1
}

func metSuccess(r *batch.SuccessPolicyRule, succeeded indexset.Set, completions int) bool {
	if r.SucceededIndexes == nil {
		return r.SucceededCount != nil && succeeded.Len() >= int(*r.SucceededCount)
	}
	set, _ := indexset.ParseLenient(*r.SucceededIndexes)
	wanted := set.Clip(completions)
	if wanted.IsZero() {
		return false
	}
	have := succeeded.IntersectLen(wanted)
	return have == wanted.Len() || r.SucceededCount != nil && have >= int(*r.SucceededCount)
}

// successMessage returns the message of the condition when a rule is met.
func successMessage(rule int) string {
	return "Matched rules at index " + strconv.Itoa(rule)
}
