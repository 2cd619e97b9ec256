package jobcontroller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restartkit/restart/jobpolicy"
)

func forbidden(why string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(why))
}

// Creations come in batches of 1, 2 and 4 pods. If a quota refuses pods after the
// third, the controller stops after that batch.
func TestCreationsStartSlowly(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		s.allow = func(*corev1.Pod) error {
			if len(s.podsLocked()) >= 3 {
				return forbidden("exceeded quota")
			}
			return nil
		}
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.Completions, j.Spec.Parallelism = new(int32(100)), new(int32(100))
		}))
		after(900 * time.Millisecond)
		if n := s.called("POST pods"); n != 1+2+4 {
			t.Errorf("%d creations, want 7", n)
		}
		after(10 * time.Minute)
		if n := s.called("POST pods"); n > 7+30 {
			t.Errorf("%d creations within ten minutes", n)
		}
		if job := s.job("a"); job.Status.Active != 3 {
			t.Errorf("%+v", job.Status)
		}
	})
}

// terminating refuses a creation in a namespace that is being deleted.
func terminating() error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func TestTerminatingNamespaceIsNoTrouble(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		s.allow = func(*corev1.Pod) error { return terminating() }
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(9)), new(int32(9)) }))
		after(time.Hour)
		if n, reasons := s.called("POST pods"), s.eventReasons(); n > 3 || len(reasons) > 0 {
			t.Errorf("%d creations, Events %v", n, reasons)
		}
	})
}

func TestRefusedCreationsDoNotKeepEndsFromBeingRecorded(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		full := false
		s.allow = func(*corev1.Pod) error {
			if full {
				return forbidden("exceeded quota")
			}
			return nil
		}
		start(t, s, Options{Engine: jobpolicy.Engine{BaseDelay: time.Second}}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.Parallelism, j.Spec.Completions = new(int32(4)), new(int32(4))
		}))
		after(2 * time.Second)
		s.mu.Lock()
		full = true
		s.mu.Unlock()
		endAll(s, 1)
		after(time.Minute)
		if job := s.job("a"); job.Status.Failed != 4 || job.Status.Active != 0 || trackedPods(s) != 0 {
			t.Errorf("%+v, %d pods have their finalizer", job.Status, trackedPods(s))
		}
		if s.eventReasons()["FailedCreate"] == 0 {
			t.Errorf("Events: %v", s.eventReasons())
		}
		s.mu.Lock()
		full = false
		s.mu.Unlock()
		after(2 * time.Minute)
		if n := endAll(s, 0); n != 4 {
			t.Errorf("%d pods run when there is room again", n)
		}
	})
}

func TestExpectationsThatNeverSettleEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, time.Hour))
		after(2 * time.Hour)
		s.createJob(newJob("a", nil))
		after(expectationsEnd - time.Second)
		if n := s.called("POST pods"); n != 1 {
			t.Errorf("%d creations before they are given up", n)
		}
		after(10 * time.Second)
		if n := s.called("POST pods"); n != 2 {
			t.Errorf("%d creations after the first was given up", n)
		}
	})
}

// A creation takes seconds. Once the Job is shown as suspended, deleted or replaced
// meanwhile, no other pod is created.
func TestCreationsEndWhenTheJobChanges(t *testing.T) {
	for name, change := range map[string]func(s *apiServer){
		"suspended": func(s *apiServer) { s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }) },
		"deleted": func(s *apiServer) {
			s.changeJob("a", func(j *batchv1.Job) { j.DeletionTimestamp, j.Generation = new(metav1.Now()), j.Generation+1 })
		},
		"gone": func(s *apiServer) { s.removeJob("a") },
		"replaced": func(s *apiServer) {
			s.removeJob("a")
			s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		},
		"labelled": func(s *apiServer) {
			s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"by": "a user"} })
		},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			first := true
			start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
				if call == "POST pods" && first {
					first = false
					change(s)
					time.Sleep(3 * time.Second)
				}
				return nil, false
			}})
			s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(5)), new(int32(5)) }))
			after(30 * time.Second)
			want := 1
			if name == "labelled" {
				want = 5
			}
			if n := s.called("POST pods"); n != want {
				t.Errorf("%s: %d creations, want %d", name, n, want)
			}
		})
	}
}

func TestConflictIsTriedAgainOnAFreshJob(t *testing.T) {
	for _, unread := range []int{0, 2} { // attempts to read the Job that fail
		bubble(t, func(t *testing.T, s *apiServer) {
			f := lagging(time.Hour, 0)
			refused := 0
			f.hook = func(_ context.Context, call string) (error, bool) {
				if call == "GET jobs" && refused < unread {
					refused++
					return forbidden("no right to"), false
				}
				return nil, false
			}
			start(t, s, Options{}, f)
			s.createJob(newJob("a", nil))
			after(2 * time.Hour)
			s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"by": "somebody else"} })
			endAll(s, 0)
			after(time.Minute)
			if job := s.job("a"); !finished(job) || job.Labels["by"] == "" || s.called("GET jobs") != 1 {
				t.Errorf("%+v, labels %v, read %d times", job.Status, job.Labels, s.called("GET jobs"))
			}
			if s.eventReasons()["FailedStatusUpdate"] != 0 {
				t.Errorf("Events %v", s.eventReasons())
			}
		})
	}
}

