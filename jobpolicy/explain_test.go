package jobpolicy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Every result gives the match, or why the rule does not match.
func TestExplainGivesReasons(t *testing.T) {
	in, notIn := batch.OpIn, batch.OpNotIn
	codes := func(o batch.Operator, container *string, values ...int32) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: o, ContainerName: container, Values: values}}
	}
	conditions := func(patterns ...batch.OnPodCondition) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionIgnore, OnPodConditions: patterns}
	}
	ended := func(name string, code int32) batch.ContainerStatus {
		return batch.ContainerStatus{Name: name, State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}}}
	}
	p := &batch.Pod{Status: batch.PodStatus{
		ContainerStatuses:     []batch.ContainerStatus{ended("a", 3), ended("b", 0), {Name: "c"}},
		InitContainerStatuses: []batch.ContainerStatus{ended("", 4)},
		Conditions:            []batch.PodCondition{{Type: "A", Status: batch.ConditionFalse}, {Type: "B", Status: batch.ConditionTrue}},
	}}
	unknown := codes(in, nil, 3)
	unknown.Action = "Later"
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		codes(in, nil, 1, 2),
		codes(notIn, nil, 3, 4),
		codes(in, pointerTo("b"), 3),
		codes(in, pointerTo(""), 3),
		codes("Between", nil, 1, 9),
		{Action: batch.ActionCount},
		{},
		unknown,
		conditions(batch.OnPodCondition{Type: "A"}, batch.OnPodCondition{Type: "B", Status: batch.ConditionUnknown}, batch.OnPodCondition{Type: "C"}),
		conditions(batch.OnPodCondition{Type: "C"}, batch.OnPodCondition{Type: "B"}),
		codes(in, nil, 3),
	}}
	want := []string{
		"rule 0 (Count): no match: container a ended with exit code 3, not in [1 2]; container b ended with exit code 0; container c has not ended; container \"\" ended with exit code 4, not in [1 2]",
		"rule 1 (Count): no match: container a ended with exit code 3, in [3 4]; container b ended with exit code 0; container c has not ended; container \"\" ended with exit code 4, in [3 4]",
		"rule 2 (Count): no match: container a is not b; container b ended with exit code 0; container c is not b; container \"\" is not b",
		"rule 3 (Count): no match: container a is not \"\"; container b is not \"\"; container c is not \"\"; container \"\" ended with exit code 4, not in [3]",
		"rule 4 (Count): no match: unknown operator \"Between\"",
		"rule 5 (Count): no match: the rule has no requirement",
		"rule 6 (\"\"): no match: unknown action, the rule is skipped (the rule has no requirement)",
		"rule 7 (Later): no match: unknown action, the rule is skipped (container a ended with exit code 3, in [3])",
		"rule 8 (Ignore): no match: condition A is False, wanted True; condition B is True, wanted Unknown; condition C is absent, wanted True",
		"rule 9 (Ignore): matched: the pod has condition B=True",
		"rule 10 (Count): no match: not reached, rule 9 decided",
	}
	var got []string
	for _, s := range jobpolicy.Explain(policy, p) {
		got = append(got, s.String())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	policy.Rules = policy.Rules[9:]
	if got, want := jobpolicy.Explain(policy, &batch.Pod{})[1].Why, "the pod has no container status"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := jobpolicy.Explain(policy, p)[1].Why, "not reached, rule 0 decided"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Status.Conditions = nil
	if got, want := jobpolicy.Explain(policy, p)[1].String(), "rule 1 (Count): matched: container a ended with exit code 3, in [3]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	policy.Rules[1] = codes(notIn, pointerTo(""), 3)
	if got, want := jobpolicy.Explain(policy, p)[1].Why, "container \"\" ended with exit code 4, not in [3]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
