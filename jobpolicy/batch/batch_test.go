package batch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/jobpolicy/batch"
)

func TestFinishedReturnsTheFinalCondition(t *testing.T) {
	condition := func(t batch.JobConditionType, status batch.ConditionStatus) batch.JobCondition {
		return batch.JobCondition{Type: t, Status: status}
	}
	complete := condition(batch.JobComplete, batch.ConditionTrue)
	for name, tt := range map[string]struct {
		status *batch.JobStatus
		want   bool
	}{
		"nil":     {nil, false},
		"none":    {&batch.JobStatus{}, false},
		"target":  {&batch.JobStatus{Conditions: []batch.JobCondition{condition(batch.JobFailureTarget, batch.ConditionTrue)}}, false},
		"not yet": {&batch.JobStatus{Conditions: []batch.JobCondition{condition(batch.JobComplete, batch.ConditionFalse)}}, false},
		"ended":   {&batch.JobStatus{Conditions: []batch.JobCondition{condition(batch.JobSuccessCriteriaMet, batch.ConditionTrue), complete}}, true},
	} {
		if c, ended := tt.status.Finished(); ended != tt.want || ended && c != complete {
			t.Errorf("%s: %+v, %t", name, c, ended)
		}
	}
}

func TestUntrackKeepsOtherFinalizers(t *testing.T) {
	p := batch.NewPod("u", -1)
	p.Finalizers = append(p.Finalizers, "example.com/other")
	if p.Untrack(); p.Tracked() || !slices.Equal(p.Finalizers, []string{"example.com/other"}) {
		t.Errorf("%q", p.Finalizers)
	}
}

func TestReasonsOfSuccess(t *testing.T) {
	for reason, want := range map[batch.Reason]bool{
		batch.JobReasonSuccessPolicy: true, batch.JobReasonCompletionsReached: true, batch.JobReasonBackoffLimitExceeded: false, "": false,
	} {
		if reason.Succeeded() != want {
			t.Errorf("%q: %t", reason, !want)
		}
	}
}

// A letter is no digit, even where its place in ASCII would make a possible index.
func TestSucceededIndexesAreDigits(t *testing.T) {
	completions, indexes := int32(1000), "1x"
	spec := batch.JobSpec{
		CompletionMode: batch.IndexedCompletion, Completions: &completions,
		SuccessPolicy: &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: &indexes}}},
		Template:      batch.PodTemplateSpec{Spec: batch.PodSpec{RestartPolicy: batch.RestartPolicyNever}},
	}
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), `"1x" is not an index`) {
		t.Error(err)
	}
}

func TestReadyIsAConditionThatIsTrue(t *testing.T) {
	for status, want := range map[batch.ConditionStatus]bool{"": false, batch.ConditionTrue: true, batch.ConditionFalse: false} {
		p := batch.NewPod("u", -1)
		if status != "" {
			p.Status.Conditions = []batch.PodCondition{{Type: batch.PodReady, Status: status}}
		}
		if p.Ready() != want {
			t.Errorf("%q: %t", status, !want)
		}
	}
}

// The error about a long name says how long it may be.
func TestLongestRuleName(t *testing.T) {
	validate := func(length int) error {
		spec := batch.JobSpec{
			PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
				Action: batch.ActionFailJob, Name: strings.Repeat("a", length), OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}},
			}}},
			Template: batch.PodTemplateSpec{Spec: batch.PodSpec{RestartPolicy: batch.RestartPolicyNever}},
		}
		return spec.Validate()
	}
	longest := 0
	for validate(longest+1) == nil {
		longest++
	}
	if err := validate(longest + 1); longest == 0 || !strings.Contains(err.Error(), fmt.Sprintf("must be at most %d bytes", longest)) {
		t.Errorf("%d bytes are valid, one more is not: %v", longest, err)
	}
}

func TestErrorsOfAnUpdateHaveValues(t *testing.T) {
	one, two := int32(1), int32(2)
	err := (&batch.JobSpec{Completions: &two}).ValidateUpdate(&batch.JobSpec{Completions: &one})
	if err == nil || !strings.Contains(err.Error(), "spec.completions: invalid value 2: ") {
		t.Error(err)
	}
}

func ptr[T any](v T) *T { return &v }
