package jobcontroller

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestConditionsThatChangeAreEvents(t *testing.T) {
	is := func(t batchv1.JobConditionType, s corev1.ConditionStatus) batchv1.JobCondition {
		return batchv1.JobCondition{Type: t, Status: s, Reason: "Why", Message: "what"}
	}
	type conditions []batchv1.JobCondition
	normal, warning := corev1.EventTypeNormal, corev1.EventTypeWarning
	for _, test := range []struct {
		name          string
		before, after conditions
		succeeded     int32
		want          []jobEvent
	}{
		{"nothing", nil, nil, 0, nil},
		{"suspended", nil, conditions{is(batchv1.JobSuspended, "True")}, 0, []jobEvent{{normal, "Suspended", "Job suspended"}}},
		{"suspended still", conditions{is(batchv1.JobSuspended, "True")}, conditions{is(batchv1.JobSuspended, "True")}, 0, nil},
		{"resumed", conditions{is(batchv1.JobSuspended, "True")}, conditions{is(batchv1.JobSuspended, "False")}, 0, []jobEvent{{normal, "Resumed", "Job resumed"}}},
		{"never suspended", nil, conditions{is(batchv1.JobSuspended, "False")}, 0, nil},
		{"a target is no end", nil, conditions{is(batchv1.JobFailureTarget, "True")}, 0, nil},
		{"failed", conditions{is(batchv1.JobFailureTarget, "True")}, conditions{is(batchv1.JobFailureTarget, "True"), is(batchv1.JobFailed, "True")}, 0,
			[]jobEvent{{warning, "Why", "what"}}},
		{"complete", nil, conditions{is(batchv1.JobComplete, "True")}, 2, []jobEvent{{normal, "Completed", "Job completed"}}},
		{"complete, and more", nil, conditions{is(batchv1.JobComplete, "True")}, 3,
			[]jobEvent{{warning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached"}, {normal, "Completed", "Job completed"}}},
	} {
		job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: test.after, Succeeded: test.succeeded}}
		job.Spec.Completions = new(int32(2))
		if got := conditionEvents(test.before, job); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
