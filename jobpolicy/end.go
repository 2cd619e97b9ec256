package jobpolicy

import (
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/internal/seconds"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// EndLimits are the limits at which a Job ends.
type EndLimits struct {
	Completions           *int32 // successes that complete the Job once no pod is active; nil means one
	BackoffLimit          *int32 // counted failures tolerated; nil means all
	MaxFailedIndexes      *int32 // failed indexes tolerated; nil means all
	ActiveDeadlineSeconds *int64 // seconds after the start at which the Job fails; nil means never
}

// Progress is a Job's progress, for EndLimits.Verdict.
type Progress struct {
	FailJob string // Match.Message of a pod that matched a FailJob rule, or ""
	Failed  int    // counted failures

	// Restarts is the number of container restarts in unfinished pods under OnFailure,
	// otherwise 0. As in Kubernetes, the Job already fails when Restarts equals a
	// BackoffLimit above 0.
	Restarts int

	Elapsed       time.Duration // since the start
	Succeeded     int           // succeeded pods, or indexes of an Indexed Job
	FailedIndexes int           // 0 without a limit per index
	SuccessPolicy string        // message of the success policy rule met, or ""
	Active        int           // pods neither finished nor being deleted
}

// Verdict returns why the Job ends now and the message of its condition, both "" if it
// goes on. The reasons take precedence in this order, as in Kubernetes:
// PodFailurePolicy, BackoffLimitExceeded, DeadlineExceeded, MaxFailedIndexesExceeded,
// FailedIndexes, SuccessPolicy, CompletionsReached. The last two are successes.
func (l EndLimits) Verdict(p Progress) (reason batch.Reason, message string) {
	switch {
	case p.FailJob != "":
		return batch.JobReasonPodFailurePolicy, p.FailJob
	case l.BackoffLimit != nil && p.Failed > int(*l.BackoffLimit),
		l.BackoffLimit != nil && p.Restarts > 0 && p.Restarts >= int(*l.BackoffLimit):
		return batch.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	case l.deadlinePassed(p.Elapsed):
		return batch.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"
	case l.MaxFailedIndexes != nil && p.FailedIndexes > int(*l.MaxFailedIndexes):
		return batch.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes"
	case l.Completions != nil && p.FailedIndexes > 0 && p.FailedIndexes >= int(*l.Completions)-p.Succeeded:
		return batch.JobReasonFailedIndexes, "Job has failed indexes"
	case p.SuccessPolicy != "":
		return batch.JobReasonSuccessPolicy, p.SuccessPolicy
	case p.Active == 0 && l.completed(p.Succeeded):
		return batch.JobReasonCompletionsReached, "Reached expected number of succeeded pods"
	}
	return "", ""
}

// deadlinePassed reports whether the deadline has passed. A deadline longer than a
// Duration never does.
func (l EndLimits) deadlinePassed(elapsed time.Duration) bool {
	deadline := l.ActiveDeadlineSeconds
	return deadline != nil && *deadline <= seconds.Max && elapsed >= seconds.Duration(*deadline)
}

// completed reports whether enough pods or indexes have succeeded.
func (l EndLimits) completed(succeeded int) bool {
	if l.Completions == nil {
		return succeeded > 0
	}
	return succeeded >= int(*l.Completions)
}

// jobEnd is how the Job ends. A Job gets two conditions on its way: its target condition
// (FailureTarget or SuccessCriteriaMet) when the end is decided, and its final condition
// (Failed or Complete) when every pod has ended and is counted.
type jobEnd struct {
	reason  batch.Reason
	message string
	success bool
	decided bool // by an earlier plan
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

// decidedEnd returns the end decided by an earlier plan, nil if there is none. No later
// failure or success changes it.
func (v *view) decidedEnd() *jobEnd {
	for _, success := range []bool{true, false} {
		end := &jobEnd{success: success, decided: true}
		for _, c := range v.in.Job.Status.Conditions {
			if c.Type == end.target() && c.Status == batch.ConditionTrue {
				end.reason, end.message = c.Reason, c.Message
				return end
			}
		}
	}
	return nil
}

// limitReached returns the end that the limits, the FailJob rules and the success policy
// require, or nil if there is none, and when to plan again because of the deadline. It
// does not judge completions; see completed.
func (v *view) limitReached() (*jobEnd, requeue) {
	limits := EndLimits{BackoffLimit: v.spec.BackoffLimit, Completions: v.spec.Completions, MaxFailedIndexes: v.spec.MaxFailedIndexes}
	failJob := v.failJobPod()
	progress := Progress{
		Failed:        v.failedPods,
		Restarts:      v.restarts(),
		Succeeded:     v.succeededPods,
		FailedIndexes: v.failed.Len(),
		Active:        1, // keeps the Job from completing
	}
	if failJob != nil {
		progress.FailJob = failJob.match.Message(failJob.Pod)
	}
	if !v.spec.Suspend {
		limits.ActiveDeadlineSeconds = v.spec.ActiveDeadlineSeconds
		progress.Elapsed = v.in.Now.Sub(v.startTime)
	}
	if v.indexed {
		if rule := MatchSuccess(v.spec.SuccessPolicy, v.succeeded, v.completions()); rule >= 0 {
			progress.SuccessPolicy = successMessage(rule)
		}
	}
	reason, message := limits.Verdict(progress)
	var atDeadline requeue
	switch reason {
	case batch.JobReasonPodFailurePolicy, batch.JobReasonBackoffLimitExceeded, batch.JobReasonDeadlineExceeded:
	default: // the deadline was checked and has not passed
		if limits.ActiveDeadlineSeconds != nil {
			atDeadline = requeue{until(seconds.Duration(*limits.ActiveDeadlineSeconds), progress.Elapsed), RequeueDeadline}
		}
	}
	if reason == batch.JobReasonPodFailurePolicy && v.engine.RuleInReason {
		rule := failJob.match.Rule
		reason = v.spec.PodFailurePolicy.Rules[rule].Reason(rule)
	}
	return newEnd(reason, message), atDeadline
}

// completed returns the end of a Job with enough successes and no active pods, nil if
// it goes on.
func (v *view) completed(active int) *jobEnd {
	return newEnd(EndLimits{Completions: v.spec.Completions}.Verdict(Progress{Succeeded: v.succeededPods, Active: active}))
}

// until returns the time left until elapsed reaches limit, at least a nanosecond. If the
// start lies in the future, elapsed is negative, and the time left is longer than limit.
func until(limit, elapsed time.Duration) time.Duration {
	if elapsed < 0 && limit > math.MaxInt64+elapsed {
		return math.MaxInt64
	}
	return max(limit-elapsed, 1)
}

// failJobPod returns the pod with the smallest index, then UID, that matches a FailJob
// rule, nil if none does.
func (v *view) failJobPod() *podView {
	for _, p := range v.pods {
		if p.match.Action == batch.ActionFailJob {
			return p
		}
	}
	return nil
}

// reasonLabel returns the label of a metric for a reason. There is one label for all
// rules of a pod failure policy.
func reasonLabel(r batch.Reason) batch.Reason {
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
