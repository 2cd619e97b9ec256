package jobcontroller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
)

// leaveRoom gives a Job annotations that leave so many bytes.
func leaveRoom(j *batchv1.Job, bytes int) {
	const name = "example.com/long"
	if j.Annotations == nil {
		j.Annotations = map[string]string{}
	}
	delete(j.Annotations, name)
	for name, text := range j.Annotations {
		bytes += len(name) + len(text)
	}
	j.Annotations[name] = strings.Repeat("x", validation.TotalAnnotationSizeLimitB-len(name)-bytes)
}

// A Job has hardly any room for annotations. The controller runs it like Kubernetes,
// counts, releases and replaces its pods, and delays start over with the next leader. A
// single Event reports this under any leader, even if the room was filled later.
func TestJobWithoutRoomForItsMemoryIsRunWithoutOne(t *testing.T) {
	for _, tt := range []struct {
		room          int // in bytes
		with, without bool
	}{
		{0, false, true},
		{len(AnnotationMemory), false, true},
		{80, true, true},
		{1000, true, false},
	} {
		t.Run(fmt.Sprintf("%d bytes", tt.room), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *apiServer) {
				with, without := 0, 0 // statuses with a memory and without one
				s.onStatus = func(_, job *batchv1.Job) {
					if job.Annotations[AnnotationMemory] == "" {
						without++
					} else {
						with++
					}
				}
				c := start(t, s, Options{}, nil)
				s.createJob(newJob("a", func(j *batchv1.Job) {
					leaveRoom(j, tt.room)
					j.Spec.Completions = new(int32(2))
				}))
				after(2 * time.Second)
				endAll(s, 1)
				after(12 * time.Second)
				endAll(s, 1)
				after(5 * time.Second)
				c.stop()
				start(t, s, Options{}, nil)
				after(30 * time.Second)
				endAll(s, 0)
				after(5 * time.Second)
				endAll(s, 0)
				after(5 * time.Second)
				job := s.job("a")
				if !finished(job) || job.Status.Failed != 2 || job.Status.Succeeded != 2 || trackedPods(s) != 0 {
					t.Errorf("%+v, %d pods have their finalizer", job.Status, trackedPods(s))
				}
				if n := s.eventReasons(); n["NoRoomForMemory"] != min(without, 1) || n["FailedStatusUpdate"] != 0 {
					t.Errorf("Events %v, %d statuses without a memory", n, without)
				}
				if with > 0 != tt.with || without > 0 != tt.without {
					t.Errorf("%d statuses with a memory and %d without one", with, without)
				}
			})
		})
	}
}

// Once room becomes free the memory is written. If the room is filled again, the Event
// is not repeated.
func TestMemoryIsWrittenOnceThereIsRoom(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { leaveRoom(j, 0) }))
		for _, room := range []int{-1, 0} {
			after(2 * time.Second)
			endAll(s, 1)
			s.changeJob("a", func(j *batchv1.Job) {
				if delete(j.Annotations, "example.com/long"); room == 0 {
					delete(j.Annotations, AnnotationMemory)
					leaveRoom(j, 0)
				}
			})
			after(15 * time.Second)
			if m, there, err := decodeState(s.job("a").Annotations[AnnotationMemory], s.job("a").UID); err != nil || there != (room < 0) || there && m.Failures != 1 {
				t.Errorf("room %d: %+v, %v, %v", room, m, there, err)
			}
			after(20 * time.Second)
		}
		if n := s.eventReasons(); n["NoRoomForMemory"] != 1 {
			t.Errorf("Events %v", n)
		}
	})
}

// For ten minutes no status can be written. Each attempt is an Event and counts.
// Afterwards the Job continues within seconds.
func TestStatusThatCannotBeWrittenIsReported(t *testing.T) {
	for outcome, err := range map[string]error{"refused": forbidden("no right to"), "unanswered": apierrors.NewTimeoutError("late", 0)} {
		bubble(t, func(t *testing.T, s *apiServer) {
			broken, tried := true, 0
			c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				if call == "PATCH jobs/status" && broken {
					tried++
					return err, false
				}
				return nil, false
			}})
			s.createJob(newJob("a", nil))
			after(10 * time.Minute)
			if tried < 30 || tried > 70 {
				t.Errorf("%s: %d attempts within ten minutes", outcome, tried)
			}
			name := "restart_job_status_write_failures_total " + outcome
			if n := counted(t, c.Metrics())[name]; n != float64(tried) {
				t.Errorf("%s: %v failures are counted of %d", outcome, n, tried)
			}
			if n, _ := failedPasses(t, c); n != float64(tried) {
				t.Errorf("%s: %v of %d passes failed", outcome, n, tried)
			}
			if s.eventReasons()["FailedStatusUpdate"] == 0 {
				t.Errorf("%s: Events %v", outcome, s.eventReasons())
			}
			s.mu.Lock()
			broken = false
			s.mu.Unlock()
			after(writeAgain)
			if job := s.job("a"); job.Status.Active != 1 {
				t.Errorf("%s: once it can be written: %+v", outcome, job.Status)
			}
		})
	}
}

