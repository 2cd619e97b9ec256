package jobcontroller

import (
	"context"
	"net"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// failingCreations answers the creations of pods with these numbers, from 1, with an
// error, and does not carry them out.
func failingCreations(s *apiServer, err error, numbers ...int) *faults {
	sent := 0
	return &faults{hook: func(_ context.Context, call string) (error, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if call != "POST pods" {
			return nil, false
		}
		if sent++; slices.Contains(numbers, sent) {
			return err, false
		}
		return nil, false
	}}
}

// lostName returns the name of the only unanswered creation of a Job.
func lostName(t *testing.T, c *running, job *batchv1.Job) string {
	t.Helper()
	lost := c.records.of(keyOf(job.Namespace, job.Name), job.UID).unacknowledged.creations
	if len(lost) != 1 {
		t.Fatalf("%d creations had no answer", len(lost))
	}
	return lost[0].name
}

// The first creation fails before anything is stored, with an answer that shows this or
// not. Meanwhile the Job no longer wants a pod, so no pod is created.
func TestFailedCreationIsMadeAgainOnlyIfTheJobStillWantsIt(t *testing.T) {
	changes := map[string]func(*batchv1.Job){
		"suspended": func(j *batchv1.Job) { j.Spec.Suspend = new(true) },
		"being deleted": func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{"foregroundDeletion"}
		},
		"scaled to nothing": func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) },
	}
	for why, err := range map[string]error{"refused by a webhook": errWebhook, "without an answer": apierrors.NewTimeoutError("late", 0)} {
		for became, change := range changes {
			bubble(t, func(t *testing.T, s *apiServer) {
				start(t, s, Options{}, failingCreations(s, err, 1))
				s.createJob(newJob("a", nil))
				after(300 * time.Millisecond)
				s.changeJob("a", change)
				after(2 * expectationsEnd)
				if n := len(s.pods()); n > 0 || s.called("POST pods") != 0 {
					t.Errorf("%s, then %s: %d pods", why, became, n)
				}
			})
		}
	}
}

// After a failed creation, a queueing system suspends the Job, changes its template and
// resumes it. The pod is made from the new template, with the name of the one that may
// still come.
func TestCreationIsMadeAgainWithTheTemplateOfItsJob(t *testing.T) {
	for why, err := range map[string]error{"refused by a webhook": errWebhook, "without an answer": apierrors.NewTimeoutError("late", 0)} {
		bubble(t, func(t *testing.T, s *apiServer) {
			f := failingCreations(s, err, 1)
			f.lag = map[string]time.Duration{"jobs": 800 * time.Millisecond}
			start(t, s, Options{}, f)
			after(2 * time.Second)
			s.createJob(newJob("a", nil))
			after(900 * time.Millisecond)
			s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
			s.changeJob("a", func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "a"} })
			s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(false) })
			after(10 * time.Second)
			if pods := s.pods(); len(pods) != 1 {
				t.Errorf("%s: %d pods", why, len(pods))
			} else if pods[0].Spec.NodeSelector["zone"] != "a" {
				t.Errorf("%s: the pod has the node selector %v", why, pods[0].Spec.NodeSelector)
			}
		})
	}
}

// A creation is carried out 40 s after its answer was lost. Until then the suspended
// Job does not become Suspended, because its template could be changed. The pod belongs
// to the Job, and is deleted.
func TestPodThatComesLateIsTheJobs(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, failingCreations(s, apierrors.NewTimeoutError("late", 0), 1))
		job := s.createJob(newJob("a", nil))
		after(300 * time.Millisecond)
		s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
		after(40 * time.Second)
		name := lostName(t, c, job)
		if has(s.job("a"), batchv1.JobSuspended) {
			t.Errorf("%+v", s.job("a").Status)
		}
		addPodOf(s, name)
		after(10 * time.Second)
		s.end(name, 143)
		after(10 * time.Second)
		if job := s.job("a"); !has(job, batchv1.JobSuspended) || s.called("DELETE pods") != 1 || trackedPods(s) != 0 || job.Status.Failed != 0 {
			t.Errorf("%+v, %d deletions, %d pods have their finalizer", job.Status, s.called("DELETE pods"), trackedPods(s))
		}
	})
}

// Of three indexes one has a pod, and the creations of two had no answer. The Job is
// scaled to one index, whose pod fails. Its replacement waits until the other two can
// no longer come, because there would be more pods than wanted. After scaling up again
// the two have their names.
func TestUnwantedLostCreationsHoldOthersBack(t *testing.T) {
	for _, up := range []bool{false, true} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{}, failingCreations(s, apierrors.NewTimeoutError("late", 0), 2, 3))
			scale := func(n int32) {
				s.changeJob("a", func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = new(n), new(n) })
			}
			s.createJob(newJob("a", func(j *batchv1.Job) {
				j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(3)), new(int32(3))
			}))
			after(300 * time.Millisecond)
			scale(1)
			after(time.Second)
			endAll(s, 1)
			after(time.Minute)
			if n := s.called("POST pods"); n != 1 {
				t.Errorf("%d pods were created while others may come", n)
			}
			want := 2
			if up {
				scale(3)
				want = 4
			}
			after(10 * time.Second)
			if n := s.called("POST pods"); up && n != want {
				t.Errorf("%d pods were created, of which two have their names, want %d", n, want)
			}
			after(expectationsEnd)
			if n := s.called("POST pods"); n != want {
				t.Errorf("up %v: %d pods were created in the end, want %d", up, n, want)
			}
		})
	}
}

