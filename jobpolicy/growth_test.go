package jobpolicy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// Of two different pods with the same identity, Plan uses the same one in either order.
func TestDuplicatePodsAreOrderedByContent(t *testing.T) {
	year := func(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }
	change := map[string]func(p *batch.Pod){
		"phase":        func(p *batch.Pod) { p.Status.Phase = batch.PodRunning },
		"a time":       func(p *batch.Pod) { p.CreationTimestamp = year(10_001) },
		"a zone":       func(p *batch.Pod) { p.CreationTimestamp = p.CreationTimestamp.In(time.FixedZone("x", 3600)) },
		"a nanosecond": func(p *batch.Pod) { p.CreationTimestamp = p.CreationTimestamp.Add(1) },
		"a finalizer":  func(p *batch.Pod) { p.Untrack() },
		"an annotation": func(p *batch.Pod) {
			p.Annotations = map[string]string{batch.JobCompletionIndexAnnotation: "0", "a": "b", "c": "d"}
		},
		"an exit code": func(p *batch.Pod) {
			p.Status.ContainerStatuses[0].State.Terminated = &batch.ContainerStateTerminated{ExitCode: 2}
		},
		"no state":       func(p *batch.Pod) { p.Status.ContainerStatuses[0].State = batch.ContainerState{} },
		"a grace period": func(p *batch.Pod) { p.DeletionGracePeriodSeconds = pointerTo[int64](3) },
		"one more status": func(p *batch.Pod) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, batch.ContainerStatus{Ready: true})
		},
		"a container":       func(p *batch.Pod) { p.Spec.Containers = []batch.Container{{Name: "x", Args: []string{"a"}}} },
		"a year before one": func(p *batch.Pod) { p.DeletionTimestamp = year(-5) },
	}
	for name, f := range change {
		a, b, same := pod("a", 0, batch.PodFailed, 1, t0), pod("a", 0, batch.PodFailed, 1, t0), pod("a", 0, batch.PodFailed, 1, t0)
		for _, p := range []*batch.Pod{a, b, same} {
			if p.CreationTimestamp = year(10_000); p != a {
				f(p)
			}
		}
		one := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: indexedJob(1, 1), Pods: []*batch.Pod{a, b}, Now: t0})
		two := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: indexedJob(1, 1), Pods: []*batch.Pod{b, a}, Now: t0})
		if d := cmp.Diff(one, two); d != "" {
			t.Errorf("%s: another order, another plan:\n%s", name, d)
		}
		if x, y := jobpolicy.PodText(a), jobpolicy.PodText(b); string(x) == string(y) {
			t.Errorf("%s: two pods have one text", name)
		}
		for range 20 { // a map has no order
			if x, y := jobpolicy.PodText(b), jobpolicy.PodText(same); string(x) != string(y) {
				t.Fatalf("%s: pods that say the same have two texts", name)
			}
		}
	}
}
