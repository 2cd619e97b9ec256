package jobpolicy_test

// The tests of this package:
//
//   - promises_test.go, input_test.go: what the comments of Plan, Input and Plan promise
//   - match_test.go, end_test.go, delay_test.go, create_test.go, state_test.go and
//     untracked_test.go: one part of a plan each, MatchPod beside a slow model
//   - deviations_test.go: each deliberate difference from Kubernetes
//   - story_test.go, testdata: histories of Jobs, as the KEPs tell them
//   - vectors*_test.go, jobruns_test.go: recorded cases and whole Jobs of Kubernetes
//   - sim*_test.go: random Jobs with crashes, refusals and late news, and what must hold
//   - growth*_test.go: work in proportion to the input

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

// Plan names each invalid setting of the Engine.
func TestPlanRejectsInvalidEngine(t *testing.T) {
	for _, tt := range []struct {
		engine jobpolicy.Engine
		fields []string
	}{
		{jobpolicy.Engine{BaseDelay: -1}, []string{"BaseDelay"}},
		{jobpolicy.Engine{MaxDelay: -1}, []string{"MaxDelay"}},
		{jobpolicy.Engine{MinRequeue: -1}, []string{"MinRequeue"}},
		{jobpolicy.Engine{MaxPodsPerPlan: -1}, []string{"MaxPodsPerPlan"}},
		{jobpolicy.Engine{IgnoredDelay: jobpolicy.DelayLikeFailure - 1}, []string{"IgnoredDelay"}},
		{jobpolicy.Engine{IgnoredDelay: jobpolicy.NoDelay + 1}, []string{"IgnoredDelay"}},
		{jobpolicy.Engine{BaseDelay: -1, MaxPodsPerPlan: -1, IgnoredDelay: -1}, []string{"BaseDelay", "MaxPodsPerPlan", "IgnoredDelay"}},
	} {
		plan, err := tt.engine.Plan(jobpolicy.Input{Job: plainJob(1), Now: t0})
		var errs field.Errors
		if !errors.As(err, &errs) || !strings.HasPrefix(err.Error(), "jobpolicy: Plan: "+tt.fields[0]) || jobtest.Effects(plan) != 0 {
			t.Errorf("%+v: %v, %+v", tt.engine, err, plan)
		}
		var fields []string
		for _, e := range errs {
			fields = append(fields, e.Field)
		}
		if !slices.Equal(fields, tt.fields) || cmp.Diff(error(errs), tt.engine.Validate()) != "" {
			t.Errorf("%+v: %v, want mistakes in %v", tt.engine, err, tt.fields)
		}
	}
	for _, d := range []jobpolicy.IgnoredDelay{jobpolicy.DelayLikeFailure, jobpolicy.DelaySeparately, jobpolicy.NoDelay} {
		mustPlan(t, jobpolicy.Engine{BaseDelay: 1, MaxDelay: 1, MinRequeue: 1, MaxPodsPerPlan: 1, IgnoredDelay: d}, jobpolicy.Input{Job: plainJob(1), Now: t0})
	}
	if err := (jobpolicy.Engine{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

// The plan of a finished Job is empty, whatever its pods.
func TestFinishedJobHasEmptyPlan(t *testing.T) {
	for _, end := range []batch.JobConditionType{batch.JobComplete, batch.JobFailed} {
		job := plainJob(3)
		job.Status.Conditions = append(job.Status.Conditions, batch.JobCondition{Type: end, Status: batch.ConditionTrue})
		in := jobpolicy.Input{Job: job, Pods: append(plainPods(1, batch.PodFailed), plainPods(2, batch.PodRunning)[1]), State: jobpolicy.State{Failures: 2}, Now: t0}
		if d := cmp.Diff(jobpolicy.Plan{}, mustPlan(t, jobpolicy.Engine{}, in)); d != "" {
			t.Errorf("%s: %s", end, d)
		}
		job.Status.Conditions[0].Status = batch.ConditionFalse
		if plan := mustPlan(t, jobpolicy.Engine{}, in); plan.InterimStatus == nil {
			t.Errorf("not %s, and nothing is planned: %+v", end, plan)
		}
	}
}

// For a Job being deleted, Plan releases every ended pod, including the last failed one
// of an index, and does nothing else.
func TestDeletedJobOnlyReleasesPods(t *testing.T) {
	job := indexedJob(4, 3)
	pods := []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0), pod("b", 1, batch.PodSucceeded, 0, t0), pod("c", 2, batch.PodRunning, 0, t0)}
	for _, suspend := range []bool{false, true} {
		job.Spec.Suspend = suspend
		in := jobpolicy.Input{Job: job, Pods: pods, Now: t0.Add(time.Hour)}
		if plan := mustPlan(t, jobpolicy.Engine{}, in); len(plan.Create)+len(plan.Delete) == 0 {
			t.Errorf("suspended %v: nothing to do: %+v", suspend, plan)
		}
		job.DeletionTimestamp = t0
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		job.DeletionTimestamp = time.Time{}
		s := last(in, plan)
		if len(plan.Create)+len(plan.Delete) != 0 || len(s.Conditions) != 0 {
			t.Errorf("suspended %v: %+v", suspend, plan)
		}
		if len(plan.Release) != 3 || s.Failed != 1 || s.CompletedIndexes != "1" {
			t.Errorf("suspended %v: released %v, status %+v", suspend, plan.Release, s)
		}
	}
}

// Under OnFailure, restarts in place of all containers of unfinished pods count towards
// the limit.
func TestRestartsInPlaceCountUnderOnFailure(t *testing.T) {
	restarts := func(app, init int32) batch.PodStatus {
		return batch.PodStatus{ContainerStatuses: []batch.ContainerStatus{{RestartCount: app}}, InitContainerStatuses: []batch.ContainerStatus{{RestartCount: init}}}
	}
	for _, tt := range []struct {
		name    string
		policy  batch.RestartPolicy
		phase   batch.PodPhase
		status  batch.PodStatus
		reached bool
	}{
		{"all containers", batch.RestartPolicyOnFailure, batch.PodRunning, restarts(2, 1), true},
		{"a pending pod", batch.RestartPolicyOnFailure, batch.PodPending, restarts(0, 3), true},
		{"too few", batch.RestartPolicyOnFailure, batch.PodRunning, restarts(1, 1), false},
		{"under Never", batch.RestartPolicyNever, batch.PodRunning, restarts(3, 3), false},
		{"a pod that has ended", batch.RestartPolicyOnFailure, batch.PodFailed, restarts(3, 3), false},
		{"a pod that cannot be reached", batch.RestartPolicyOnFailure, batch.PodUnknown, restarts(3, 3), false},
		{"a number below 0", batch.RestartPolicyOnFailure, batch.PodRunning, restarts(-9, 3), true},
		{"numbers beyond 32 bits", batch.RestartPolicyOnFailure, batch.PodRunning, restarts(jobpolicy.MaxCount, jobpolicy.MaxCount), true},
	} {
		job := plainJob(2)
		job.Spec.BackoffLimit, job.Spec.Template.Spec.RestartPolicy = pointerTo[int32](3), tt.policy
		pods := plainPods(2, batch.PodRunning)
		pods[1].Status = tt.status
		pods[1].Status.Phase = tt.phase
		in := jobpolicy.Input{Job: job, Pods: pods, Now: t0.Add(time.Hour)}
		if reached := last(in, mustPlan(t, jobpolicy.Engine{}, in)).HasCondition(batch.JobFailureTarget); reached != tt.reached {
			t.Errorf("%s: the limit is reached: %v", tt.name, reached)
		}
	}
}

// A status records at most 500 pods at once. The Job's final condition follows once all
// pods are counted.
func TestJobFinishesOnceAllPodsAreCounted(t *testing.T) {
	job := plainJob(600)
	job.Spec.BackoffLimit = pointerTo[int32](0)
	in := jobpolicy.Input{Job: job, Pods: plainPods(501, batch.PodFailed), Now: t0}
	for pass, want := range []struct {
		released, failed int
		finished         bool
	}{{500, 500, false}, {1, 501, true}} {
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		s := last(in, plan)
		_, finished := s.Finished()
		if len(plan.Release) != want.released || int(s.Failed) != want.failed || finished != want.finished || !s.HasCondition(batch.JobFailureTarget) {
			t.Errorf("pass %d: released %d, failed %d, conditions %v", pass, len(plan.Release), s.Failed, s.Conditions)
		}
		in.Job.Status, in.State, in.Pods = *s, plan.State, in.Pods[len(plan.Release):]
	}
}

// Succeeded indexes count towards the same 500.
func TestPlanRecordsAtMost500Indexes(t *testing.T) {
	var pods []*batch.Pod
	for i, p := range plainPods(501, batch.PodSucceeded) {
		pods = append(pods, pod(p.UID, i, batch.PodSucceeded, 0, t0))
	}
	plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: indexedJob(501, 1), Pods: pods, Now: t0})
	if len(plan.Release) != 500 || last(jobpolicy.Input{}, plan).HasCondition(batch.JobComplete) {
		t.Errorf("%d released, status %+v", len(plan.Release), last(jobpolicy.Input{}, plan))
	}
}

