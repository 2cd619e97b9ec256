package jobtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"pgregory.net/rapid"
)

func newCluster(completions, parallelism int32) *jobtest.Cluster {
	return jobtest.New(&batch.Job{Spec: batch.JobSpec{
		Completions: &completions, Parallelism: &parallelism,
		Template: batch.PodTemplateSpec{Spec: batch.PodSpec{
			RestartPolicy: batch.RestartPolicyNever, Containers: []batch.Container{{Name: "main"}},
		}},
	}})
}

func succeed(*batch.Pod, int) jobtest.End { return jobtest.End{After: time.Second} }

func mustSync(t *testing.T, c *jobtest.Cluster) int {
	t.Helper()
	done, err := c.Sync()
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// Repeated crashes of the caller at any point of a plan lose no pods.
func TestCrashesLoseNoPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(3, 3)
		for range rapid.IntRange(0, 9).Draw(t, "crashes") {
			plan, err := c.Plan()
			if err != nil {
				t.Fatal(err)
			}
			first := rapid.IntRange(0, 6).Draw(t, "effects")
			if done := c.CarryOut(plan, first); done != min(first, jobtest.Effects(plan)) {
				t.Fatalf("%d of the first %d effects of %d were performed", done, first, jobtest.Effects(plan))
			}
			if len(c.Pods) > 0 && rapid.Bool().Draw(t, "fails") {
				c.Exit(c.Pods[0].UID, 1)
			}
		}
		if err := c.Run(succeed); err != nil {
			t.Fatal(err)
		}
		succeeded, failed := 0, 0
		for _, d := range c.Deltas {
			succeeded, failed = succeeded+d.PodsSucceeded, failed+d.PodsFailed
		}
		s := c.Job.Status
		end, _ := s.Finished()
		if ended := int(s.Succeeded + s.Failed); ended != len(c.Created) || succeeded != int(s.Succeeded) || failed != int(s.Failed) {
			t.Errorf("%q with %d succeeded and %d failed of %d pods, the metrics have %d and %d",
				end.Type, s.Succeeded, s.Failed, len(c.Created), succeeded, failed)
		}
		if complete := s.Failed <= *c.Job.Spec.BackoffLimit; complete != (end.Type == batch.JobComplete) || complete && s.Succeeded != 3 {
			t.Errorf("%q with %d succeeded and %d failed", end.Type, s.Succeeded, s.Failed)
		}
	})
}

// The caller does not repeat unseen effects, and refused effects do not happen.
func TestFaults(t *testing.T) {
	c := newCluster(3, 2)
	c.Faults.Refuse = true
	if in := c.Input(); !in.NoPodChanges {
		t.Error("refused: the caller does not know")
	}
	if mustSync(t, c); len(c.Created) != 0 || c.Job.Status.StartTime.IsZero() {
		t.Errorf("refused: %d pods created, status %+v", len(c.Created), c.Job.Status)
	}
	c.Faults = jobtest.Faults{Quota: 1}
	if mustSync(t, c); len(c.Created) != 1 {
		t.Errorf("a quota of 1: %d pods created", len(c.Created))
	}
	c.Faults = jobtest.Faults{}
	mustSync(t, c)
	c.Faults.Unseen = c.Pods[1:]
	if in := c.Input(); len(in.Pods) != 1 {
		t.Errorf("a pod that is not seen yet: %d pods are seen", len(in.Pods))
	}
	if mustSync(t, c); len(c.Created) != 2 {
		t.Errorf("a pod that is not seen yet: %d pods created", len(c.Created))
	}

	c.Faults = jobtest.Faults{}
	before := c.Job.Status
	c.Exit(c.Pods[0].UID, 0)
	pods := []*batch.Pod{c.Pods[0]}
	mustSync(t, c)
	if len(c.Pods) != 2 || c.Job.Status.Succeeded != 1 {
		t.Fatalf("one pod ended: %d are left, %d succeeded", len(c.Pods), c.Job.Status.Succeeded)
	}
	c.Faults = jobtest.Faults{Pods: pods, Named: true}
	if in := c.Input(); len(in.Pods) != 3 || len(in.FinalizersRemoved) != 1 {
		t.Errorf("a released pod that is still seen: %d pods, %q named", len(in.Pods), in.FinalizersRemoved)
	}
	if mustSync(t, c); c.Job.Status.Succeeded != 1 {
		t.Errorf("a released pod that is still seen: %d succeeded", c.Job.Status.Succeeded)
	}
	c.Faults = jobtest.Faults{Status: &before}
	if done := mustSync(t, c); done != 0 || c.Job.Status.Succeeded != 1 {
		t.Errorf("an older status: %d effects, %d succeeded", done, c.Job.Status.Succeeded)
	}
	if plan, _ := c.Plan(); plan.RequeueReason != jobpolicy.RequeueStaleJob {
		t.Errorf("an older status: again because of %q", plan.RequeueReason)
	}
	c.State = jobpolicy.State{} // now the caller takes it for the truth, and its write conflicts
	if mustSync(t, c); c.Job.Status.Succeeded != 1 {
		t.Errorf("a conflict: %d succeeded", c.Job.Status.Succeeded)
	}
	c.Faults = jobtest.Faults{}
	if err := c.Run(succeed); err != nil || c.Job.Status.Succeeded != 3 {
		t.Errorf("without faults: %d succeeded (%v)", c.Job.Status.Succeeded, err)
	}
}

