package jobpolicy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

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