// PerIndex is set for a Job with a limit per index.
func TestMetricDeltasSetPerIndex(t *testing.T) {
	global := indexedJob(3, 1)
	global.Spec.BackoffLimitPerIndex = nil
	for job, perIndex := range map[*batch.Job]bool{indexedJob(3, 1): true, global: false, plainJob(3): false} {
		c := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0)}, Now: t0}).MetricDeltas
		if c.PerIndex != perIndex || c.PodsSucceeded != 1 || c.IndexesSucceeded == 1 != (job.Spec.CompletionMode == batch.IndexedCompletion) {
			t.Errorf("completion mode %q, limit per index %v: %+v", job.Spec.CompletionMode, vectors.Text(job.Spec.BackoffLimitPerIndex), c)
		}
	}
}

// Limits of one plan.
func TestPlanKeepsItsBounds(t *testing.T) {
	const many = 600
	unwanted := plainJob(many)
	unwanted.Spec.Parallelism = pointerTo[int32](0)
	suspended := plainJob(many)
	suspended.Spec.Suspend = true
	for _, tt := range []struct {
		name                      string
		engine                    jobpolicy.Engine
		job                       *batch.Job
		pods                      []*batch.Pod
		create, deleted, released int
	}{
		{"creations", jobpolicy.Engine{}, plainJob(many), nil, 500, 0, 0},
		{"creations, bounded", jobpolicy.Engine{MaxPodsPerPlan: 7}, plainJob(many), nil, 7, 0, 0},
		{"surplus pods", jobpolicy.Engine{}, unwanted, plainPods(many, batch.PodRunning), 0, 500, 0},
		{"surplus pods, bounded", jobpolicy.Engine{MaxPodsPerPlan: 7}, unwanted, plainPods(many, batch.PodRunning), 0, 7, 0},
		{"pods of a suspended Job are not bounded", jobpolicy.Engine{}, suspended, plainPods(many, batch.PodRunning), 0, many, 0},
		{"failed pods in the status", jobpolicy.Engine{}, unwanted, plainPods(many, batch.PodFailed), 0, 0, 500},
		{"succeeded pods in the status", jobpolicy.Engine{}, unwanted, plainPods(501, batch.PodSucceeded), 0, 0, 500},
	} {
		plan := mustPlan(t, tt.engine, jobpolicy.Input{Job: tt.job, Pods: tt.pods, Now: t0.Add(time.Hour)})
		if len(plan.Create) != tt.create || len(plan.Delete) != tt.deleted || len(plan.Release) != tt.released {
			t.Errorf("%s: %d created, %d deleted, %d released; want %d, %d, %d",
				tt.name, len(plan.Create), len(plan.Delete), len(plan.Release), tt.create, tt.deleted, tt.released)
		}
	}
}