// Refuse covers deletions, and Status refuses FinalStatus too.
func TestRefusedEffects(t *testing.T) {
	c := newCluster(2, 2)
	mustSync(t, c)
	c.Job.Spec.Suspend = true
	plan, err := c.Plan()
	if err != nil || len(plan.Delete) != 2 {
		t.Fatalf("%d pods are deleted of a suspended Job (%v)", len(plan.Delete), err)
	}
	c.Faults.Refuse = true
	if done := c.CarryOut(plan, jobtest.Effects(plan)); done != 0 {
		t.Errorf("refused: %d effects", done)
	}
	c.Faults = jobtest.Faults{}
	if err := c.Run(succeed); err != nil || len(c.Pods) != 0 || c.Job.Status.Failed != 0 {
		t.Errorf("suspended: %d pods are left, %d failed (%v)", len(c.Pods), c.Job.Status.Failed, err)
	}

	c.Job.Spec.Suspend = false
	mustSync(t, c)
	c.Exit(c.Pods[0].UID, 0)
	if plan, err = c.Plan(); err != nil || plan.FinalStatus == nil {
		t.Fatalf("a pod has ended: %+v (%v)", plan, err)
	}
	c.CarryOut(plan, jobtest.Effects(plan)-2) // a crash before the release
	before := c.Job.Status
	c.Faults.Status = &before
	if mustSync(t, c); c.Job.Status.Succeeded != 0 {
		t.Errorf("a conflict: %d succeeded", c.Job.Status.Succeeded)
	}
	c.Faults = jobtest.Faults{}
	if mustSync(t, c); c.Job.Status.Succeeded != 1 {
		t.Errorf("the write that was lost: %d succeeded", c.Job.Status.Succeeded)
	}
}

// A quota that counts ended pods delays a Job but does not stop it.
func TestRunUnderQuota(t *testing.T) {
	c := newCluster(5, 3)
	c.Faults.Quota = 2
	if err := c.Run(succeed); err != nil || c.Job.Status.Succeeded != 5 || len(c.Created) != 5 {
		t.Errorf("%d pods created, %d succeeded (%v)", len(c.Created), c.Job.Status.Succeeded, err)
	}
}

func TestRunStops(t *testing.T) {
	suspended := newCluster(1, 1)
	suspended.Job.Spec.Suspend = true
	if err := suspended.Run(succeed); err != nil || len(suspended.Created) != 0 {
		t.Errorf("a suspended Job: %d pods created (%v)", len(suspended.Created), err)
	}
	forever := newCluster(1, 1)
	forever.Job.Spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}},
	}}
	forever.Job.Spec.PodReplacementPolicy = batch.PodReplacementFailed
	fail := func(*batch.Pod, int) jobtest.End { return jobtest.End{ExitCode: 1} }
	if err := forever.Run(fail); err == nil || !strings.Contains(err.Error(), "10000 turns") {
		t.Errorf("a Job that goes on for ever: %v", err)
	}
}

// A deleted pod exits with 143, an evicted one with its condition.
func TestDeletedAndEvictedPods(t *testing.T) {
	c := newCluster(2, 2)
	c.Job.Spec.BackoffLimit = new(int32)
	c.Job.Spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}}},
	}}
	c.Job.Spec.PodReplacementPolicy = batch.PodReplacementFailed
	err := c.Run(func(_ *batch.Pod, attempt int) jobtest.End {
		switch attempt {
		case 0:
			return jobtest.End{After: time.Second, ExitCode: 1, Evict: true} // ignored
		case 1:
			return jobtest.End{After: time.Hour}
		}
		return jobtest.End{After: time.Second, ExitCode: 1} // ends the Job
	})
	end, _ := c.Job.Status.Finished()
	if err != nil || end.Type != batch.JobFailed || c.Job.Status.Failed != 2 || len(c.Created) != 3 {
		t.Errorf("%q with %d failed of %d pods (%v)", end.Type, c.Job.Status.Failed, len(c.Created), err)
	}
}
