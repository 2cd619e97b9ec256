package jobpolicy

import (
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// setCondition brings the condition of that type to this state and reports
// whether anything changed. A condition that is not there is False already.
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

// addCondition adds a condition, whatever others of its type there are.
func addCondition(s *batch.JobStatus, t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) {
	s.Conditions = append(s.Conditions, newCondition(t, status, reason, message, now))
}

func newCondition(t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) batch.JobCondition {
	return batch.JobCondition{Type: t, Status: status, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message}
}

// cloneStatus returns a copy whose lists may be written to, and whose uncounted pods are
// never nil.
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

// uncounted is how many pods the status names that it has not counted yet.
func uncounted(s *batch.JobStatus) int {
	u := s.UncountedTerminatedPods
	return len(u.Succeeded) + len(u.Failed)
}
