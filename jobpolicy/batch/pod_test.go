package batch_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

var finished = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

func TestFinishEndsEveryContainer(t *testing.T) {
	for code, phase := range map[int32]batch.PodPhase{0: batch.PodSucceeded, 1: batch.PodFailed, 255: batch.PodFailed, -1: batch.PodFailed} {
		for _, names := range [][]string{{""}, {"main"}, {"main", "logger"}} {
			p := &batch.Pod{}
			if names[0] != "" {
				for _, name := range names {
					p.Spec.Containers = append(p.Spec.Containers, batch.Container{Name: name})
				}
			}
			p.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "old", Ready: true}}
			p.Finish(code, finished)
			if p.Status.Phase != phase || !p.Finished() || !p.FinishTime().Equal(finished) || len(p.Status.ContainerStatuses) != len(names) {
				t.Fatalf("%d: %+v", code, p.Status)
			}
			for i, c := range p.Status.ContainerStatuses {
				want := batch.ContainerStatus{Name: names[i], State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code, FinishedAt: finished}}}
				if diff := cmp.Diff(want, c); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
}

func TestNewPodIsTrackedAndActive(t *testing.T) {
	for index, annotations := range map[int]map[string]string{-1: nil, 0: {batch.JobCompletionIndexAnnotation: "0"}, 12: {batch.JobCompletionIndexAnnotation: "12"}} {
		p := batch.NewPod("u", index)
		if p.UID != "u" || p.CompletionIndex() != index || !p.Tracked() || p.Finished() || !cmp.Equal(p.Annotations, annotations) {
			t.Errorf("%d: %+v", index, p)
		}
	}
}

func TestCountsOfAnnotations(t *testing.T) {
	const most = 1<<31 - 1
	for _, tt := range []struct{ set, want [2]int }{
		{[2]int{0, 0}, [2]int{0, 0}}, {[2]int{3, 2}, [2]int{3, 2}}, {[2]int{-1, -1}, [2]int{0, 0}}, {[2]int{most, most}, [2]int{most, most}},
	} {
		m := batch.ObjectMeta{}
		m.SetFailureCounts(7, 7)
		m.SetFailureCounts(tt.set[0], tt.set[1])
		if failures, ignored := m.FailureCounts(); [2]int{failures, ignored} != tt.want {
			t.Errorf("%v: %d, %d", tt.set, failures, ignored)
		}
		if _, ok := m.Annotations[batch.JobIndexIgnoredFailureCountAnnotation]; ok != (tt.want[1] > 0) {
			t.Errorf("%v: %v", tt.set, m.Annotations)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5", "99999999999", "2147483648"} {
		m := batch.ObjectMeta{Annotations: map[string]string{
			batch.JobCompletionIndexAnnotation: text, batch.JobIndexFailureCountAnnotation: text, batch.JobIndexIgnoredFailureCountAnnotation: text}}
		if failures, ignored := m.FailureCounts(); failures != 0 || ignored != 0 || m.CompletionIndex() != -1 {
			t.Errorf("%q: %d, %d, %d", text, failures, ignored, m.CompletionIndex())
		}
	}
	var none batch.ObjectMeta
	if failures, ignored := none.FailureCounts(); failures != 0 || ignored != 0 || none.CompletionIndex() != -1 {
		t.Errorf("%d, %d, %d", failures, ignored, none.CompletionIndex())
	}
}

func TestIndexSetsOfAStatus(t *testing.T) {
	for text, want := range map[string]struct {
		set string
		ok  bool
	}{"": {"", true}, "0-4,7": {"0-4,7", true}, "7,0-4": {"0-4,7", false}, "1,x,3": {"1,3", false}} {
		var s batch.JobStatus
		quoted, _ := json.Marshal(text)
		if err := json.Unmarshal([]byte(`{"completedIndexes": `+string(quoted)+`, "failedIndexes": `+string(quoted)+`}`), &s); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func() (indexset.Set, error){"Completed": s.CompletedIndexSet, "Failed": s.FailedIndexSet} {
			set, err := read()
			var at *indexset.ParseError
			if set.String() != want.set || (err == nil) != want.ok || errors.As(err, &at) == want.ok {
				t.Errorf("%s %q: %v, %v", name, text, set, err)
			}
		}
	}
	if set, err := new(batch.JobStatus).FailedIndexSet(); !set.IsZero() || err != nil {
		t.Errorf("%v, %v", set, err)
	}
}

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
