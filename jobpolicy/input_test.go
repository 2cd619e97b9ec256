package jobpolicy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

// underQuota runs the controller and the pods in turns, and returns how often the quota
// refused a creation.
func underQuota(t *testing.T, c *jobtest.Cluster, work func()) (refused int) {
	t.Helper()
	for range 50 {
		if _, finished := c.Job.Status.Finished(); finished {
			break
		}
		if wanted := mustPlan(t, c.Engine, c.Input()).Create; len(c.Pods)+len(wanted) > c.Faults.Quota && len(wanted) > 0 {
			refused++
		}
		if _, err := c.Sync(); err != nil {
			t.Fatal(err)
		}
		work()
	}
	return refused
}

// A quota refuses creations while finished pods exist. A plan with NoPodChanges
// releases these, and the Job ends.
func TestNoPodChangesResolvesQuotaDeadlock(t *testing.T) {
	c := jobtest.New(plainJob(5))
	c.Faults.Quota = 2
	c.Job.Spec.Parallelism = pointerTo[int32](2)
	refused := underQuota(t, c, func() {
		if i := slices.IndexFunc(c.Pods, jobtest.Active); i >= 0 {
			c.Exit(c.Pods[i].UID, 0)
		}
	})
	if end, _ := c.Job.Status.Finished(); end.Type != batch.JobComplete || refused == 0 || len(c.Created) != 5 {
		t.Errorf("ended %q with %d pods created, %d times refused", end.Type, len(c.Created), refused)
	}
}

// With a limit per index, the last failed pod of an index remains until its replacement
// exists. This needs a quota above parallelism: a lower one blocks once that many pods
// have failed together.
func TestQuotaAboveParallelismAllowsReplacements(t *testing.T) {
	for parallelism := 1; parallelism <= 3; parallelism++ {
		for quota := parallelism; quota <= parallelism+1; quota++ {
			c := jobtest.New(indexedJob(4, 9))
			c.Faults.Quota = quota
			c.Job.Spec.Parallelism = pointerTo(int32(parallelism))
			refused := underQuota(t, c, func() {
				for _, p := range slices.DeleteFunc(slices.Clone(c.Pods), func(p *batch.Pod) bool { return !jobtest.Active(p) }) {
					if failureCount(p) < 2 { // all at once
						c.Exit(p.UID, 1)
					} else {
						c.Exit(p.UID, 0)
					}
				}
				c.Now = c.Now.Add(time.Hour)
			})
			if _, finished := c.Job.Status.Finished(); finished != (quota > parallelism) || finished && len(c.Created) != 12 || refused == 0 {
				t.Errorf("parallelism %d, quota %d: finished %v with %d pods created, %d times refused", parallelism, quota, finished, len(c.Created), refused)
			}
		}
	}
}

// With NoPodChanges, the Job ends only if no pod has to be deleted.
func TestNoPodChangesPlansNoDeletionsOrCreations(t *testing.T) {
	failing := func() *batch.Job {
		job := plainJob(2)
		job.Spec.BackoffLimit = pointerTo[int32](0)
		return job
	}
	suspended := plainJob(1)
	suspended.Spec.Suspend = true
	failed, running := plainPods(1, batch.PodFailed), plainPods(2, batch.PodRunning)[1:]
	for name, tt := range map[string]struct {
		job      *batch.Job
		pods     []*batch.Pod
		finished batch.Reason
		released int
		suspends bool
	}{
		"creates nothing":              {plainJob(3), plainPods(1, batch.PodSucceeded), "", 1, false},
		"no end while pods are active": {failing(), append(failed, running...), "", 1, false},
		"an end without active pods":   {failing(), failed, batch.JobReasonBackoffLimitExceeded, 1, false},
		"completions":                  {plainJob(1), plainPods(1, batch.PodSucceeded), batch.JobReasonCompletionsReached, 1, false},
		"deletes no surplus":           {plainJob(1), append(plainPods(1, batch.PodSucceeded), running...), "", 1, false},
		"suspends nothing":             {suspended, running, "", 0, false},
	} {
		in := jobpolicy.Input{Job: tt.job, Pods: tt.pods, NoPodChanges: true, Now: t0.Add(time.Hour)}
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if len(plan.Create)+len(plan.Delete) != 0 || plan.MetricDeltas.Finished != tt.finished || len(plan.Release) != tt.released {
			t.Errorf("%s: %+v", name, plan)
		}
		if s := last(in, plan); s.HasCondition(batch.JobSuspended) || int(s.Active) != len(tt.pods)-tt.released {
			t.Errorf("%s: %d active, conditions %v", name, s.Active, s.Conditions)
		}
	}
}

