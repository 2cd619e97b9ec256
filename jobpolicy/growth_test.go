package jobpolicy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// withSidecars gives the pod n sidecars, listed in the opposite order in its
// status.
func withSidecars(p *batch.Pod, n int) *batch.Pod {
	for i := range n {
		p.Spec.InitContainers = append(p.Spec.InitContainers, batch.Container{Name: fmt.Sprint("s", i), RestartPolicy: batch.RestartPolicyAlways})
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, batch.ContainerStatus{
			Name: fmt.Sprint("s", n-1-i), RestartCount: 1,
			State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: 1, FinishedAt: t0}},
		})
	}
	return p
}

// Pods and policies may have many containers, conditions and patterns.
func TestManyContainersConditionsAndPatterns(t *testing.T) {
	planMany(t, 2000, func(_ string, f func()) { f() })
}

// planMany gives several functions work whose size is in proportion to many, each through
// run.
func planMany(t *testing.T, many int, run func(what string, f func())) {
	sidecars := withSidecars(&batch.Pod{}, 2*many)
	run("the end of a pod with many sidecars", func() {
		if got := sidecars.FinishTime(); !got.Equal(t0) {
			t.Errorf("finished at %v", got)
		}
	})
	job, pods, shared := plainJob(300), plainPods(300, batch.PodRunning), withSidecars(&batch.Pod{}, many/12)
	job.Spec.Parallelism = pointerTo[int32](0)
	for _, p := range pods {
		p.Spec, p.Status.InitContainerStatuses = shared.Spec, shared.Status.InitContainerStatuses
	}
	run("surplus pods with many sidecars", func() {
		if plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: pods, Now: t0}); len(plan.Delete) != 300 {
			t.Errorf("%d deleted", len(plan.Delete))
		}
	})
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionIgnore}}}
	p := pod("a", 0, batch.PodFailed, 1, t0)
	for i := range many {
		name := batch.PodConditionType(fmt.Sprint("c", i))
		policy.Rules[0].OnPodConditions = append(policy.Rules[0].OnPodConditions, batch.OnPodCondition{Type: name, Status: batch.ConditionFalse})
		p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: name, Status: batch.ConditionTrue})
	}
	for _, rule := range []int{-1, 0} {
		run("many conditions and patterns", func() {
			if m := jobpolicy.MatchPod(policy, p); m.Rule != rule {
				t.Errorf("%+v, want rule %d", m, rule)
			}
			job := plainJob(1)
			job.Spec.PodFailurePolicy = policy
			if d := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{p}, Now: t0}).Decisions; d[0].Match.Rule != rule {
				t.Errorf("%+v, want rule %d", d, rule)
			}
			if steps := jobpolicy.Explain(policy, p); steps[0].Matched != (rule == 0) {
				t.Errorf("matched %v", steps[0].Matched)
			}
		})
		p.Status.Conditions[many-1].Status = batch.ConditionFalse
	}
	run("many pods that are one", func() {
		var same []*batch.Pod
		for range many / 12 {
			same = append(same, pod("a", 0, batch.PodFailed, 1, t0))
		}
		if plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: plainJob(1), Pods: same, Now: t0}); plan.MetricDeltas.PodsFailed != 1 {
			t.Errorf("%d failures", plan.MetricDeltas.PodsFailed)
		}
	})
}

// Of pods with the same UID, or without one and with the same name, the first counts.
func TestFirstOfTwoPodsCounts(t *testing.T) {
	failed, running := pod("a", 0, batch.PodFailed, 1, t0), pod("a", 0, batch.PodRunning, 0, t0)
	named, namedTwin := pod("", 0, batch.PodFailed, 1, t0), pod("", 0, batch.PodRunning, 0, t0)
	for name, tt := range map[string]struct {
		pods   []*batch.Pod
		failed int
	}{
		"failed, running":          {[]*batch.Pod{failed, running}, 1},
		"running, failed":          {[]*batch.Pod{running, failed}, 0},
		"without a UID":            {[]*batch.Pod{named, namedTwin}, 1},
		"without a UID, the other": {[]*batch.Pod{namedTwin, named}, 0},
	} {
		plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: plainJob(1), Pods: tt.pods, Now: t0})
		if plan.MetricDeltas.PodsFailed != tt.failed || len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "occurs twice") {
			t.Errorf("%s: %d failed, want %d; notes %q", name, plan.MetricDeltas.PodsFailed, tt.failed, plan.Notes)
		}
	}
}