// A remaining delay below MinRequeue is rounded up.
func TestShortDelaysAreBatched(t *testing.T) {
	in := jobpolicy.Input{Job: plainJob(2), Pods: plainPods(1, batch.PodFailed), Now: t0.Add(9700 * time.Millisecond)}
	for _, tt := range []struct {
		engine jobpolicy.Engine
		want   time.Duration
	}{
		{jobpolicy.Engine{}, time.Second},
		{jobpolicy.Engine{MinRequeue: time.Millisecond}, 300 * time.Millisecond},
	} {
		if plan := mustPlan(t, tt.engine, in); plan.RequeueAfter != tt.want || len(plan.Create) != 0 {
			t.Errorf("%+v: again after %v with %d created, want %v and none", tt.engine, plan.RequeueAfter, len(plan.Create), tt.want)
		}
	}
}

// Each case has two active pods, of which the first has less progress.
func TestSurplusHasLeastProgress(t *testing.T) {
	ready := func(since time.Time) func(p *batch.Pod) {
		return func(p *batch.Pod) {
			p.Status.Conditions = []batch.PodCondition{{Type: batch.PodReady, Status: batch.ConditionTrue, LastTransitionTime: since}}
		}
	}
	restarts := func(counts ...int32) func(p *batch.Pod) {
		return func(p *batch.Pod) {
			for _, n := range counts {
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, batch.ContainerStatus{RestartCount: n})
			}
		}
	}
	// sidecars restarted so often, and another init container more often.
	sidecars := func(app int32, counts ...int32) func(p *batch.Pod) {
		return func(p *batch.Pod) {
			restarts(app)(p)
			withSidecars(p, len(counts))
			for i, n := range counts {
				p.Status.InitContainerStatuses[i].RestartCount = n
			}
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, batch.ContainerStatus{Name: "init", RestartCount: 7 - app})
		}
	}
	phase := func(phase batch.PodPhase) func(p *batch.Pod) { return func(p *batch.Pod) { p.Status.Phase = phase } }
	created := func(at time.Time) func(p *batch.Pod) { return func(p *batch.Pod) { p.CreationTimestamp = at } }
	for name, pair := range map[string][2]func(p *batch.Pod){
		"no node, although it runs":  {func(p *batch.Pod) {}, func(p *batch.Pod) { p.Spec.NodeName, p.Status.Phase = "n", batch.PodPending }},
		"pending before unknown":     {phase(batch.PodPending), phase(batch.PodUnknown)},
		"unknown before running":     {phase(batch.PodUnknown), phase(batch.PodRunning)},
		"not ready before ready":     {restarts(0), ready(t0)},
		"ready for a shorter time":   {ready(t0.Add(time.Second)), ready(t0)},
		"ready since nobody knows":   {ready(time.Time{}), ready(t0)},
		"more restarts":              {restarts(3), restarts(2)},
		"more of one container":      {restarts(0, 3, 0), restarts(2, 2, 2)},
		"more of a sidecar":          {sidecars(1, 0, 3, 0), sidecars(1, 2, 2, 2)},
		"more, sidecars aside":       {sidecars(2, 0), sidecars(1, 5)},
		"newer":                      {created(t0.Add(time.Second)), created(t0)},
		"created at an unknown time": {created(time.Time{}), created(t0)},
	} {
		for turn := range 2 { // the order of the UIDs does not decide
			pods := plainPods(2, batch.PodRunning)
			pair[0](pods[turn])
			pair[1](pods[1-turn])
			plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: plainJob(1), Pods: pods, Now: t0.Add(time.Hour)})
			if len(plan.Delete) != 1 || plan.Delete[0].UID != pods[turn].UID {
				t.Errorf("%s: deleted %v, want %s", name, plan.Delete, pods[turn].UID)
			}
		}
	}
}

