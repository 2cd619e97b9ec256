package lint_test

import (
	"fmt"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// The policy of KEP-3329's Story 1: all exit codes but three are bugs, including 143,
// with which the containers of a drained node end.
func ExampleCheck() {
	spec := batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action:      batch.ActionFailJob,
		OnExitCodes: &batch.OnExitCodes{Operator: batch.OpNotIn, Values: []int32{40, 41, 42}},
	}}}}
	for _, f := range lint.Check(&spec) {
		fmt.Println(f.Kind, f.Field)
		fmt.Println(f.Text)
	}
	// Output:
	// drain spec.podFailurePolicy.rules[0].onExitCodes
	// a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; put a rule for the condition DisruptionTarget before it
}

// A Job with defaults runs up to seven pods, with delays of ten and a half minutes in
// total.
func ExampleWorstCase() {
	bound, err := lint.WorstCase(jobpolicy.Engine{}, &batch.JobSpec{})
	fmt.Println(bound.Runs, bound.Wait, bound.Unbounded, err)
	// Output: 7 10m30s false <nil>
}

// Fields that an older cluster silently drops.
func ExampleCheckFor() {
	limit := int32(1)
	spec := batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: &limit, BackoffLimitPerIndex: &limit}
	findings, err := lint.CheckFor(&spec, "1.28")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	// Output:
	// spec.backoffLimitPerIndex: warning: Kubernetes 1.28 drops it unless the feature gate JobBackoffLimitPerIndex, off by default, is on: the failures of all indexes count together, towards backoffLimit (version)
}
