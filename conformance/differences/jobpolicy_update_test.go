package differences

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/kube/convert"
)

// TestValidateUpdateDifferential compares, on pairs of specifications a few
// changes apart, the mistakes and forbidden changes that we and the API server
// find.
func TestValidateUpdateDifferential(t *testing.T) {
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			old := drawSpec(t)
			spec := old.DeepCopy()
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				rapid.SampledFrom(changes()).Draw(t, "change")(t, spec)
			}
			oldJob, job := jobOf(old), jobOf(spec)
			setDefaults(oldJob)
			setDefaults(job)
			ours := convert.Job(job.DeepCopy()).Spec
			got := ourMistakes(t, ours.ValidateUpdate(&convert.Job(oldJob).Spec))
			oldInternal, internal := internalOf(t, oldJob), internalOf(t, job)
			want, panicked := theirList(func() field.ErrorList {
				return validation.ValidateJobUpdate(internal, oldInternal, validation.JobValidationOptions{RequirePrefixedLabels: true})
			})
			if panicked {
				continue // as on create
			}
			if onCreate, _ := theirMistakes(t, job); len(want) > len(onCreate) {
				changed++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("mistakes (-API server +ours):\n%s\nfrom %s\nto %s", diff, show(old), show(spec))
			}
		}
	})
	t.Logf("%d forbidden changes", changed)
	if changed == 0 {
		t.Error("nothing was changed that must not be")
	}
}

// TestValidateStatusDifferential compares, on random statuses of random Jobs, the
// mistakes that we and the API server find if all of the status is new.
func TestValidateStatusDifferential(t *testing.T) {
	accepted, rejected := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			job := jobOf(drawSpec(t))
			setDefaults(job)
			job.Status = drawStatus(t)
			got := ourMistakes(t, convert.Job(job.DeepCopy()).ValidateStatus())
			internal := internalOf(t, job)
			want, panicked := theirList(func() field.ErrorList {
				return validation.ValidateJobUpdateStatus(internal, internal, everyCheck(job))
			})
			switch {
			case panicked:
				t.Fatalf("the API server panics on %s", cmp.Diff(batchv1.JobStatus{}, job.Status))
			case len(want) == 0:
				accepted++
			default:
				rejected++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("mistakes (-API server +ours):\n%s\nin %s\nof %s", diff, cmp.Diff(batchv1.JobStatus{}, job.Status), show(&job.Spec))
			}
		}
	})
	t.Logf("%d accepted, %d rejected", accepted, rejected)
	if accepted < 20 || rejected < 20 {
		t.Error("the statuses are too much alike")
	}
}

// everyCheck switches on what the API server checks of the parts of a status that
// changed.
func everyCheck(job *batchv1.Job) validation.JobStatusValidationOptions {
	neverStarts := ptr.Deref(job.Spec.Suspend, false) && job.Spec.Completions != nil && *job.Spec.Completions == 0
	return wideScope(validation.JobStatusValidationOptions{
		RejectDecreasingSucceededCounter:             true,
		RejectDecreasingFailedCounter:                true,
		RejectDisablingTerminalCondition:             true,
		RejectInvalidCompletedIndexes:                true,
		RejectInvalidFailedIndexes:                   true,
		RejectFailedIndexesOverlappingCompleted:      true,
		RejectCompletedIndexesForNonIndexedJob:       true,
		RejectFailedIndexesForNoBackoffLimitPerIndex: true,
		RejectFailedJobWithoutFailureTarget:          true,
		RejectCompleteJobWithoutSuccessCriteriaMet:   true,
		RejectFinishedJobWithActivePods:              true,
		RejectFinishedJobWithoutStartTime:            !neverStarts,
		RejectFinishedJobWithUncountedTerminatedPods: true,
		RejectStartTimeUpdateForUnsuspendedJob:       true,
		RejectCompletionTimeBeforeStartTime:          true,
		RejectMutatingCompletionTime:                 true,
		RejectCompleteJobWithoutCompletionTime:       true,
		RejectNotCompleteJobWithCompletionTime:       true,
		RejectCompleteJobWithFailedCondition:         true,
		RejectCompleteJobWithFailureTargetCondition:  true,
		RejectMoreReadyThanActivePods:                true,
		RejectFinishedJobWithTerminatingPods:         true,
	})
}

// drawStatus draws a status whose parts need not fit together.
func drawStatus(t *rapid.T) batchv1.JobStatus {
	number := rapid.SampledFrom([]int32{0, 0, 0, 1, 2, -1})
	optional := rapid.Ptr(number, true)
	status := batchv1.JobStatus{
		StartTime:        drawTime(t),
		CompletionTime:   drawTime(t),
		Active:           number.Draw(t, "active"),
		Succeeded:        number.Draw(t, "succeeded"),
		Failed:           number.Draw(t, "failed"),
		Ready:            optional.Draw(t, "ready"),
		Terminating:      optional.Draw(t, "terminating"),
		CompletedIndexes: ptr.Deref(drawIndexes(t), ""),
		FailedIndexes:    drawIndexes(t),
	}
	if rapid.Bool().Draw(t, "few indexes") {
		status.CompletedIndexes, status.FailedIndexes = "", nil
	}
	if rapid.Bool().Draw(t, "uncounted") {
		uids := rapid.SliceOfN(rapid.SampledFrom([]types.UID{"a", "b", "c", ""}), 0, 3)
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{
			Succeeded: uids.Draw(t, "uncounted succeeded"),
			Failed:    uids.Draw(t, "uncounted failed"),
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "conditions") {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{
			Type: rapid.SampledFrom([]batchv1.JobConditionType{
				batchv1.JobSuspended, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
			}).Draw(t, "type"),
			Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "status"),
		})
	}
	return status
}

// drawTime draws one of three instants, or none.
func drawTime(t *rapid.T) *metav1.Time {
	return rapid.Ptr(rapid.Map(rapid.Int64Range(1, 3), func(s int64) metav1.Time {
		return metav1.Time{Time: time.Unix(s, 0)}
	}), true).Draw(t, "time")
}
