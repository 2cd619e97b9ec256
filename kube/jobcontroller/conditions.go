package jobcontroller

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// jobEvent is an Event to write about a Job.
type jobEvent struct {
	kind    string // Normal or Warning
	reason  string
	message string
}

// conditionEvents returns the Events for changed conditions of a Job, as Kubernetes'
// own controller writes them.
func conditionEvents(before []batchv1.JobCondition, job *batchv1.Job) (events []jobEvent) {
	add := func(kind, reason, message string) { events = append(events, jobEvent{kind, reason, message}) }
	for _, c := range job.Status.Conditions {
		old := conditionOf(before, c.Type)
		if old == nil && c.Status != corev1.ConditionTrue || old != nil && old.Status == c.Status {
			continue
		}
		holds := c.Status == corev1.ConditionTrue
		switch {
		case c.Type == batchv1.JobSuspended && holds:
			add(corev1.EventTypeNormal, "Suspended", "Job suspended")
		case c.Type == batchv1.JobSuspended:
			add(corev1.EventTypeNormal, "Resumed", "Job resumed")
		case c.Type == batchv1.JobComplete && holds:
			if n := job.Spec.Completions; n != nil && job.Status.Succeeded > *n {
				add(corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
			}
			add(corev1.EventTypeNormal, "Completed", "Job completed")
		case c.Type == batchv1.JobFailed && holds:
			add(corev1.EventTypeWarning, c.Reason, c.Message)
		}
	}
	return events
}

func conditionOf(conditions []batchv1.JobCondition, t batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(conditions, func(c batchv1.JobCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// finished reports whether the Job has finished.
func finished(job *batchv1.Job) bool {
	for _, t := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if c := conditionOf(job.Status.Conditions, t); c != nil && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// indexed reports whether the Job has completion indexes.
func indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}
