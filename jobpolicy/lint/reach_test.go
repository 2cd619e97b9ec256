package lint_test

import (
	"slices"
	"testing"

	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
	"pgregory.net/rapid"
)

// The small model has all pods of two containers and two conditions that rules with the
// names a and b, the exit codes 1, 2 and 137, and the conditions A and B can
// distinguish. Code 9 stands for all other codes.

// world returns all pods of the small model with these containers.
func world(containers ...string) (pods []*batch.Pod) {
	states := []batch.ContainerState{
		{},
		{Running: &batch.ContainerStateRunning{}},
		{Terminated: &batch.ContainerStateTerminated{ExitCode: 0}},
	}
	for _, code := range []int32{1, 2, 137, 9} {
		states = append(states, batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}})
	}
	conditions := []batch.PodCondition{{Type: "A", Status: batch.ConditionTrue}, {Type: "A", Status: batch.ConditionFalse}, {Type: "B", Status: batch.ConditionTrue}}
	total := 1
	for range containers {
		total *= len(states)
	}
	for n := range total {
		var statuses []batch.ContainerStatus
		for _, name := range containers {
			statuses = append(statuses, batch.ContainerStatus{Name: name, State: states[n%len(states)]})
			n /= len(states)
		}
		for set := range 1 << len(conditions) {
			pod := &batch.Pod{Status: batch.PodStatus{ContainerStatuses: statuses}}
			for k, c := range conditions {
				if set>>k&1 == 1 {
					pod.Status.Conditions = append(pod.Status.Conditions, c)
				}
			}
			pods = append(pods, pod)
		}
	}
	return pods
}

// worldRules returns all requirements of the small model.
func worldRules() (rules []batch.PodFailurePolicyRule) {
	for _, name := range []*string{nil, pointerTo("a"), pointerTo("b"), pointerTo("x")} {
		for _, op := range []batch.Operator{batch.OpIn, batch.OpNotIn} {
			for _, values := range [][]int32{nil, {0}, {1}, {2}, {1, 2}, {0, 137}, {1, 2, 137}} {
				rules = append(rules, batch.PodFailurePolicyRule{OnExitCodes: &batch.OnExitCodes{ContainerName: name, Operator: op, Values: values}})
			}
		}
	}
	a, b := batch.OnPodCondition{Type: "A"}, batch.OnPodCondition{Type: "B", Status: batch.ConditionTrue}
	notA := batch.OnPodCondition{Type: "A", Status: batch.ConditionFalse}
	for _, patterns := range [][]batch.OnPodCondition{{}, {a}, {b}, {a, b}, {notA, a}, {a, a}, {a, notA, b}} {
		rules = append(rules, batch.PodFailurePolicyRule{OnPodConditions: patterns})
	}
	return append(rules, batch.PodFailurePolicyRule{OnExitCodes: &batch.OnExitCodes{Operator: "in", Values: []int32{1}}})
}

// specWith is a specification with these containers and rules.
func specWith(containers []string, rules ...batch.PodFailurePolicyRule) *batch.JobSpec {
	s := &batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: rules}}
	for _, name := range containers {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, batch.Container{Name: name})
	}
	return s
}

