package convert

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// JobStatus converts a Job's status to the fields that jobpolicy knows.
func JobStatus(s *batchv1.JobStatus) *batch.JobStatus {
	if s == nil {
		return nil
	}
	status := &batch.JobStatus{
		Conditions:       each(s.Conditions, jobCondition),
		StartTime:        timeAt(s.StartTime),
		CompletionTime:   timeAt(s.CompletionTime),
		Active:           s.Active,
		Ready:            s.Ready,
		Terminating:      s.Terminating,
		Succeeded:        s.Succeeded,
		Failed:           s.Failed,
		CompletedIndexes: s.CompletedIndexes,
		FailedIndexes:    s.FailedIndexes,
	}
	if u := s.UncountedTerminatedPods; u != nil {
		status.UncountedTerminatedPods = &batch.UncountedTerminatedPods{
			Succeeded: each(u.Succeeded, func(uid *types.UID) string { return string(*uid) }),
			Failed:    each(u.Failed, func(uid *types.UID) string { return string(*uid) }),
		}
	}
	return status
}

func jobCondition(c *batchv1.JobCondition) batch.JobCondition {
	return batch.JobCondition{
		Type:               batch.JobConditionType(c.Type),
		Status:             batch.ConditionStatus(c.Status),
		LastProbeTime:      c.LastProbeTime.Time,
		LastTransitionTime: c.LastTransitionTime.Time,
		Reason:             batch.Reason(c.Reason),
		Message:            c.Message,
	}
}

// SetJobStatus copies s, a plan's InterimStatus or FinalStatus, into dst, the status
// that the plan was made from. It preserves fields and conditions unknown to jobpolicy.
// It is a no-op if s is nil.
func SetJobStatus(dst *batchv1.JobStatus, s *batch.JobStatus) {
	if s == nil {
		return
	}
	dst.Conditions = jobConditions(dst.Conditions, s.Conditions)
	setTime(&dst.StartTime, s.StartTime)
	setTime(&dst.CompletionTime, s.CompletionTime)
	dst.Active = s.Active
	dst.Ready = own(s.Ready)
	dst.Terminating = own(s.Terminating)
	dst.Succeeded = s.Succeeded
	dst.Failed = s.Failed
	dst.CompletedIndexes = s.CompletedIndexes
	dst.FailedIndexes = own(s.FailedIndexes)
	dst.UncountedTerminatedPods = uncounted(dst.UncountedTerminatedPods, s.UncountedTerminatedPods)
}

// jobConditions returns the conditions of s, merged with unknown fields of the same
// type in old, followed by conditions of old unknown to jobpolicy and missing from s.
func jobConditions(old []batchv1.JobCondition, s []batch.JobCondition) []batchv1.JobCondition {
	old = slices.Clone(old)
	all := make([]batchv1.JobCondition, 0, len(s)+len(old))
	for i := range s {
		var c batchv1.JobCondition
		at := slices.IndexFunc(old, func(o batchv1.JobCondition) bool { return string(o.Type) == string(s[i].Type) })
		if at >= 0 {
			c = old[at]
			old = slices.Delete(old, at, at+1)
		}
		c.Type = batchv1.JobConditionType(s[i].Type)
		c.Status = corev1.ConditionStatus(s[i].Status)
		c.LastProbeTime = metav1.NewTime(s[i].LastProbeTime)
		c.LastTransitionTime = metav1.NewTime(s[i].LastTransitionTime)
		c.Reason = string(s[i].Reason)
		c.Message = s[i].Message
		all = append(all, c)
	}
	for _, c := range old {
		switch batch.JobConditionType(c.Type) {
		case batch.JobSuspended, batch.JobComplete, batch.JobFailed, batch.JobFailureTarget, batch.JobSuccessCriteriaMet:
		default:
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// uncounted returns the UIDs of u with the other fields of old.
func uncounted(old *batchv1.UncountedTerminatedPods, u *batch.UncountedTerminatedPods) *batchv1.UncountedTerminatedPods {
	if u == nil {
		return nil
	}
	var all batchv1.UncountedTerminatedPods
	if old != nil {
		all = *old
	}
	all.Succeeded = each(u.Succeeded, func(uid *string) types.UID { return types.UID(*uid) })
	all.Failed = each(u.Failed, func(uid *string) types.UID { return types.UID(*uid) })
	return &all
}

// setTime sets *dst to a new pointer to t, or nil if t is zero.
func setTime(dst **metav1.Time, t time.Time) {
	*dst = nil
	if !t.IsZero() {
		*dst = &metav1.Time{Time: t}
	}
}

// own returns a pointer to a copy of *p, or nil for nil.
func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
