package jobpolicy_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/restartkit/restart/jobpolicy"
)

// A manifest is defaulted, then validated.
func ExampleJobSpec_Validate() {
	var job jobpolicy.Job
	err := json.Unmarshal([]byte(`{"spec": {
		"completionMode": "Indexed", "completions": 3, "maxFailedIndexes": 5,
		"template": {"spec": {"restartPolicy": "Never"}}}}`), &job)
	if err != nil {
		panic(err)
	}
	job.Spec.Default()
	var mistakes jobpolicy.FieldErrors
	if errors.As(job.Spec.Validate(), &mistakes) {
		for _, m := range mistakes {
			fmt.Println(m.Type, m.Field)
		}
	}
	// Output:
	// Required spec.backoffLimitPerIndex
	// Invalid spec.maxFailedIndexes
}

// The policy of KEP-3329's Story 1: all exit codes but three are bugs. So is 143
// then, with which the containers of a drained node end.
func ExampleJobSpec_Lint() {
	spec := jobpolicy.JobSpec{PodFailurePolicy: &jobpolicy.PodFailurePolicy{Rules: []jobpolicy.PodFailurePolicyRule{{
		Action:      jobpolicy.PodFailurePolicyActionFailJob,
		OnExitCodes: &jobpolicy.OnExitCodes{Operator: jobpolicy.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{40, 41, 42}},
	}}}}
	for _, f := range spec.Lint() {
		fmt.Println(f.Check, f.Field)
		fmt.Println(f.Text)
	}
	// Output:
	// drain spec.podFailurePolicy.rules[0].onExitCodes
	// a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; put a rule for the condition DisruptionTarget before it
}

// A Job with nothing set runs a pod up to seven times, with ten and a half
// minutes of delays in between.
func ExampleEngine_WorstCase() {
	bound, err := jobpolicy.Engine{}.WorstCase(&jobpolicy.JobSpec{})
	fmt.Println(bound.Runs, bound.Wait, bound.Unbounded, err)
	// Output: 7 10m30s false <nil>
}
