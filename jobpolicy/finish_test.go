package jobpolicy

import (
	"testing"
	"time"
)

// A pod finished when the first look-up says that has an answer.
func TestFinishTimeLookUps(t *testing.T) {
	at := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Minute) }
	ended := func(name string, end time.Time) ContainerStatus {
		return ContainerStatus{Name: name, State: ContainerState{Terminated: &ContainerStateTerminated{FinishedAt: end}}}
	}
	running := ContainerStatus{Name: "r", State: ContainerState{Running: &ContainerStateRunning{}}}
	ready := func(status ConditionStatus, since time.Time) []PodCondition {
		return []PodCondition{{Type: "Other", Status: ConditionFalse, LastTransitionTime: at(9)}, {Type: PodReady, Status: status, LastTransitionTime: since}}
	}
	sidecar := []Container{{Name: "init"}, {Name: "s1", RestartPolicy: RestartPolicyAlways}, {Name: "s2", RestartPolicy: RestartPolicyAlways}}
	type statuses = []ContainerStatus
	for _, tt := range []struct {
		name   string
		change func(p *Pod)
		want   time.Time
	}{
		{"created", func(p *Pod) {}, at(1)},
		{"deleted", func(p *Pod) { p.DeletionTimestamp = at(3) }, at(3)},
		{"deleted with a grace period", func(p *Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = at(3), pointerTo[int64](30) }, at(3).Add(-30 * time.Second)},
		{"not ready", func(p *Pod) { p.DeletionTimestamp, p.Status.Conditions = at(3), ready(ConditionFalse, at(2)) }, at(2)},
		{"not ready, nobody knows since when", func(p *Pod) { p.DeletionTimestamp, p.Status.Conditions = at(3), ready(ConditionFalse, time.Time{}) }, at(3)},
		{"ready", func(p *Pod) { p.Status.Conditions = ready(ConditionTrue, at(2)) }, at(1)},
		{"perhaps ready", func(p *Pod) { p.Status.Conditions = ready(ConditionUnknown, at(2)) }, at(1)},
		{"all containers", func(p *Pod) {
			p.Status.Conditions = ready(ConditionFalse, at(9))
			p.Status.ContainerStatuses = statuses{ended("a", at(4)), ended("b", at(6)), ended("c", at(5))}
		}, at(6)},
		{"a container runs", func(p *Pod) {
			p.Status.Conditions, p.Status.ContainerStatuses = ready(ConditionFalse, at(2)), statuses{ended("a", at(4)), running}
		}, at(2)},
		{"a container without an end", func(p *Pod) {
			p.Status.Conditions, p.Status.ContainerStatuses = ready(ConditionFalse, at(2)), statuses{ended("a", time.Time{}), ended("b", at(4))}
		}, at(2)},
		{"init containers do not count", func(p *Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar[:1], statuses{ended("a", at(4))}
			p.Status.InitContainerStatuses = statuses{ended("init", at(8))}
		}, at(4)},
		{"sidecars do", func(p *Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar, statuses{ended("a", at(4))}
			p.Status.InitContainerStatuses = statuses{ended("s1", at(8)), ended("init", at(9)), ended("s2", at(7))}
		}, at(8)},
		{"a sidecar runs", func(p *Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar, statuses{ended("a", at(4))}
			p.Status.InitContainerStatuses = statuses{ended("s1", at(8)), {Name: "s2"}}
		}, at(1)},
		{"only a sidecar has ended", func(p *Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar, statuses{running, ended("a", at(9))}
			p.Status.InitContainerStatuses = statuses{ended("s1", at(8))}
		}, at(8)},
	} {
		p := &Pod{ObjectMeta: ObjectMeta{CreationTimestamp: at(1)}}
		tt.change(p)
		if got := p.FinishTime(); !got.Equal(tt.want) {
			t.Errorf("%s: finished at %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := (&Pod{}).FinishTime(); !got.IsZero() {
		t.Errorf("a pod that says nothing finished at %v", got)
	}
}
