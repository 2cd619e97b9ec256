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
