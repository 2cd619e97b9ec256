package jobpolicy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/conformance/vectors"
	"github.com/restartkit/restart/conformance/vectors/shape"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// jobSyncNow is the base of the times of one pass.
var jobSyncNow = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

type vectorJobStatus struct {
	Active           int32       `json:"active"`
	Ready            *int32      `json:"ready"`
	Terminating      *int32      `json:"terminating"`
	Succeeded        int32       `json:"succeeded"`
	Failed           int32       `json:"failed"`
	CompletedIndexes string      `json:"completed_indexes"`
	FailedIndexes    *string     `json:"failed_indexes"`
	StartAt          *shape.Time `json:"start_at"`
	CompletionAt     *shape.Time `json:"completion_at"`
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

func (v *vectorJobStatus) UnmarshalJSON(data []byte) error {
	type plain vectorJobStatus
	return shape.StrictJSON(data, (*plain)(v))
}

func (v *vectorJobStatus) status(now time.Time) batch.JobStatus {
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

// vectorStatus is a status in the shape of the vectors.
func vectorStatus(s *batch.JobStatus, now time.Time) map[string]any {
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
	u := cloneUncounted(s.UncountedTerminatedPods)
	return map[string]any{
		"active": s.Active, "ready": s.Ready, "terminating": s.Terminating, "succeeded": s.Succeeded, "failed": s.Failed,
		"completed_indexes": s.CompletedIndexes, "failed_indexes": s.FailedIndexes,
		"start_at": ms(s.StartTime), "completion_at": ms(s.CompletionTime), "conditions": conditions,
		"uncounted": map[string]any{"succeeded": append([]string{}, u.Succeeded...), "failed": append([]string{}, u.Failed...)},
	}
}

type jobSyncInput struct {
	Name    string          `json:"name"`
	Spec    shape.Spec      `json:"spec"`
	Status  vectorJobStatus `json:"status"`
	Pods    []*shape.Pod    `json:"pods"`
	Backoff *struct {
		Failures    int         `json:"failures"`
		LastFailure *shape.Time `json:"last_failure"`
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

func (v *jobSyncInput) UnmarshalJSON(data []byte) error {
	type plain jobSyncInput
	return shape.StrictJSON(data, (*plain)(v))
}

func (v *jobSyncInput) pods(now time.Time) ([]*batch.Pod, error) {
	pods, err := shape.Pods(v.Pods, now)
	for _, pod := range shape.Present(pods) {
		if pod.Namespace == "" {
			pod.Namespace = "default"
		}
	}
	return pods, err
}

// excluded returns why a pass is not compared. Passes that Plan decides differently
// have no recorded outcome.
func (v *jobSyncInput) excluded(pods []*batch.Pod) string {
	if v.PodControlError || v.CreateLimit != nil {
		return "effects that fail are the caller's"
	}
	pods = shape.Present(pods)
	policy := v.Spec.PodFailurePolicy.Batch()
	for _, pod := range pods {
		if openPatternDecides(policy, pod) {
			return "a condition pattern without status, which the API server would have set to True"
		}
	}
	n := shape.Value(v.Spec.Completions)
	completed, failed := v.Status.CompletedIndexes, shape.Value(v.Status.FailedIndexes)
	if kubernetesReads(completed, n) != setReads(completed, n) || kubernetesReads(failed, n) != setReads(failed, n) {
		return misread
	}
	if overlaps(completed, failed, n) {
		return "a status with an index both completed and failed, which the API server refuses"
	}
	if reason := v.endsTwice(pods); reason != "" {
		return reason
	}
	if u := v.Status.Uncounted; u != nil && slices.ContainsFunc(pods, otherEnd(u.Succeeded, u.Failed)) {
		return recordedOtherwise
	}
	spec := v.Spec.Batch()
	for _, p := range pods {
		if !podActive(p) && p.FinishTime().After(jobSyncNow) {
			return "an end in the future, which counts as now"
		}
		if failuresOf(p) > maxCount-2-ignoredOf(p) {
			return "failure counts that 32 bits do not hold, which saturate"
		}
		for _, q := range pods {
			if indexOf(p) == indexOf(q) && keptByOrder(p, q) {
				return keptEither
			}
		}
	}
	if spec.ActiveDeadlineSeconds != nil && *spec.ActiveDeadlineSeconds > mostSeconds {
		return "a deadline that a Duration does not hold, which is never reached"
	}
	if e := v.Expectations; e != nil && e.Creates+e.Deletes > 0 {
		settled, err := Engine{}.Plan(Input{Job: &batch.Job{Spec: spec, Status: v.Status.status(jobSyncNow)}, Pods: pods, Now: jobSyncNow})
		if err == nil && settled.MetricDeltas.Finished == batch.JobReasonCompletionsReached {
			return "completions that are reached while pods may be on their way, which do not end the Job yet"
		}
	}
	return ""
}

const recordedOtherwise = "a pod that was recorded with another end than it shows: Kubernetes counts both, ours stays with the recorded one"

// otherEnd returns a function that reports whether a pod's end differs from the
// recorded one.
func otherEnd(succeeded, failed []string) func(*batch.Pod) bool {
	return func(p *batch.Pod) bool {
		return p.Tracked() && (p.Status.Phase == batch.PodSucceeded && slices.Contains(failed, p.UID) || p.Status.Phase == batch.PodFailed && slices.Contains(succeeded, p.UID))
	}
}

const keptEither = "failed pods of one index of which one has more failures and the other the later end: Kubernetes keeps the one it lists first"

// keptByOrder reports whether Kubernetes keeps the first listed of two failed pods.
func keptByOrder(p, q *batch.Pod) bool {
	return p.Status.Phase == batch.PodFailed && q.Status.Phase == batch.PodFailed &&
		addCounts(failuresOf(p), ignoredOf(p)) > addCounts(failuresOf(q), ignoredOf(q)) && p.FinishTime().Before(q.FinishTime())
}

// endsTwice reports whether an index would both succeed and fail.
func (v *jobSyncInput) endsTwice(pods []*batch.Pod) string {
	if v.Spec.BackoffLimitPerIndex == nil || shape.Value(v.Spec.Mode) != batch.IndexedCompletion {
		return ""
	}
	spec := v.Spec.Batch()
	n := int(shape.Value(v.Spec.Completions))
	has := func(text string, i int) bool {
		return slices.ContainsFunc(readIndexesAsSet(text, n), func(r vectorInterval) bool { return r[0] <= i && i <= r[1] })
	}
	succeeds, fails := map[int]bool{}, map[int]bool{}
	for _, p := range pods {
		i := indexOf(p)
		if i < 0 || i >= n || len(p.Finalizers) == 0 {
			continue
		}
		failed := p.Status.Phase == batch.PodFailed || podTerminating(p) && !replaceOnlyFailed(&spec)
		succeeds[i] = succeeds[i] || p.Status.Phase == batch.PodSucceeded
		fails[i] = fails[i] || failed && MatchPod(spec.PodFailurePolicy, p).indexFailedAfter(failuresOf(p), spec.BackoffLimitPerIndex)
	}
	for i := range n {
		s, f := succeeds[i] || has(v.Status.CompletedIndexes, i), fails[i] || has(shape.Value(v.Status.FailedIndexes), i)
		if s && f && (succeeds[i] || fails[i]) {
			return "an index that would both succeed and fail, of which ours ends once"
		}
		if len(succeeds)+len(fails) == 0 {
			break
		}
	}
	return ""
}

// jobSyncVector: one whole pass over a Job.
func jobSyncVector(c *vectors.Case) (any, error) {
	var in struct {
		Input jobSyncInput `json:"input"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	v := in.Input
	now := jobSyncNow
	pods, err := v.pods(now)
	if err != nil {
		return nil, err
	}
	if reason := v.excluded(pods); reason != "" {
		c.Exclude(reason)
	}
	job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: v.Name, Namespace: "default"}, Spec: v.Spec.Batch(), Status: v.Status.status(now)}
	if v.Deleting {
		job.DeletionTimestamp = now
	}
	input := Input{Job: job, Pods: pods, Now: now}
	if e := v.Expectations; e != nil {
		input.ExpectationsPending = e.Creates > 0 || e.Deletes > 0
	}
	if v.Backoff != nil {
		input.State = State{Failures: v.Backoff.Failures, LastFailure: v.Backoff.LastFailure.At(now)}
	}
	plan, err := Engine{}.Plan(input)
	got := map[string]any{"error": nil}
	if err != nil {
		got["error"] = err.Error()
		return got, nil
	}

	created := []map[string]any{}
	for _, n := range plan.Create {
		pod := map[string]any{}
		for name, annotation := range map[string]string{
			"index":                  batch.JobCompletionIndexAnnotation,
			"index_failures":         batch.JobIndexFailureCountAnnotation,
			"index_ignored_failures": batch.JobIndexIgnoredFailureCountAnnotation,
		} {
			if text, ok := n.Annotations[annotation]; ok {
				pod[name] = text
			}
		}
		created = append(created, pod)
	}
	patches, writes := len(plan.Release), 0
	for _, d := range plan.Delete {
		if d.Untrack {
			patches++
		}
	}
	status := &job.Status
	for _, s := range []*batch.JobStatus{plan.InterimStatus, plan.FinalStatus} {
		if s != nil {
			status = s
			writes++
		}
	}
	got["creates"], got["deletes"], got["patches"] = len(plan.Create), len(plan.Delete), patches
	got["created_indexes"] = created
	got["requeue_after_ms"] = plan.RequeueAfter.Milliseconds()
	got["status_updates"] = writes
	got["status"] = vectorStatus(status, now)
	return got, nil
}

// passOutcome reduces a recorded pass to the content of a plan: the first of several
// times to sync again, and the pod with the smallest index of several that match
// FailJob.
func passOutcome(c *vectors.Case, want any) (any, error) {
	var in struct {
		Input jobSyncInput `json:"input"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	own, err := vectors.Tree([]byte(vectors.Text(want))) // what is rewritten is a copy
	fields, ok := own.(map[string]any)
	if err != nil || !ok {
		return want, err
	}
	if list, ok := fields["requeue_after_ms"].([]any); ok {
		first, err := soonest(list)
		if err != nil {
			return nil, err
		}
		fields["requeue_after_ms"] = first
	}
	pods, err := in.Input.pods(jobSyncNow)
	if err != nil {
		return nil, err
	}
	spec := in.Input.Spec.Batch()
	nameFirst(fields["status"], failJobMessages(&spec, pods))
	return fields, nil
}

func soonest(list []any) (int64, error) {
	first := int64(0)
	for i, n := range list {
		number, ok := n.(json.Number)
		ms, err := number.Int64()
		switch {
		case !ok || err != nil:
			return 0, fmt.Errorf("requeue_after_ms: %v: %w", n, err)
		case slices.Contains(list[:i], n):
			return 0, fmt.Errorf("requeue_after_ms: %v twice", n)
		}
		if i == 0 || ms < first {
			first = ms
		}
	}
	return first, nil
}

// failJobMessages are the messages for ended pods that match FailJob, the one
// with the smallest index first, then the smallest UID.
func failJobMessages(spec *batch.JobSpec, pods []*batch.Pod) (messages []string) {
	index := func(p *batch.Pod) int {
		if spec.CompletionMode != batch.IndexedCompletion {
			return -1
		}
		return indexOf(p)
	}
	pods = shape.Present(pods)
	slices.SortStableFunc(pods, func(a, b *batch.Pod) int {
		return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(a.UID, b.UID))
	})
	for _, p := range pods {
		if text := MatchPod(spec.PodFailurePolicy, p).Message(p); p.Status.Phase == batch.PodFailed && text != "" {
			messages = append(messages, text)
		}
	}
	return messages
}

// nameFirst replaces any of these messages in a wanted status by the first.
func nameFirst(status any, messages []string) {
	fields, _ := status.(map[string]any)
	conditions, _ := fields["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		text, _ := condition["message"].(string)
		if condition["reason"] == string(batch.JobReasonPodFailurePolicy) && slices.Contains(messages, text) {
			condition["message"] = messages[0]
		}
	}
}
