package jobcontroller

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/jobpolicy"
)

// eventSources returns the number of Events on the server by source component.
func (s *apiServer) eventSources() map[corev1.EventSource]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[corev1.EventSource]int{}
	for _, e := range s.events {
		n[e.Source]++
	}
	return n
}

// In place of Kubernetes' own controller, the Controller's Events have the source of
// that controller.
func TestEventsNameTheControllerWhosePlaceItIs(t *testing.T) {
	for by, want := range map[string]string{BuiltInManagedBy: "job-controller", DefaultManagedBy: "restart-job-controller"} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: by}}, nil)
			s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = &by }))
			after(5 * time.Second)
			if got := s.eventSources(); len(got) != 1 || got[corev1.EventSource{Component: want}] == 0 {
				t.Errorf("%s: %v, want %s", by, got, want)
			}
		})
	}
}

// A pass that creates a pod after the Controller was told to end still writes its
// Event.
func TestPassUnderWayHasItsEvents(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			switch call {
			case "POST pods":
				time.Sleep(5 * time.Second)
			case "PATCH jobs/status":
				time.Sleep(time.Second) // the Event is written meanwhile
			}
			return nil, false
		}})
		after(time.Second)
		s.createJob(newJob("a", nil))
		after(2 * time.Second)
		c.stop()
		if n := s.eventReasons()["SuccessfulCreate"]; n != 1 || len(s.pods()) != 1 {
			t.Errorf("%d Events about %d pods, want 1 about 1", n, len(s.pods()))
		}
	})
}

// Run returns after the Events of the last pass under way are written, even if that
// takes a while.
func TestLastEventsAreWritten(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			switch call {
			case "POST pods":
				time.Sleep(5 * time.Second)
			case "POST events":
				time.Sleep(time.Second)
			}
			return nil, false
		}})
		after(time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(3)) }))
		after(2 * time.Second)
		c.stop()
		if n := s.eventReasons()["SuccessfulCreate"]; n != 3 || len(s.pods()) != 3 {
			t.Errorf("%d Events about %d pods, want 3 about 3", n, len(s.pods()))
		}
	})
}

// Run returns without leaving a request even if the API server answers no request about
// Events. The bubble fails if a request is left.
func TestEventsThatCannotBeWrittenKeepNobodyWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, &faults{hook: func(ctx context.Context, call string) (error, bool) {
			if call == "POST events" {
				<-ctx.Done()
			}
			return nil, false
		}})
		s.createJob(newJob("a", nil))
		after(5 * time.Second)
		began := time.Now()
		c.stop()
		if took := time.Since(began); took != eventsWithin {
			t.Errorf("it took %v to end, want %v", took, eventsWithin)
		}
	})
}