// An unwanted creation without an answer delays the end of the Job only as long as its
// pod may come.
func TestLostCreationIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, failingCreations(s, apierrors.NewServiceUnavailable("down"), 1))
		s.createJob(newJob("a", nil))
		after(300 * time.Millisecond)
		s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
		after(expectationsEnd - time.Second)
		if has(s.job("a"), batchv1.JobSuspended) {
			t.Errorf("while a pod may come: %+v", s.job("a").Status)
		}
		after(2 * time.Second)
		if !has(s.job("a"), batchv1.JobSuspended) || s.called("GET pods") != 0 {
			t.Errorf("when it cannot: %+v, %d pods were read", s.job("a").Status, s.called("GET pods"))
		}
	})
}

// A busy API server asks to be asked again in a second. Meanwhile the Job is suspended.
// client-go does not repeat the creation.
func TestCreationIsNotRepeatedByTheClient(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		f := failingCreations(s, apierrors.NewTooManyRequests("busy", 1), 1)
		f.lag = map[string]time.Duration{"jobs": 100 * time.Millisecond}
		start(t, s, Options{}, f)
		after(time.Second)
		s.createJob(newJob("a", nil))
		after(300 * time.Millisecond)
		s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
		after(time.Minute)
		if n := s.called("POST pods"); n != 0 {
			t.Errorf("%d pods were created for a suspended Job", n)
		}
	})
}

// If the name of a creation without an answer belongs to another pod, the Job's pod
// gets another name, even if the first attempt with that has no answer.
func TestLostCreationWhoseNameIsTakenIsMadeUnderAnother(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, failingCreations(s, apierrors.NewServiceUnavailable("down"), 1, 3))
		job := s.createJob(newJob("a", nil))
		after(300 * time.Millisecond)
		name := lostName(t, c, job)
		s.addPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
		after(10 * time.Second)
		if pods := s.pods(); len(pods) != 2 || s.job("a").Status.Active != 1 {
			t.Errorf("%d pods: %+v", len(pods), s.job("a").Status)
		}
		endAll(s, 0)
		after(10 * time.Second)
		if job := s.job("a"); !finished(job) {
			t.Errorf("nothing is left to wait for: %+v", job.Status)
		}
	})
}

func TestRefusedCreationsAreToldFromThoseThatMayComeLate(t *testing.T) {
	panicked := apierrors.NewGenericServerResponse(http.StatusInternalServerError, "POST", schema.GroupResource{Resource: "pods"}, "", "This request caused apiserver to panic.", 0, true)
	for _, test := range []struct {
		what string
		err  error
		want bool
	}{
		{"a webhook that fails", errWebhook, true},
		{"a quota that is not evaluated in time", apierrors.NewInternalError(context.DeadlineExceeded), true},
		{"a quota", forbidden("exceeded quota"), true},
		{"a name that is taken", apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "a"), true},
		{"an invalid pod", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), true},
		{"too many requests", apierrors.NewTooManyRequests("busy", 1), true},
		{"no credentials", apierrors.NewUnauthorized(""), true},
		{"a namespace that is gone", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns"), true},
		{"a body that is too large", apierrors.NewRequestEntityTooLargeError("3 MiB"), true},
		{"no connection", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, true},
		{"a pod that cannot be encoded", errRefused{errReset}, true},

		{"a handler that takes too long", apierrors.NewTimeoutError("request did not complete", 0), false},
		{"storage that does not answer", apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "create", 2), false},
		{"etcd's own errors", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "etcdserver: request timed out"}}, false},
		{"an API server that panics", panicked, false},
		{"a proxy without a server", apierrors.NewGenericServerResponse(http.StatusBadGateway, "POST", schema.GroupResource{Resource: "pods"}, "", "", 0, true), false},
		{"a service that is not available", apierrors.NewServiceUnavailable("down"), false},
		{"a request that the server gave up reading", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusRequestTimeout}}, false},
		{"a connection that was reset", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, false},
		{"a context that has ended", context.Canceled, false},
		{"a pod that could not be read", errUnread{forbidden("no right to read")}, false},
		{"an answer that cannot be read", &apierrors.UnexpectedObjectError{}, false},
	} {
		if got := refuses(test.err); got != test.want {
			t.Errorf("%s: %v, want %v: %v", test.what, got, test.want, test.err)
		}
	}
}
