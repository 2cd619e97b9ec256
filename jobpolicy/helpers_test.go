package jobpolicy_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

func pointerTo[T any](v T) *T { return &v }

// failureCount returns the failure count in a pod's annotation.
func failureCount(p *batch.Pod) int {
	n, _ := strconv.Atoi(p.Annotations[batch.JobIndexFailureCountAnnotation])
	return n
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// t0 is the noon of the stories.
var t0 = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// indexedJob has n indexes, all at once, and a limit per index.
func indexedJob(n, limit int32) *batch.Job {
	return &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "j", Namespace: "ns"}, Spec: batch.JobSpec{
		CompletionMode: batch.IndexedCompletion, Completions: &n, Parallelism: &n, BackoffLimitPerIndex: &limit,
	}}
}

// pod returns a tracked pod of an index that runs, or ended at an instant, depending on
// phase.
func pod(uid string, index int, phase batch.PodPhase, code int32, at time.Time) *batch.Pod {
	p := &batch.Pod{ObjectMeta: batch.ObjectMeta{
		Name: "j-" + uid, Namespace: "ns", UID: uid, Finalizers: []string{batch.JobTrackingFinalizer},
		Annotations: map[string]string{batch.JobCompletionIndexAnnotation: fmt.Sprint(index)},
	}}
	p.Status.Phase = phase
	if phase == batch.PodFailed || phase == batch.PodSucceeded {
		p.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "main", State: batch.ContainerState{
			Terminated: &batch.ContainerStateTerminated{ExitCode: code, FinishedAt: at},
		}}}
	}
	return p
}

func mustPlan(t *testing.T, e jobpolicy.Engine, in jobpolicy.Input) jobpolicy.Plan {
	t.Helper()
	plan, err := e.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// last returns the status after the plan.
func last(in jobpolicy.Input, plan jobpolicy.Plan) *batch.JobStatus {
	switch {
	case plan.FinalStatus != nil:
		return plan.FinalStatus
	case plan.InterimStatus != nil:
		return plan.InterimStatus
	}
	return &in.Job.Status
}

// plainJob wants n successes of any pods, all at once.
func plainJob(n int32) *batch.Job {
	return &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "j", Namespace: "ns"}, Spec: batch.JobSpec{
		Completions: &n, Parallelism: &n, BackoffLimit: pointerTo[int32](1 << 20),
	}}
}

func plainPods(n int, phase batch.PodPhase) (pods []*batch.Pod) {
	for i := range n {
		p := pod(fmt.Sprintf("%04d", i), 0, phase, 1, t0)
		p.Annotations = nil
		pods = append(pods, p)
	}
	return pods
}

// ignores7 is a policy that ignores exit code 7.
func ignores7() *batch.PodFailurePolicy {
	return &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{7}},
	}}}
}