// For minutes the API server answers only watches. Afterwards the Job continues within
// seconds.
func TestJobGoesOnSoonAfterAnOutage(t *testing.T) {
	for _, outage := range []time.Duration{600 * time.Second, 620 * time.Second, 640 * time.Second} {
		bubble(t, func(t *testing.T, s *apiServer) {
			down := false
			set := func(is bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				down = is
			}
			start(t, s, Options{}, &faults{hook: func(context.Context, string) (error, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				if down {
					return apierrors.NewServiceUnavailable("down"), false
				}
				return nil, false
			}})
			s.createJob(newJob("a", nil))
			after(2 * time.Second)
			set(true)
			endAll(s, 0)
			after(outage)
			set(false)
			after(writeAgain)
			if job := s.job("a"); !finished(job) || s.eventReasons()["Completed"] != 1 {
				t.Errorf("after %v: %+v, Events %v", outage, job.Status, s.eventReasons())
			}
		})
	}
}

// Fields of a newer API server unknown to client-go reach the pods, and stay in the
// status and its conditions.
func TestFieldsThatOnlyTheServerKnowsSurvive(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		s.onJob = func(job *batchv1.Job) {
			s.unknown[keyOf(job.Namespace, job.Name)] = map[string]any{
				"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
					"novelty": "pod", "containers": []any{map[string]any{"novelty": "container"}},
				}}},
				"status": map[string]any{"novelty": "status", "conditions": []any{map[string]any{"novelty": "condition"}}},
			}
		}
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(2)), new(int32(2))
			j.Status.Conditions = []batchv1.JobCondition{{Type: "example.com/of-others", Status: corev1.ConditionTrue}}
		}))
		after(2 * time.Second)
		if len(s.pods()) != 2 {
			t.Fatalf("%d pods", len(s.pods()))
		}
		for _, pod := range s.pods() {
			spec := s.bodies[pod.Name]["spec"].(map[string]any)
			container := spec["containers"].([]any)[0].(map[string]any)
			env := fmt.Sprint(container["env"])
			if spec["novelty"] != "pod" || container["novelty"] != "container" || !strings.Contains(env, "JOB_COMPLETION_INDEX") || spec["hostname"] != fmt.Sprint("a-", simIndex(pod)) {
				t.Errorf("%v", spec)
			}
		}
		endAll(s, 0)
		after(5 * time.Second)
		status := fieldsOf(s.stored(s.job("a")))["status"].(map[string]any)
		if !finished(s.job("a")) || status["novelty"] != "status" {
			t.Errorf("%v", status)
		}
		found := 0
		for _, c := range status["conditions"].([]any) {
			if c := c.(map[string]any); c["type"] == "example.com/of-others" && c["novelty"] == "condition" {
				found++
			}
		}
		if found != 1 || len(s.job("a").Status.Conditions) != 3 {
			t.Errorf("%v", status["conditions"])
		}
		if n := s.called("GET cached jobs"); n != 1 {
			t.Errorf("the template was read %d times", n)
		}
	})
}

// The template is read from the API server. If the Job has changed since it was
// observed, the controller plans on the new Job, and makes no pod from an older
// template.
func TestTemplateOfALaterJobIsNotMixedWithAnOlderPlan(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(time.Hour, 0))
		after(2 * time.Hour)
		s.createJob(newJob("a", nil))
		after(time.Minute)
		s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
		after(time.Hour)
		if n := s.called("POST pods"); n != 0 || !has(s.job("a"), batchv1.JobSuspended) {
			t.Errorf("%d pods: %+v", n, s.job("a").Status)
		}
	})
}