// MetricDeltas.Handled excludes failures that no rule matches.
func TestUnmatchedFailureIsNotHandled(t *testing.T) {
	job := plainJob(2)
	job.Spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{9}},
	}}}
	if c := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: plainPods(1, batch.PodFailed), Now: t0}).MetricDeltas; len(c.Handled) != 0 || c.PodsFailed != 1 {
		t.Errorf("counts %+v", c)
	}
}

// Removed pods are counted even if nothing else has changed.
func TestReleasedPodsAreCountedWithoutAnotherChange(t *testing.T) {
	job := plainJob(3)
	job.Status = batch.JobStatus{
		StartTime: t0, Active: 1, Ready: pointerTo[int32](0), Terminating: pointerTo[int32](0),
		UncountedTerminatedPods: &batch.UncountedTerminatedPods{Failed: []string{"gone"}},
	}
	job.Spec.Parallelism = pointerTo[int32](1)
	plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", -1, batch.PodRunning, 0, t0)}, Now: t0})
	if plan.InterimStatus == nil || plan.InterimStatus.Failed != 1 || len(plan.InterimStatus.UncountedTerminatedPods.Failed) != 0 {
		t.Errorf("%+v", plan.InterimStatus)
	}
}

// RequeueAfter is the longest Duration for a deadline beyond it.
func TestRequeueForDistantDeadlineSaturates(t *testing.T) {
	for _, c := range []struct{ limit, elapsed, want time.Duration }{
		{math.MaxInt64, -time.Hour, math.MaxInt64},
		{math.MaxInt64 - time.Hour, -time.Hour, math.MaxInt64},
		{time.Minute, -time.Hour, time.Hour + time.Minute},
		{time.Minute, time.Second, 59 * time.Second},
		{time.Minute, time.Hour, 1},
	} {
		if got := jobpolicy.Until(c.limit, c.elapsed); got != c.want {
			t.Errorf("until(%v, %v) = %v, want %v", c.limit, c.elapsed, got, c.want)
		}
	}
}

