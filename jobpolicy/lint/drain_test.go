package lint_test

import (
	"slices"
	"testing"

	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// A rule that ignores disruptions comes too late behind one that counts the exit codes of
// drained pods, unless still another rule decides on those before.
func TestRulesForDrainedPodsThatComeTooLate(t *testing.T) {
	code := func(action batch.Action, operator batch.Operator, codes ...int32) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: action, OnExitCodes: &batch.OnExitCodes{Operator: operator, Values: codes}}
	}
	condition := func(types ...batch.PodConditionType) batch.PodFailurePolicyRule {
		rule := batch.PodFailurePolicyRule{Action: batch.ActionIgnore}
		for _, c := range types {
			rule.OnPodConditions = append(rule.OnPodConditions, batch.OnPodCondition{Type: c, Status: batch.ConditionTrue})
		}
		return rule
	}
	all := code(batch.ActionCount, batch.OpNotIn, 0)
	for _, tt := range []struct {
		name  string
		rules []batch.PodFailurePolicyRule
		late  bool
	}{
		{"behind all failures", []batch.PodFailurePolicyRule{all, condition(batch.DisruptionTarget)}, true},
		{"behind other codes", []batch.PodFailurePolicyRule{code(batch.ActionCount, batch.OpIn, 1, 137), condition(batch.DisruptionTarget)}, false},
		{"before all failures", []batch.PodFailurePolicyRule{condition(batch.DisruptionTarget), all}, false},
		{"its codes are ignored first", []batch.PodFailurePolicyRule{code(batch.ActionIgnore, batch.OpIn, 137, 143), all, condition(batch.DisruptionTarget)}, false},
		{"disruptions are ignored first", []batch.PodFailurePolicyRule{condition(batch.DisruptionTarget), all, condition(batch.DisruptionTarget, "example.com/x")}, false},
	} {
		one := int32(1)
		job := batch.JobSpec{Completions: &one, Parallelism: &one, PodFailurePolicy: &batch.PodFailurePolicy{Rules: tt.rules}}
		job.Template.Spec.RestartPolicy = batch.RestartPolicyNever
		job.Template.Spec.Containers = []batch.Container{{Name: "main"}}
		job.Default()
		late := slices.ContainsFunc(lint.Check(&job), func(f lint.Finding) bool { return f.Kind == lint.KindDrain })
		if late != tt.late {
			t.Errorf("%s: %v, want %v", tt.name, late, tt.late)
		}
	}
}