// Although every answer to a creation is lost and the informer lags, each pod is
// created once.
func TestLostAnswersCreateNoPodTwice(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		losing := 6
		f := lagging(0, 10*time.Second)
		f.hook = func(_ context.Context, call string) (error, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if call == "POST pods" && losing > 0 {
				losing--
				return nil, true
			}
			return nil, false
		}
		start(t, s, Options{}, f)
		after(15 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(3)) }))
		after(time.Minute)
		if n := len(s.pods()); n != 3 {
			t.Errorf("%d pods, want 3", n)
		}
	})
}

// While the informer lags, the answer to a creation is lost, and a quota filled by the
// first attempt refuses the second.
func TestLostAnswerAndThenAQuotaCreatesNoPodTwice(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		s.allow = func(*corev1.Pod) error {
			if s.calls["POST pods"] == 2 {
				return forbidden("exceeded quota")
			}
			return nil
		}
		f := lagging(0, 10*time.Second)
		f.hook = func(_ context.Context, call string) (error, bool) {
			return nil, call == "POST pods" && s.called(call) == 0
		}
		start(t, s, Options{}, f)
		after(15 * time.Second)
		s.createJob(newJob("a", nil))
		after(time.Minute)
		if n, calls := len(s.pods()), s.called("POST pods"); n != 1 || calls != 2 {
			t.Errorf("%d pods by %d creations, want 1 by 2", n, calls)
		}
	})
}

// Although all answers to status writes are lost, the controller finds each write, and
// the metrics count every end once.
func TestLostAnswersToStatusesAreFoundOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		f := &faults{hook: func(_ context.Context, call string) (error, bool) { return nil, call == "PATCH jobs/status" }}
		c := start(t, s, Options{}, f)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(6)) }))
		for range 2 {
			after(5 * time.Second)
			endAll(s, 0)
		}
		after(5 * time.Second)
		if job := s.job("a"); !finished(job) || job.Status.Succeeded != 6 {
			t.Errorf("%+v", job.Status)
		}
		if got := counted(t, c.Metrics()); got["restart_job_pods_finished_total NonIndexed succeeded"] != 6 || got["restart_job_finished_total NonIndexed CompletionsReached succeeded"] != 1 {
			t.Errorf("%v", got)
		}
		if got, want := fmt.Sprint(s.eventReasons()), "map[Completed:1 SuccessfulCreate:6]"; got != want {
			t.Errorf("Events: %s, want %s", got, want)
		}
	})
}

func TestStatusThatIsSetBackIsTakenAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = new(int32(3)) }))
		after(3 * time.Second)
		endAll(s, 0)
		after(3 * time.Second)
		s.changeJob("a", func(j *batchv1.Job) { j.Status = batchv1.JobStatus{StartTime: j.Status.StartTime} })
		for range 4 {
			after(3 * time.Second)
			endAll(s, 0)
		}
		after(3 * time.Second)
		if job := s.job("a"); !finished(job) || job.Status.Succeeded != 3 {
			t.Errorf("%+v", job.Status)
		}
	})
}

// Ending the controller ends all requests of a client whose requests hang, fail and are
// carried out late. The bubble fails if a goroutine remains.
func TestNothingIsLeftWhenRunReturns(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		f := &faults{hook: func(context.Context, string) (error, bool) {
			return apierrors.NewInternalError(errors.New("broken")), false
		}}
		c := start(t, s, Options{}, f)
		s.createJob(newJob("a", nil))
		after(time.Minute)
		c.stop()
		synctest.Wait()
		if err := c.Run(t.Context()); err == nil {
			t.Error("it runs twice")
		}
	})
}

// Creations take 5 s. A Controller told to end after 2 s waits for them and writes the
// status, so the next one finds no request under way.
func TestPassUnderWayEndsBeforeRunReturns(t *testing.T) {
	for _, test := range []struct {
		creation, run time.Duration
		created       int
	}{{5 * time.Second, 5 * time.Second, 1}, {time.Hour, 2*time.Second + endWithin, 0}} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{}, &faults{hook: func(ctx context.Context, call string) (error, bool) {
				if call == "POST pods" {
					select {
					case <-ctx.Done():
					case <-time.After(test.creation):
					}
				}
				return nil, false
			}})
			after(time.Second)
			began := time.Now()
			s.createJob(newJob("a", nil))
			after(2 * time.Second)
			c.stop()
			if took := time.Since(began); took != test.run {
				t.Errorf("creations of %v: it took %v, want %v", test.creation, took, test.run)
			}
			if n, active := len(s.pods()), int(s.job("a").Status.Active); n != test.created || active != test.created {
				t.Errorf("creations of %v: %d pods, %d in the status, want %d", test.creation, n, active, test.created)
			}
		})
	}
}

func TestUnansweredRequestsAreToldFromRefusals(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {errReset, true}, {forbidden("quota"), false},
		{apierrors.NewInternalError(errReset), true}, {apierrors.NewServerTimeout(schema.GroupResource{}, "create", 1), true},
		{apierrors.NewTimeoutError("late", 1), true}, {apierrors.NewTooManyRequests("busy", 1), false},
		{apierrors.NewServiceUnavailable("down"), true}, {apierrors.NewAlreadyExists(schema.GroupResource{}, "a"), false},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity}}, false},
		{fmt.Errorf("wrapped: %w", forbidden("quota")), false}, {&apierrors.StatusError{}, true},
	} {
		if got := unanswered(test.err); got != test.want {
			t.Errorf("%v: %v, want %v", test.err, got, test.want)
		}
	}
}
