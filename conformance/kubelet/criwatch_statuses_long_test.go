//go:build long

package kubelet

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// statuses are the ended containers that the API has shown, by POD/CONTAINER.
type statuses struct {
	mu       sync.Mutex
	stopped  bool
	gone     int // pods
	shown    map[string][]ending
	guessed  map[string]bool // the API has shown an end of no known container
	restarts map[string]int
}

// startStatuses watches pods until the test ends.
func startStatuses(t *testing.T, pods typedcorev1.PodInterface) *statuses {
	t.Helper()
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := pods.Watch(context.WithoutCancel(t.Context()), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	s := &statuses{shown: map[string][]ending{}, guessed: map[string]bool{}, restarts: map[string]int{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			s.add(t, e)
		}
	}()
	t.Cleanup(func() {
		s.stop()
		w.Stop()
		<-done
	})
	return s
}

func (s *statuses) add(t *testing.T, e apiwatch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		t.Errorf("the watch of pods: %v %v", e.Type, e.Object)
		return
	}
	if e.Type == apiwatch.Deleted {
		s.gone++
	}
	for _, c := range pod.Status.ContainerStatuses {
		name := pod.Name + "/" + c.Name
		s.restarts[name] = int(c.RestartCount)
		for _, x := range []*corev1.ContainerStateTerminated{c.LastTerminationState.Terminated, c.State.Terminated} {
			if x == nil {
				continue
			}
			if x.ContainerID == "" && x.Reason == "ContainerStatusUnknown" {
				s.guessed[name] = true
				continue
			}
			end := ending{strings.TrimPrefix(x.ContainerID, "containerd://"), x.ExitCode, x.Reason, x.FinishedAt.Time}
			if i := slices.IndexFunc(s.shown[name], func(x ending) bool { return x.id == end.id }); i < 0 {
				s.shown[name] = append(s.shown[name], end)
			} else {
				s.shown[name][i] = end
			}
		}
	}
}

func (s *statuses) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

// deleted returns the number of deleted pods.
func (s *statuses) deleted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}
