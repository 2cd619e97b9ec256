package jobpolicy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/restartkit/restart/internal/seconds"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/internal/vectors/shape"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// passVector is the input of one pass.
type passVector shape.Pass

// excluded returns why a pass is not compared. Passes that Plan decides differently
// have no recorded outcome.
func (v *passVector) excluded(pods []*batch.Pod) string {
	if reason := (*shape.Pass)(v).FailingEffects(); reason != "" {
		return reason
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
		if !podActive(p) && p.FinishTime().After(shape.PassNow) {
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
	if spec.ActiveDeadlineSeconds != nil && *spec.ActiveDeadlineSeconds > seconds.Max {
		return "a deadline that a Duration does not hold, which is never reached"
	}
	if (*shape.Pass)(v).ExpectationsPending() {
		settled, err := Engine{}.Plan(Input{Job: &batch.Job{Spec: spec, Status: v.Status.Batch(shape.PassNow)}, Pods: pods, Now: shape.PassNow})
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
func (v *passVector) endsTwice(pods []*batch.Pod) string {
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
		failed := p.Status.Phase == batch.PodFailed || podTerminating(p) && spec.PodReplacementPolicy != batch.PodReplacementFailed
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
		Input shape.Pass `json:"input"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	v := &in.Input
	pods, err := v.BatchPods()
	if err != nil {
		return nil, err
	}
	if reason := (*passVector)(v).excluded(pods); reason != "" {
		c.Exclude(reason)
	}
	job := v.Job()
	input := Input{Job: job, Pods: pods, Now: shape.PassNow, ExpectationsPending: v.ExpectationsPending()}
	input.State.Failures, input.State.LastFailure = v.Streak()
	plan, err := Engine{}.Plan(input)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	result := shape.PassResult{
		Deletes: len(plan.Delete), Patches: len(plan.Release), RequeueAfter: plan.RequeueAfter,
		Before: &job.Status, Statuses: []*batch.JobStatus{plan.InterimStatus, plan.FinalStatus},
	}
	for _, n := range plan.Create {
		result.Created = append(result.Created, n.Annotations)
	}
	for _, d := range plan.Delete {
		if d.Untrack {
			result.Patches++
		}
	}
	return result.Outcome(), nil
}

// passOutcome reduces a recorded pass to the content of a plan: the first of several
// times to sync again, and the pod with the smallest index of several that match
// FailJob.
func passOutcome(c *vectors.Case, want any) (any, error) {
	var in struct {
		Input shape.Pass `json:"input"`
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
	pods, err := in.Input.BatchPods()
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