// With ExpectationsPending, Plan creates no pods, deletes no surplus pods and does not
// end the Job, but records ended pods.
func TestExpectationsPendingPlansNoPodsAndNoEnd(t *testing.T) {
	surplus := plainJob(2)
	surplus.Spec.Parallelism = pointerTo[int32](0)
	suspended := plainJob(2)
	suspended.Spec.Suspend = true
	for name, in := range map[string]jobpolicy.Input{
		"creations": {Job: plainJob(3), Pods: plainPods(1, batch.PodSucceeded)},
		"surplus":   {Job: surplus, Pods: append(plainPods(1, batch.PodSucceeded), plainPods(2, batch.PodRunning)[1:]...)},
		"suspended": {Job: suspended, Pods: append(plainPods(1, batch.PodSucceeded), plainPods(2, batch.PodRunning)[1:]...)},
		"the end":   {Job: plainJob(1), Pods: plainPods(1, batch.PodSucceeded)},
	} {
		in.ExpectationsPending, in.Now = true, t0.Add(time.Hour)
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if s := last(in, plan); len(plan.Create)+len(plan.Delete)+len(s.Conditions) != 0 || s.Succeeded != 1 || len(plan.Release) != 1 {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}

// A pod in FinalizersRemoved counts at once and is not released again. Without it the
// pod is released again, because the first release may have failed.
func TestFinalizersRemovedPreventsSecondRelease(t *testing.T) {
	indexed := indexedJob(2, 3)
	indexed.Spec.Parallelism = pointerTo[int32](1)
	for name, in := range map[string]jobpolicy.Input{
		"NonIndexed, succeeded": {Job: plainJob(2), Pods: plainPods(1, batch.PodSucceeded)},
		"NonIndexed, failed":    {Job: plainJob(2), Pods: plainPods(1, batch.PodFailed)},
		"Indexed, succeeded":    {Job: indexed, Pods: []*batch.Pod{pod("0000", 0, batch.PodSucceeded, 0, t0)}},
	} {
		in.Now = t0
		first := mustPlan(t, jobpolicy.Engine{}, in)
		in.Job.Status, in.State = *first.InterimStatus, first.State // a crash before, or after, Release
		if again := mustPlan(t, jobpolicy.Engine{}, in); len(first.Release) != 1 || len(again.Release) != 1 {
			t.Errorf("%s: released %v, and after a failed release %v", name, first.Release, again.Release)
		}
		in.FinalizersRemoved = []string{"0000"}
		second := mustPlan(t, jobpolicy.Engine{}, in)
		if s := last(in, second); len(second.Release) != 0 || s.Succeeded+s.Failed != 1 || len(second.Decisions) != 0 {
			t.Errorf("%s: released again %v, status %+v", name, second.Release, s)
		}
	}
}

// The error for an invalid Input is a field.Errors with the path of the field.
func TestPlanRejectsInvalidInput(t *testing.T) {
	lost := plainJob(1)
	lost.Spec.CompletionMode, lost.Spec.Completions = batch.IndexedCompletion, nil
	for path, in := range map[string]jobpolicy.Input{
		"Job":              {Now: t0},
		"Now":              {Job: plainJob(1)},
		"Pods[1]":          {Job: plainJob(1), Pods: append(plainPods(1, batch.PodRunning), &batch.Pod{}), Now: t0},
		"spec.completions": {Job: lost, Now: t0},
		"status.failed":    {Job: &batch.Job{Status: batch.JobStatus{Failed: -1}}, Now: t0},
	} {
		plan, err := (jobpolicy.Engine{}).Plan(in)
		var mistake field.Error
		if !errors.As(err, &mistake) || mistake.Field != path || !strings.HasPrefix(err.Error(), "jobpolicy: Plan: "+path+": ") || jobtest.Effects(plan) != 0 {
			t.Errorf("%s: %v, %+v", path, err, plan)
		}
	}
}

// RequeueReason is the reason of the earliest requeue.
func TestRequeueReasonIsTheEarliest(t *testing.T) {
	deadline := plainJob(2)
	deadline.Spec.ActiveDeadlineSeconds, deadline.Status.StartTime = pointerTo[int64](60), t0
	far := plainJob(2)
	far.Spec.ActiveDeadlineSeconds, far.Status.StartTime = pointerTo[int64](3600), t0
	failed := plainPods(1, batch.PodFailed)
	for name, tt := range map[string]struct {
		in    jobpolicy.Input
		after time.Duration
		why   jobpolicy.RequeueReason
	}{
		"nothing":            {jobpolicy.Input{Job: plainJob(2), Now: t0}, 0, ""},
		"delay":              {jobpolicy.Input{Job: plainJob(2), Pods: failed, Now: t0}, 10 * time.Second, jobpolicy.RequeueDelay},
		"a second is no end": {jobpolicy.Input{Job: plainJob(2), Pods: failed, Now: t0.Add(9 * time.Second)}, time.Second, jobpolicy.RequeueDelay},
		"put off":            {jobpolicy.Input{Job: plainJob(2), Pods: failed, Now: t0.Add(9500 * time.Millisecond)}, time.Second, jobpolicy.RequeueBatch},
		"deadline":           {jobpolicy.Input{Job: deadline, Now: t0.Add(time.Second)}, 59 * time.Second, jobpolicy.RequeueDeadline},
		"deadline first":     {jobpolicy.Input{Job: deadline, Pods: failed, Now: t0.Add(59500 * time.Millisecond), State: jobpolicy.State{Failures: 8, LastFailure: t0}}, 500 * time.Millisecond, jobpolicy.RequeueDeadline},
		"both at once":       {jobpolicy.Input{Job: deadline, Pods: failed, Now: t0.Add(50 * time.Second), State: jobpolicy.State{Failures: 1, LastFailure: t0.Add(40 * time.Second), Handled: []string{"0000"}}}, 10 * time.Second, jobpolicy.RequeueDeadline},
		"delay first":        {jobpolicy.Input{Job: far, Pods: failed, Now: t0}, 10 * time.Second, jobpolicy.RequeueDelay},
		"an older Job":       {jobpolicy.Input{Job: plainJob(2), State: jobpolicy.State{Written: jobpolicy.StatusProgress{Failed: 1}}, Now: t0}, 5 * time.Minute, jobpolicy.RequeueStaleJob},
	} {
		if plan := mustPlan(t, jobpolicy.Engine{}, tt.in); plan.RequeueAfter != tt.after || plan.RequeueReason != tt.why {
			t.Errorf("%s: again after %v because of %q, want %v, %q", name, plan.RequeueAfter, plan.RequeueReason, tt.after, tt.why)
		}
	}
}

// An Engine acts only for Jobs with its ManagedBy, and notes when it ignores one.
func TestPlanIgnoresJobsOfOtherControllers(t *testing.T) {
	const kubernetes, other = "kubernetes.io/job-controller", "example.com/jobs"
	for _, tt := range []struct {
		engine, job string
		acts        bool
	}{
		{"", "", true}, {"", kubernetes, true}, {kubernetes, "", true}, {kubernetes, kubernetes, true},
		{other, other, true}, {"", other, false}, {other, "", false}, {other, kubernetes, false}, {other, "example.com/others", false},
	} {
		job := plainJob(1)
		job.Spec.ManagedBy = tt.job
		memory := jobpolicy.State{Failures: 1, LastFailure: t0}
		plan := mustPlan(t, jobpolicy.Engine{ManagedBy: tt.engine}, jobpolicy.Input{Job: job, State: memory, Now: t0.Add(time.Hour)})
		if acts := len(plan.Create) == 1; acts != tt.acts || len(plan.Notes) == 0 != tt.acts || plan.State.Failures != 1 {
			t.Errorf("engine %q, Job %q: acts %v, notes %q, memory %+v", tt.engine, tt.job, acts, plan.Notes, plan.State)
		}
	}
	odd := plainJob(1)
	odd.Spec.CompletionMode = "Sorted"
	if plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: odd, Now: t0}); jobtest.Effects(plan) != 0 || len(plan.Notes) != 1 {
		t.Errorf("an unknown completion mode: %+v", plan)
	}
}
