package jobpolicy

import (
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// setCondition sets the condition of that type and reports whether anything changed. An
// absent condition counts as False.
func setCondition(s *batch.JobStatus, t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) bool {
	i := slices.IndexFunc(s.Conditions, func(c batch.JobCondition) bool { return c.Type == t })
	if i < 0 {
		if status == batch.ConditionFalse {
			return false
		}
		addCondition(s, t, status, reason, message, now)
		return true
	}
	if c := s.Conditions[i]; c.Status == status && c.Reason == reason && c.Message == message {
		return false
	}
	s.Conditions[i] = newCondition(t, status, reason, message, now)
	return true
}

// addCondition appends a condition, even if the status has one of that type.
func addCondition(s *batch.JobStatus, t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) {
	s.Conditions = append(s.Conditions, newCondition(t, status, reason, message, now))
}

func newCondition(t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) batch.JobCondition {
	return batch.JobCondition{Type: t, Status: status, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message}
}

// cloneStatus returns a copy with writable lists and non-nil uncounted pods.
func cloneStatus(s *batch.JobStatus) *batch.JobStatus {
	c := *s
	c.Conditions = slices.Clone(s.Conditions)
	c.UncountedTerminatedPods = cloneUncounted(s.UncountedTerminatedPods)
	return &c
}

func cloneUncounted(u *batch.UncountedTerminatedPods) *batch.UncountedTerminatedPods {
	if u == nil {
		return &batch.UncountedTerminatedPods{}
	}
	return &batch.UncountedTerminatedPods{Succeeded: slices.Clone(u.Succeeded), Failed: slices.Clone(u.Failed)}
}

// uncounted returns the number of uncounted pods in the status.
func uncounted(s *batch.JobStatus) int {
	u := s.UncountedTerminatedPods
	return len(u.Succeeded) + len(u.Failed)
}
