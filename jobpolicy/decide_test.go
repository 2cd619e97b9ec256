package jobpolicy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

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
