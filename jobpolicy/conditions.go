package jobpolicy

import (
	"math"
	"slices"
	"time"
)

// Finished returns the condition that ended the Job, Complete or Failed, if one
// is True.
func (s *JobStatus) Finished() (JobCondition, bool) {
	if s == nil {
		return JobCondition{}, false
	}
	for _, c := range s.Conditions {
		if (c.Type == JobComplete || c.Type == JobFailed) && c.Status == ConditionTrue {
			return c, true
		}
	}
	return JobCondition{}, false
}

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

// end is how the Job ends. It passes through two conditions: a target
// (FailureTarget, SuccessCriteriaMet) as soon as it is decided, and the final one
// (Failed, Complete) when every pod has ended and is counted.
type end struct {
	reason   Reason
	message  string
	success  bool
	standing bool // an earlier pass decided it
}

func (e *end) target() JobConditionType {
	if e.success {
		return JobSuccessCriteriaMet
	}
	return JobFailureTarget
}

func (e *end) final() JobConditionType {
	if e.success {
		return JobComplete
	}
	return JobFailed
}

// standing returns the end that an earlier pass decided, nil if none did. It is
// not reconsidered.
func (p *pass) standing() *end {
	for _, success := range [...]bool{true, false} {
		e := &end{success: success, standing: true}
		for _, c := range p.status.Conditions {
			if c.Type == e.target() && c.Status == ConditionTrue {
				e.reason, e.message = c.Reason, c.Message
				return e
			}
		}
	}
	return nil
}

// verdict returns the end that the limits decide now, nil if the Job goes on. It
// asks for a pass at the deadline.
func (p *pass) verdict() *end {
	limits := Limits{
		Completions:      p.spec.Completions,
		BackoffLimit:     p.spec.BackoffLimit,
		MaxFailedIndexes: p.spec.MaxFailedIndexes,
	}
	tally := Tally{
		Failed:        p.failedPods,
		Restarts:      p.restarts(),
		Succeeded:     p.succeededPods,
		FailedIndexes: p.failed.Len(),
		Active:        p.active,
		FailJob:       p.failJobMessage(),
	}
	if !p.spec.Suspend {
		limits.ActiveDeadlineSeconds = p.spec.ActiveDeadlineSeconds
		tally.Elapsed = p.now.Sub(p.status.StartTime)
	}
	if p.indexed {
		if m := p.spec.SuccessPolicy.Match(p.succeeded, p.completions()); m.Rule >= 0 {
			tally.SuccessPolicy = successMessage(m.Rule)
		}
	}
	reason, message := limits.Verdict(tally)
	switch reason {
	case JobReasonPodFailurePolicy, JobReasonBackoffLimitExceeded, JobReasonDeadlineExceeded:
	default: // the deadline was looked at and lies ahead
		if limits.ActiveDeadlineSeconds != nil {
			p.requeue(until(seconds(*limits.ActiveDeadlineSeconds), tally.Elapsed), RequeueDeadline)
		}
	}
	if reason == "" {
		return nil
	}
	return &end{reason: reason, message: message, success: reason.Succeeded()}
}

// until is what is left of a limit that is not reached, at least a moment. A
// start that lies ahead makes it longer, up to the longest there is.
func until(limit, elapsed time.Duration) time.Duration {
	if elapsed < 0 && limit > math.MaxInt64+elapsed {
		return math.MaxInt64
	}
	return max(limit-elapsed, 1)
}

// failJobMessage is the message for the pod with the smallest index, then UID,
// that a FailJob rule matches; "" if there is none.
func (p *pass) failJobMessage() string {
	if p.spec.PodFailurePolicy == nil {
		return ""
	}
	for _, v := range p.pods {
		if v.failed {
			if message := p.match(v).Message(v.Pod); message != "" {
				return message
			}
		}
	}
	return ""
}

// restarts counts the restarts in place of unfinished pods, which count as
// failures under OnFailure.
func (p *pass) restarts() int {
	if p.spec.Template.Spec.RestartPolicy != RestartPolicyOnFailure {
		return 0
	}
	sum := 0
	for _, v := range p.pods {
		if v.Status.Phase != PodRunning && v.Status.Phase != PodPending {
			continue
		}
		for _, statuses := range [2][]ContainerStatus{v.Status.InitContainerStatuses, v.Status.ContainerStatuses} {
			for i := range statuses {
				sum = addCounts(sum, max(int(statuses[i].RestartCount), 0))
			}
		}
	}
	return sum
}

// markSuspended keeps the Suspended condition. A Job that was never suspended
// has none; a resumed one starts over its deadline.
func (p *pass) markSuspended() {
	if p.spec.Suspend {
		if p.status.setCondition(JobSuspended, ConditionTrue, JobReasonSuspended, "Job suspended", p.now) {
			p.flush = true
			p.status.StartTime = time.Time{}
		}
		return
	}
	if p.status.setCondition(JobSuspended, ConditionFalse, JobReasonResumed, "Job resumed", p.now) {
		p.flush = true
		p.status.StartTime = p.now
	}
}