// While replacements wait, the status counts the running pods as active. The API server
// refuses a status with more ready pods than active ones, and the Job would be stuck.
// (kubernetes#139457)
func TestActivePodsCountWhileReplacementsWait(t *testing.T) {
	for name, job := range map[string]*batch.Job{"per index": indexedJob(3, 2), "of the Job": plainJob(3)} {
		pods := []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0), pod("b", 1, batch.PodRunning, 0, t0), pod("c", 2, batch.PodRunning, 0, t0)}
		for _, p := range pods[1:] {
			p.Status.Conditions = []batch.PodCondition{{Type: "Ready", Status: batch.ConditionTrue}}
		}
		in := jobpolicy.Input{Job: job, Pods: pods, Now: t0.Add(time.Second)}
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if s := last(in, plan); len(plan.Create) != 0 || plan.RequeueAfter != 9*time.Second || s.Active != 2 || *s.Ready != 2 {
			t.Errorf("%s: %d created, requeue after %v, active %d, ready %v; want none, 9s, 2, 2", name, len(plan.Create), plan.RequeueAfter, s.Active, *s.Ready)
		}
	}
}

// A stale view of a counted pod, still with its finalizer, is not counted again.
func TestStalePodIsCountedOnce(t *testing.T) {
	job := &batch.Job{Spec: batch.JobSpec{Completions: pointerTo[int32](1)}}
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0)}, Now: t0}
	failed, decisions := 0, 0
	for i := range 4 {
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		failed += plan.MetricDeltas.PodsFailed
		decisions += len(plan.Decisions)
		in.State, in.Job.Status = plan.State, *last(in, plan)
		in.ExpectationsPending = i%2 == 0
		if s := in.Job.Status; s.Failed != 1 || in.State.Failures != 1 {
			t.Fatalf("pass %d: %d failures counted, %d in a row; want 1", i, s.Failed, in.State.Failures)
		}
	}
	if failed != 1 || decisions != 1 {
		t.Errorf("%d failures, %d decisions", failed, decisions)
	}
	in.Pods = nil
	if plan := mustPlan(t, jobpolicy.Engine{}, in); plan.State.Released != nil {
		t.Errorf("the pod is gone and still remembered: %v", plan.State.Released)
	}
}

// A pod counted late, because the first FinalStatus was lost, is still counted once if
// the caller restarts and Pods shows the finalizer longest of all.
func TestStalePodCountedLateIsCountedOnce(t *testing.T) {
	for _, phase := range []batch.PodPhase{batch.PodFailed, batch.PodSucceeded} {
		job := &batch.Job{Spec: batch.JobSpec{Completions: pointerTo[int32](3)}}
		in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, phase, 1, t0)}, Now: t0}
		for i, removed := range [][]string{nil, {"a"}, nil, nil} {
			in.FinalizersRemoved = removed
			plan := mustPlan(t, jobpolicy.Engine{}, in)
			if plan.InterimStatus != nil {
				in.Job.Status = *plan.InterimStatus // FinalStatus is lost
			}
			in.State = plan.State
			u := in.Job.Status.UncountedTerminatedPods
			if n := int(in.Job.Status.Failed+in.Job.Status.Succeeded) + len(u.Failed) + len(u.Succeeded); n != 1 {
				t.Fatalf("%s, pass %d: %d ends in %+v", phase, i, n, in.Job.Status)
			}
		}
	}
}

