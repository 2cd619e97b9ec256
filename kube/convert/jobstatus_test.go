package convert

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// A status survives the conversion there and back, with every field of the API.
func TestStatusThereAndBackIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		status := theirs[batchv1.JobStatus]().Draw(t, "status")
		if draw := rapid.Bool().Draw(t, "known"); draw {
			drawTypes(t, status)
		}
		got := status.DeepCopy()
		SetJobStatus(got, JobStatus(status))
		if diff := unequal(status, got); diff != "" {
			t.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

// drawTypes gives some of the conditions types known to jobpolicy, sometimes twice.
func drawTypes(t *rapid.T, s *batchv1.JobStatus) {
	types := rapid.SampledFrom([]batchv1.JobConditionType{
		batchv1.JobSuspended, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, "example.com/Own",
	})
	for i := range s.Conditions {
		s.Conditions[i].Type = types.Draw(t, "type")
	}
}

// After SetJobStatus any status has the contents of ours and conditions unknown to
// jobpolicy. It shares no memory with ours.
func TestSetStatusSaysWhatOursSays(t *testing.T) {
	statuses := ours[batch.JobStatus]()
	rapid.Check(t, func(t *rapid.T) {
		before := theirs[batchv1.JobStatus]().Draw(t, "before")
		drawTypes(t, before)
		want := statuses.Draw(t, "status")
		text := encode(t, want)
		after := before.DeepCopy()
		SetJobStatus(after, want)
		if shares(after, want) {
			t.Fatal("the status and ours share memory")
		}
		got := JobStatus(after)
		kept := got.Conditions[len(want.Conditions):]
		got.Conditions = got.Conditions[:len(want.Conditions)]
		if diff := unequal(want, got); diff != "" {
			t.Fatalf("(-ours +what it says):\n%s", diff)
		}
		for _, c := range kept {
			if c.Type != "example.com/Own" {
				t.Fatalf("condition %s stays, although ours lacks it", c.Type)
			}
		}
		if text != encode(t, want) {
			t.Fatal("ours was written to")
		}
	})
}

// Conditions of other controllers stay in place while this controller's change.
func TestForeignConditionsStay(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0).UTC())
	condition := func(kind batchv1.JobConditionType, status string) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: "True", Reason: status, LastTransitionTime: at}
	}
	status := batchv1.JobStatus{Conditions: []batchv1.JobCondition{
		condition("example.com/Quota", "first"), condition("Suspended", "JobSuspended"), condition("example.com/Owner", "second"),
	}}
	planned := JobStatus(&status)
	planned.Conditions[1].Reason = "JobResumed"
	planned.Conditions = append(planned.Conditions, batch.JobCondition{Type: batch.JobFailed, Status: "True", LastTransitionTime: at.Time})
	SetJobStatus(&status, planned)
	want := []batchv1.JobCondition{
		condition("example.com/Quota", "first"), condition("Suspended", "JobResumed"), condition("example.com/Owner", "second"), condition("Failed", ""),
	}
	if diff := unequal(want, status.Conditions); diff != "" {
		t.Errorf("the plan's conditions (-want +got):\n%s", diff)
	}

	// A condition added while the plan was made is missing from the plan.
	status.Conditions = append(status.Conditions, condition("example.com/Late", "third"))
	SetJobStatus(&status, planned)
	if want = append(want, condition("example.com/Late", "third")); !slices.Equal(want, status.Conditions) {
		t.Errorf("a later condition (-want +got):\n%s", unequal(want, status.Conditions))
	}
}

// A nil status changes nothing.
func TestSettingNoStatusChangesNothing(t *testing.T) {
	status := batchv1.JobStatus{Active: 3}
	SetJobStatus(&status, nil)
	if status.Active != 3 {
		t.Error("the status was written to")
	}
}
