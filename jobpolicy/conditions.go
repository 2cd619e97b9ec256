package jobpolicy

import (
	"slices"
	"time"
)

// setCondition brings the condition of that type to this state and reports
// whether anything changed. A condition that is not there is False already.
func (s *JobStatus) setCondition(t JobConditionType, status ConditionStatus, reason Reason, message string, now time.Time) bool {
	i := slices.IndexFunc(s.Conditions, func(c JobCondition) bool { return c.Type == t })
	if i < 0 {
		if status == ConditionFalse {
			return false
		}
		s.addCondition(t, status, reason, message, now)
		return true
	}
	if c := s.Conditions[i]; c.Status == status && c.Reason == reason && c.Message == message {
		return false
	}
	s.Conditions[i] = newCondition(t, status, reason, message, now)
	return true
}

// addCondition adds a condition, whatever others of its type there are.
func (s *JobStatus) addCondition(t JobConditionType, status ConditionStatus, reason Reason, message string, now time.Time) {
	s.Conditions = append(s.Conditions, newCondition(t, status, reason, message, now))
}

func newCondition(t JobConditionType, status ConditionStatus, reason Reason, message string, now time.Time) JobCondition {
	return JobCondition{Type: t, Status: status, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message}
}