// Untrack is set only for surplus pods with a finalizer.
func TestOnlyTrackedSurplusIsUntracked(t *testing.T) {
	untracked := pod("a", 0, batch.PodRunning, 0, t0)
	untracked.Finalizers = nil
	in := jobpolicy.Input{Job: &batch.Job{Spec: batch.JobSpec{Suspend: true}}, Pods: []*batch.Pod{untracked, pod("b", 0, batch.PodRunning, 0, t0)}, Now: t0}
	for _, d := range mustPlan(t, jobpolicy.Engine{}, in).Delete {
		if d.Untrack != (d.UID == "b") {
			t.Errorf("pod %s: untrack %v", d.UID, d.Untrack)
		}
	}
}

// No start time and no deadline cause a negative RequeueAfter.
func TestRequeueIsNeverNegative(t *testing.T) {
	for _, start := range []time.Time{{}, t0, t0.Add(time.Second), t0.Add(-time.Second), time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)} {
		for _, deadline := range []int64{1, 100, math.MaxInt64 / 1_000_000_000, math.MaxInt64} {
			job := &batch.Job{Spec: batch.JobSpec{ActiveDeadlineSeconds: &deadline}, Status: batch.JobStatus{StartTime: start}}
			plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Now: t0})
			if plan.RequeueAfter < 0 {
				t.Errorf("start %v, deadline %d: again after %v", start, deadline, plan.RequeueAfter)
			}
			if deadline == math.MaxInt64 && plan.MetricDeltas.Finished != "" {
				t.Errorf("start %v: a deadline beyond time ends the Job", start)
			}
		}
	}
}

// Counters saturate, on 32-bit platforms too.
func TestCountersSaturate(t *testing.T) {
	two := []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0), pod("b", 1, batch.PodFailed, 1, t0)}
	job := &batch.Job{Spec: batch.JobSpec{BackoffLimit: pointerTo[int32](jobpolicy.MaxCount - 1)}, Status: batch.JobStatus{Failed: jobpolicy.MaxCount - 1}}
	in := jobpolicy.Input{Job: job, Pods: two, Now: t0}
	if s := last(in, mustPlan(t, jobpolicy.Engine{}, in)); s.Failed != jobpolicy.MaxCount || s.Conditions[0].Reason != batch.JobReasonBackoffLimitExceeded {
		t.Errorf("failed %d, %v", s.Failed, s.Conditions)
	}
	two = []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0), pod("b", 1, batch.PodSucceeded, 0, t0)}
	job = &batch.Job{Spec: batch.JobSpec{Completions: pointerTo[int32](jobpolicy.MaxCount)}, Status: batch.JobStatus{Succeeded: jobpolicy.MaxCount - 1}}
	in = jobpolicy.Input{Job: job, Pods: two, Now: t0}
	if _, finished := last(in, mustPlan(t, jobpolicy.Engine{}, in)).Finished(); !finished {
		t.Error("all completions are there and the Job goes on")
	}
	completions := int32(3)
	if reason, _ := (jobpolicy.EndLimits{Completions: &completions}).Verdict(jobpolicy.Progress{FailedIndexes: math.MaxInt, Succeeded: math.MaxInt}); reason != batch.JobReasonFailedIndexes {
		t.Errorf("verdict %q", reason)
	}
}

