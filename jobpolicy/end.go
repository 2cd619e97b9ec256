package jobpolicy

import (
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// jobEnd is how the Job ends. It passes through two conditions: a target
// (FailureTarget, SuccessCriteriaMet) as soon as it is decided, and the final one
// (Failed, Complete) when every pod has ended and is counted.
type jobEnd struct {
	reason   batch.Reason
	message  string
	success  bool
	standing bool // an earlier plan decided it
}

func (e *jobEnd) target() batch.JobConditionType {
	if e.success {
		return batch.JobSuccessCriteriaMet
	}
	return batch.JobFailureTarget
}

func (e *jobEnd) final() batch.JobConditionType {
	if e.success {
		return batch.JobComplete
	}
	return batch.JobFailed
}

// newEnd is the end for a Verdict, nil if the Job goes on.
func newEnd(reason batch.Reason, message string) *jobEnd {
	if reason == "" {
		return nil
	}
	return &jobEnd{reason: reason, message: message, success: reason.Succeeded()}
}

// standing returns the end that an earlier plan decided, nil if none did. It is
// not reconsidered.
func (v *view) standing() *jobEnd {
	for _, e := range [...]*jobEnd{{success: true, standing: true}, {standing: true}} {
		for _, c := range v.in.Job.Status.Conditions {
			if c.Type == e.target() && c.Status == batch.ConditionTrue {
				e.reason, e.message = c.Reason, c.Message
				return e
			}
		}
	}
	return nil
}

// verdict returns the end that the limits decide on what is seen, nil if the Job
// goes on, and when to look at the deadline. Completions are left to completed.
func (v *view) verdict() (*jobEnd, requeue) {
	limits := EndLimits{BackoffLimit: v.spec.BackoffLimit, Completions: v.spec.Completions, MaxFailedIndexes: v.spec.MaxFailedIndexes}
	tally := Progress{
		FailJob:       v.failJobMessage(),
		Failed:        v.failedPods,
		Restarts:      v.restarts(),
		Succeeded:     v.succeededPods,
		FailedIndexes: v.failed.Len(),
		Active:        1, // so that the Job is not complete
	}
	if !v.spec.Suspend {
		limits.ActiveDeadlineSeconds = v.spec.ActiveDeadlineSeconds
		tally.Elapsed = v.in.Now.Sub(v.startTime)
	}
	if v.indexed {
		if m := MatchSuccess(v.spec.SuccessPolicy, v.succeeded, v.completions()); m.Rule >= 0 {
			tally.SuccessPolicy = successMessage(m.Rule)
		}
	}
	reason, message := limits.Verdict(tally)
	var atDeadline requeue
	switch reason {
	case batch.JobReasonPodFailurePolicy, batch.JobReasonBackoffLimitExceeded, batch.JobReasonDeadlineExceeded:
	default: // the deadline was looked at and lies ahead
		if limits.ActiveDeadlineSeconds != nil {
			atDeadline = requeue{until(batch.Seconds(*limits.ActiveDeadlineSeconds), tally.Elapsed), RequeueDeadline}
		}
	}
	e := newEnd(reason, message)
	if reason == batch.JobReasonPodFailurePolicy && v.engine.RuleInReason {
		e.reason = v.failJobReason()
	}
	return e, atDeadline
}

// completed returns the end of a Job with enough successes and no active pod left,
// nil if it goes on.
func (v *view) completed(active int) *jobEnd {
	return newEnd(EndLimits{Completions: v.spec.Completions}.Verdict(Progress{Succeeded: v.succeededPods, Active: active}))
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
func (v *view) failJobMessage() string {
	for _, p := range v.pods {
		if message := p.match.Message(p.Pod); message != "" {
			return message
		}
	}
	return ""
}

// failJobReason is the reason that goes with failJobMessage.
func (v *view) failJobReason() batch.Reason {
	for _, p := range v.pods {
		if p.match.Message(p.Pod) != "" {
			return v.spec.PodFailurePolicy.Rules[p.match.Rule].Reason(p.match.Rule)
		}
	}
	return batch.JobReasonPodFailurePolicy
}

// countedReason is the reason in a metric, which has no label for each rule.
func countedReason(r batch.Reason) batch.Reason {
	if strings.HasPrefix(string(r), string(batch.JobReasonPodFailurePolicy)+"_") {
		return batch.JobReasonPodFailurePolicy
	}
	return r
}

// restarts counts the restarts in place of unfinished pods, which count as
// failures under OnFailure.
func (v *view) restarts() int {
	if v.spec.Template.Spec.RestartPolicy != batch.RestartPolicyOnFailure {
		return 0
	}
	sum := 0
	for _, p := range v.pods {
		if p.Status.Phase != batch.PodRunning && p.Status.Phase != batch.PodPending {
			continue
		}
		for _, statuses := range [2][]batch.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
			for i := range statuses {
				sum = addCounts(sum, max(int(statuses[i].RestartCount), 0))
			}
		}
	}
	return sum
}
