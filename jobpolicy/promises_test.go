package jobpolicy_test

import (
	"math"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

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