// The policy decides on pods that still run when the Job fails, and they are counted
// accordingly.
func TestRunningPodsFailWithTheJob(t *testing.T) {
	running := pod("b", 0, batch.PodRunning, 0, t0)
	jobtest.SetCondition(running, batch.DisruptionTarget, batch.ConditionTrue, "", t0)
	job := &batch.Job{Spec: batch.JobSpec{BackoffLimit: pointerTo[int32](0), PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionCount, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget, Status: batch.ConditionTrue}},
	}}}}}
	plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0), running}, Now: t0})
	if plan.MetricDeltas.PodsFailed != 2 || plan.MetricDeltas.Handled[batch.ActionCount] != 1 {
		t.Errorf("counts %+v", plan.MetricDeltas)
	}
}

func TestPlanRejectsInvalidStatus(t *testing.T) {
	for field, s := range map[string]batch.JobStatus{
		"status.ready":                          {Ready: pointerTo[int32](-1)},
		"status.terminating":                    {Terminating: pointerTo[int32](-1)},
		"status.uncountedTerminatedPods.failed": {UncountedTerminatedPods: &batch.UncountedTerminatedPods{Succeeded: []string{"a"}, Failed: []string{"b", "a"}}},
	} {
		if plan, err := (jobpolicy.Engine{}).Plan(jobpolicy.Input{Job: &batch.Job{Status: s}, Now: t0}); err == nil || !strings.Contains(err.Error(), field) || len(plan.Create) != 0 {
			t.Errorf("%s: %v, %d created", field, err, len(plan.Create))
		}
	}
}

// Nil arguments give zero results, and negative counts are taken as 0.
func TestNilAndNegativeArguments(t *testing.T) {
	if got := (*batch.Pod)(nil).FinishTime(); !got.IsZero() {
		t.Error(got)
	}
	if stale, after := jobpolicy.StaleDisruption((*batch.Pod)(nil), t0); stale || after != 0 {
		t.Error(stale, after)
	}
	if _, finished := (*batch.JobStatus)(nil).Finished(); finished {
		t.Error("a nil status has finished")
	}
	if f, i := (jobpolicy.Match{Rule: -1}).NextCounts(-5, -7); f != 1 || i != 0 {
		t.Error(f, i)
	}
	m := jobpolicy.Match{Action: batch.ActionFailJob, Rule: 2}
	if got, want := m.Message(&batch.Pod{ObjectMeta: batch.ObjectMeta{Name: "p", Namespace: "ns"}}), "Pod ns/p has condition  matching FailJob rule at index 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := jobpolicy.GenerateName(strings.Repeat("j", 63), -1); got != strings.Repeat("j", 63)+"-" {
		t.Error(got)
	}
}

// A target condition with status False is followed by a True one.
func TestWithdrawnTargetConditionIsAddedAgain(t *testing.T) {
	job := &batch.Job{
		Spec:   batch.JobSpec{BackoffLimit: pointerTo[int32](0)},
		Status: batch.JobStatus{Conditions: []batch.JobCondition{{Type: batch.JobFailureTarget, Status: batch.ConditionFalse}}},
	}
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0), pod("b", 0, batch.PodRunning, 0, t0)}, Now: t0}
	s := last(in, mustPlan(t, jobpolicy.Engine{}, in))
	if len(s.Conditions) != 2 || s.Conditions[1].Status != batch.ConditionTrue {
		t.Fatalf("conditions %v", s.Conditions)
	}
	in.Job.Status = *s
	if s := last(in, mustPlan(t, jobpolicy.Engine{}, in)); len(s.Conditions) != 2 {
		t.Errorf("the target is set again: %v", s.Conditions)
	}
	in.Job = &batch.Job{
		Spec: batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: pointerTo[int32](2), Parallelism: pointerTo[int32](2),
			SuccessPolicy: &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: pointerTo("0")}}}},
		Status: batch.JobStatus{Conditions: []batch.JobCondition{{Type: batch.JobSuccessCriteriaMet, Status: batch.ConditionFalse}}},
	}
	in.Pods = []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0), pod("b", 1, batch.PodRunning, 0, t0)}
	for range 2 {
		s := last(in, mustPlan(t, jobpolicy.Engine{}, in))
		if len(s.Conditions) != 2 || s.Conditions[1].Type != batch.JobSuccessCriteriaMet || s.Conditions[1].Status != batch.ConditionTrue {
			t.Fatalf("conditions %v", s.Conditions)
		}
		in.Job.Status = *s
	}
}
