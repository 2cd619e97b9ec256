package shape

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// PassNow is the base of the times of one pass over a Job.
var PassNow = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// Pass is the input of one pass over a Job.
type Pass struct {
	Name    string    `json:"name"`
	Spec    Spec      `json:"spec"`
	Status  JobStatus `json:"status"`
	Pods    []*Pod    `json:"pods"`
	Backoff *struct {
		Failures    int   `json:"failures"`
		LastFailure *Time `json:"last_failure"`
	} `json:"backoff"`
	Expectations *struct {
		Creates int `json:"creates"`
		Deletes int `json:"deletes"`
	} `json:"expectations"`
	Deleting        bool `json:"deleting"`
	PodControlError bool `json:"pod_control_error"`
	CreateLimit     *int `json:"create_limit"`
	SharedEmptyUID  bool `json:"shared_empty_uid"`
}

func (v *Pass) UnmarshalJSON(data []byte) error {
	type plain Pass
	return StrictJSON(data, (*plain)(v))
}

// FailingEffects says why passes whose effects fail are not compared, or is "".
func (v *Pass) FailingEffects() string {
	if v.PodControlError || v.CreateLimit != nil {
		return "effects that fail are the caller's"
	}
	return ""
}

// Job returns the Job before the pass.
func (v *Pass) Job() *batch.Job {
	job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: v.Name, Namespace: "default"}, Spec: v.Spec.Batch(), Status: v.Status.Batch(PassNow)}
	if v.Deleting {
		job.DeletionTimestamp = PassNow
	}
	return job
}

// BatchPods returns the Job's pods before the pass.
func (v *Pass) BatchPods() ([]*batch.Pod, error) {
	pods, err := Pods(v.Pods, PassNow)
	for _, pod := range Present(pods) {
		if pod.Namespace == "" {
			pod.Namespace = "default"
		}
	}
	return pods, err
}

// Streak returns the failures in a row before the pass, and the time of the last one.
func (v *Pass) Streak() (failures int, last time.Time) {
	if v.Backoff == nil {
		return 0, time.Time{}
	}
	return v.Backoff.Failures, v.Backoff.LastFailure.At(PassNow)
}

// ExpectationsPending reports whether earlier creations or deletions are outstanding.
func (v *Pass) ExpectationsPending() bool {
	return v.Expectations != nil && v.Expectations.Creates+v.Expectations.Deletes > 0
}

// PassResult is what one pass of a Job controller did to the Job and its pods.
type PassResult struct {
	Created      []map[string]string // annotations of the created pods
	Deletes      int
	Patches      int // removals of the tracking finalizer
	RequeueAfter time.Duration
	Before       *batch.JobStatus
	Statuses     []*batch.JobStatus // in the order of writing; nil ones are not written
}

// Outcome returns the result in the form of a wanted outcome.
func (r PassResult) Outcome() map[string]any {
	created := []map[string]any{}
	for _, annotations := range r.Created {
		pod := map[string]any{}
		for name, annotation := range map[string]string{
			"index":                  batch.JobCompletionIndexAnnotation,
			"index_failures":         batch.JobIndexFailureCountAnnotation,
			"index_ignored_failures": batch.JobIndexIgnoredFailureCountAnnotation,
		} {
			if text, ok := annotations[annotation]; ok {
				pod[name] = text
			}
		}
		created = append(created, pod)
	}
	status, writes := r.Before, 0
	for _, s := range r.Statuses {
		if s != nil {
			status = s
			writes++
		}
	}
	return map[string]any{
		"error": nil, "creates": len(created), "deletes": r.Deletes, "patches": r.Patches, "created_indexes": created,
		"requeue_after_ms": r.RequeueAfter.Milliseconds(), "status_updates": writes, "status": StatusOutcome(status, PassNow),
	}
}

// JobStatus is a Job's status before a pass.
type JobStatus struct {
	Active           int32   `json:"active"`
	Ready            *int32  `json:"ready"`
	Terminating      *int32  `json:"terminating"`
	Succeeded        int32   `json:"succeeded"`
	Failed           int32   `json:"failed"`
	CompletedIndexes string  `json:"completed_indexes"`
	FailedIndexes    *string `json:"failed_indexes"`
	StartAt          *Time   `json:"start_at"`
	CompletionAt     *Time   `json:"completion_at"`
	Conditions       []struct {
		Type    batch.JobConditionType `json:"type"`
		Status  batch.ConditionStatus  `json:"status"`
		Reason  batch.Reason           `json:"reason"`
		Message string                 `json:"message"`
	} `json:"conditions"`
	Uncounted *struct {
		Succeeded []string `json:"succeeded"`
		Failed    []string `json:"failed"`
	} `json:"uncounted"`
}

func (v *JobStatus) UnmarshalJSON(data []byte) error {
	type plain JobStatus
	return StrictJSON(data, (*plain)(v))
}

// Batch converts the status, with times relative to now.
func (v *JobStatus) Batch(now time.Time) batch.JobStatus {
	s := batch.JobStatus{
		Active: v.Active, Ready: v.Ready, Terminating: v.Terminating, Succeeded: v.Succeeded, Failed: v.Failed,
		CompletedIndexes: v.CompletedIndexes, FailedIndexes: v.FailedIndexes,
		StartTime: v.StartAt.At(now), CompletionTime: v.CompletionAt.At(now),
	}
	for _, c := range v.Conditions {
		s.Conditions = append(s.Conditions, batch.JobCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
	}
	if v.Uncounted != nil {
		s.UncountedTerminatedPods = &batch.UncountedTerminatedPods{Succeeded: v.Uncounted.Succeeded, Failed: v.Uncounted.Failed}
	}
	return s
}

// StatusOutcome returns a status in the form in which the vector files record the wanted
// one, with times in milliseconds relative to now.
func StatusOutcome(s *batch.JobStatus, now time.Time) map[string]any {
	ms := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return t.Sub(now).Milliseconds()
	}
	conditions := []map[string]any{}
	for _, c := range s.Conditions {
		conditions = append(conditions, map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message})
	}
	var u batch.UncountedTerminatedPods
	if s.UncountedTerminatedPods != nil {
		u = *s.UncountedTerminatedPods
	}
	return map[string]any{
		"active": s.Active, "ready": s.Ready, "terminating": s.Terminating, "succeeded": s.Succeeded, "failed": s.Failed,
		"completed_indexes": s.CompletedIndexes, "failed_indexes": s.FailedIndexes,
		"start_at": ms(s.StartTime), "completion_at": ms(s.CompletionTime), "conditions": conditions,
		"uncounted": map[string]any{"succeeded": append([]string{}, u.Succeeded...), "failed": append([]string{}, u.Failed...)},
	}
}
