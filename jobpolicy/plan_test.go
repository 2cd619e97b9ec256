package jobpolicy_test

import (
	"errors"
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