// checkReach compares the findings with the decisions on all pods of the model. A rule
// that is reported as unreachable decides on none, and a listed value that is reported
// as void changes no decision. If exact, the reverse holds as well.
func checkReach(t interface{ Fatalf(string, ...any) }, s *batch.JobSpec, pods []*batch.Pod, exact bool) (unreachable int) {
	whole := *s
	whole.Default()
	policy := s.PodFailurePolicy
	decided := make([]int, len(pods))
	decides := make([]bool, len(policy.Rules))
	for n, pod := range pods {
		if decided[n] = jobpolicy.MatchPod(policy, pod).Rule; decided[n] >= 0 {
			decides[decided[n]] = true
		}
	}
	reported := map[int]bool{}
	for _, f := range lint.Check(s) {
		if f.Kind == lint.KindUnreachable {
			reported[f.Rule] = true
		}
	}
	for i := range policy.Rules {
		if reported[i] && decides[i] || exact && !reported[i] && !decides[i] {
			t.Fatalf("rule %d of %s: decides on a pod: %v; reported as unreachable: %v", i, jsonText(policy), decides[i], reported[i])
		}
		if reported[i] {
			unreachable++
		}
		if !decides[i] {
			continue
		}
		rule := policy.Rules[i]
		values := len(rule.OnPodConditions)
		if rule.OnExitCodes != nil {
			if rule.OnExitCodes.Operator != batch.OpIn {
				continue
			}
			values = len(rule.OnExitCodes.Values)
		}
		for k := range values {
			if hasTwin(rule.OnPodConditions, k) || rule.OnExitCodes != nil && rule.OnExitCodes.Values[k] == 0 {
				continue // of twins the later one is reported; 0 is left to validation
			}
			void := slices.Contains(lint.Void(&whole, i), k)
			without := &batch.PodFailurePolicy{Rules: slices.Clone(policy.Rules)}
			without.Rules[i] = withoutValue(rule, k)
			same := true
			for n, pod := range pods {
				same = same && jobpolicy.MatchPod(without, pod).Rule == decided[n]
			}
			if void && !same || exact && !void && same {
				t.Fatalf("rule %d of %s: value %d is without effect: %v; reported: %v", i, jsonText(policy), k, same, void)
			}
		}
	}
	return unreachable
}

// hasTwin reports whether pattern k is repeated later.
func hasTwin(patterns []batch.OnPodCondition, k int) bool {
	return k < len(patterns) && slices.ContainsFunc(patterns[k+1:], func(o batch.OnPodCondition) bool {
		return o.Type == patterns[k].Type && status(o) == status(patterns[k])
	})
}

// status returns the wanted status, by default True.
func status(o batch.OnPodCondition) batch.ConditionStatus {
	if o.Status == "" {
		return batch.ConditionTrue
	}
	return o.Status
}

func withoutValue(r batch.PodFailurePolicyRule, k int) batch.PodFailurePolicyRule {
	if on := r.OnExitCodes; on != nil {
		r.OnExitCodes = &batch.OnExitCodes{ContainerName: on.ContainerName, Operator: on.Operator, Values: slices.Delete(slices.Clone(on.Values), k, k+1)}
	} else {
		r.OnPodConditions = slices.Delete(slices.Clone(r.OnPodConditions), k, k+1)
	}
	return r
}

// What is reported about several rules is true.
func TestUnreachableRulesDecideOnNoPod(t *testing.T) {
	rules := worldRules()
	actions := []batch.Action{batch.ActionFailJob, batch.ActionIgnore, batch.ActionFailIndex, batch.ActionCount, "Unknown"}
	worlds := [][]string{{"a"}, {"a", "b"}, {"c", "a"}, {"c"}}
	pods := make([][]*batch.Pod, len(worlds))
	for w, containers := range worlds {
		pods[w] = append(world(containers...), world(containers[0], "injected")...)
	}
	policies, unreachable := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			w := rapid.IntRange(0, len(worlds)-1).Draw(t, "world")
			s := specWith(worlds[w])
			for range rapid.IntRange(1, 4).Draw(t, "rules") {
				rule := rapid.SampledFrom(rules).Draw(t, "rule")
				rule.Action = rapid.SampledFrom(actions).Draw(t, "action")
				s.PodFailurePolicy.Rules = append(s.PodFailurePolicy.Rules, rule)
			}
			policies++
			unreachable += checkReach(t, s, pods[w], false)
		}
	})
	if t.Logf("%d policies, %d rules that no pod reaches", policies, unreachable); unreachable == 0 && rapidseed.Fixed() {
		t.Error("no unreachable rule was tried")
	}
}

// Of two rules, everything that holds is reported: all pairs of the small model.
func TestReachOfPairsIsExact(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	containers := []string{"a", "b"}
	pods := append(world(containers...), world("a", "injected")...)
	pairs, unreachable := 0, 0
	for _, first := range worldRules() {
		for _, second := range worldRules() {
			first.Action, second.Action = batch.ActionIgnore, batch.ActionFailJob
			pairs++
			unreachable += checkReach(t, specWith(containers, first, second), pods, true)
		}
	}
	t.Logf("%d pairs, %d rules that no pod reaches", pairs, unreachable)
}
