package jobpolicy

import (
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/internal/seconds"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// jobEnd is how the Job ends. A Job passes through two conditions, the target
// (FailureTarget, SuccessCriteriaMet) once its end is decided, and the final one
// (Failed, Complete) once every pod has ended and is counted.
type jobEnd struct {
	reason   batch.Reason
	message  string
	success  bool
	standing bool // decided by an earlier plan
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

// newEnd returns the end for a Verdict, nil if the Job goes on.
func newEnd(reason batch.Reason, message string) *jobEnd {
	if reason == "" {
		return nil
	}
	return &jobEnd{reason: reason, message: message, success: reason.Succeeded()}
}

// standing returns the end decided by an earlier plan, nil if none. It is final.
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

// verdict returns the end required by the limits, nil if the Job goes on, and when the
// deadline passes. It leaves completions to completed.
func (v *view) verdict() (*jobEnd, requeue) {
	limits := EndLimits{BackoffLimit: v.spec.BackoffLimit, Completions: v.spec.Completions, MaxFailedIndexes: v.spec.MaxFailedIndexes}
	tally := Progress{
		FailJob:       v.failJobMessage(),
		Failed:        v.failedPods,
		Restarts:      v.restarts(),
		Succeeded:     v.succeededPods,
		FailedIndexes: v.failed.Len(),
		Active:        1, // keeps the Job from completing
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
	default: // the deadline was checked and has not passed
		if limits.ActiveDeadlineSeconds != nil {
			atDeadline = requeue{until(seconds.Duration(*limits.ActiveDeadlineSeconds), tally.Elapsed), RequeueDeadline}
		}
	}
	e := newEnd(reason, message)
	if reason == batch.JobReasonPodFailurePolicy && v.engine.RuleInReason {
		e.reason = v.failJobReason()
	}
	return e, atDeadline
}

// completed returns the end of a Job with enough successes and no active pods, nil if
// it goes on.
func (v *view) completed(active int) *jobEnd {
	return newEnd(EndLimits{Completions: v.spec.Completions}.Verdict(Progress{Succeeded: v.succeededPods, Active: active}))
}

// until returns the time left before a limit, at least a nanosecond. A start in the
// future extends it, up to the longest Duration.
func until(limit, elapsed time.Duration) time.Duration {
	if elapsed < 0 && limit > math.MaxInt64+elapsed {
		return math.MaxInt64
	}
	return max(limit-elapsed, 1)
}

// failJobMessage returns the message for the pod with the smallest index, then UID,
// that matches a FailJob rule, "" if none does.
func (v *view) failJobMessage() string {
	for _, p := range v.pods {
		if message := p.match.Message(p.Pod); message != "" {
			return message
		}
	}
	return ""
}

// failJobReason returns the reason for the pod of failJobMessage.
func (v *view) failJobReason() batch.Reason {
	for _, p := range v.pods {
		if p.match.Message(p.Pod) != "" {
			return v.spec.PodFailurePolicy.Rules[p.match.Rule].Reason(p.match.Rule)
		}
	}
	return batch.JobReasonPodFailurePolicy
}

// countedReason returns the reason for a metric, which has no label for each rule.
func countedReason(r batch.Reason) batch.Reason {
	if strings.HasPrefix(string(r), string(batch.JobReasonPodFailurePolicy)+"_") {
		return batch.JobReasonPodFailurePolicy
	}
	return r
}

// restarts returns the number of restarts in place of unfinished pods, which count as
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
