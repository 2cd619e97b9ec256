package batch_test

import (
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// The first available source decides when a pod finished.
func TestFinishTimeSources(t *testing.T) {
	at := func(n int) time.Time {
		return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	}
	ended := func(name string, end time.Time) batch.ContainerStatus {
		return batch.ContainerStatus{Name: name, State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{FinishedAt: end}}}
	}
	running := batch.ContainerStatus{Name: "r", State: batch.ContainerState{Running: &batch.ContainerStateRunning{}}}
	ready := func(status batch.ConditionStatus, since time.Time) []batch.PodCondition {
		return []batch.PodCondition{{Type: "Other", Status: batch.ConditionFalse, LastTransitionTime: at(9)}, {Type: batch.PodReady, Status: status, LastTransitionTime: since}}
	}
	sidecar := []batch.Container{{Name: "init"}, {Name: "s1", RestartPolicy: batch.RestartPolicyAlways}, {Name: "s2", RestartPolicy: batch.RestartPolicyAlways}}
	type statuses = []batch.ContainerStatus
	for _, tt := range []struct {
		name   string
		change func(p *batch.Pod)
		want   time.Time
	}{
		{"created", func(p *batch.Pod) {}, at(1)},
		{"deleted", func(p *batch.Pod) { p.DeletionTimestamp = at(3) }, at(3)},
		{"deleted with a grace period", func(p *batch.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = at(3), ptr[int64](30) }, at(3).Add(-30 * time.Second)},
		{"not ready", func(p *batch.Pod) {
			p.DeletionTimestamp, p.Status.Conditions = at(3), ready(batch.ConditionFalse, at(2))
		}, at(2)},
		{"not ready, nobody knows since when", func(p *batch.Pod) {
			p.DeletionTimestamp, p.Status.Conditions = at(3), ready(batch.ConditionFalse, time.Time{})
		}, at(3)},
		{"ready", func(p *batch.Pod) { p.Status.Conditions = ready(batch.ConditionTrue, at(2)) }, at(1)},
		{"perhaps ready", func(p *batch.Pod) { p.Status.Conditions = ready(batch.ConditionUnknown, at(2)) }, at(1)},
		{"all containers", func(p *batch.Pod) {
			p.Status.Conditions = ready(batch.ConditionFalse, at(9))
			p.Status.ContainerStatuses = statuses{ended("a", at(4)), ended("b", at(6)), ended("c", at(5))}
		}, at(6)},
		{"a container runs", func(p *batch.Pod) {
			p.Status.Conditions, p.Status.ContainerStatuses = ready(batch.ConditionFalse, at(2)), statuses{ended("a", at(4)), running}
		}, at(2)},
		{"a container without an end", func(p *batch.Pod) {
			p.Status.Conditions, p.Status.ContainerStatuses = ready(batch.ConditionFalse, at(2)), statuses{ended("a", time.Time{}), ended("b", at(4))}
		}, at(2)},
		{"init containers do not count", func(p *batch.Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar[:1], statuses{ended("a", at(4))}
			p.Status.InitContainerStatuses = statuses{ended("init", at(8))}
		}, at(4)},
		{"sidecars do", func(p *batch.Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar, statuses{ended("a", at(4))}
			p.Status.InitContainerStatuses = statuses{ended("s1", at(8)), ended("init", at(9)), ended("s2", at(7))}
		}, at(8)},
		{"a sidecar runs", func(p *batch.Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar, statuses{ended("a", at(4))}
			p.Status.InitContainerStatuses = statuses{ended("s1", at(8)), {Name: "s2"}}
		}, at(1)},
		{"only a sidecar has ended", func(p *batch.Pod) {
			p.Spec.InitContainers, p.Status.ContainerStatuses = sidecar, statuses{running, ended("a", at(9))}
			p.Status.InitContainerStatuses = statuses{ended("s1", at(8))}
		}, at(8)},
	} {
		p := &batch.Pod{ObjectMeta: batch.ObjectMeta{CreationTimestamp: at(1)}}
		tt.change(p)
		if got := p.FinishTime(); !got.Equal(tt.want) {
			t.Errorf("%s: finished at %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := (&batch.Pod{}).FinishTime(); !got.IsZero() {
		t.Errorf("a pod that says nothing finished at %v", got)
	}
}
