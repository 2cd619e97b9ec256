package jobcontroller

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restartkit/restart/jobpolicy/batch"
)

var errWebhook = apierrors.NewInternalError(errors.New("failed calling webhook"))

// deadlineExceeded reports whether the Job has this condition because of its deadline.
func deadlineExceeded(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue && c.Reason == batchv1.JobReasonDeadlineExceeded {
			return true
		}
	}
	return false
}

// A broken webhook answers every creation with an internal error. No pod is created,
// and the Job fails at its deadline.
func TestBrokenWebhookKeepsNoJobFromItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "POST pods" {
				return errWebhook, false
			}
			return nil, false
		}})
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(10)) }))
		after(30 * time.Second)
		if job := s.job("a"); !deadlineExceeded(job, batchv1.JobFailed) || s.eventReasons()["FailedCreate"] == 0 {
			t.Errorf("%+v, Events %v", job.Status, s.eventReasons())
		}
	})
}

// No creation is carried out or answered. The controller gives up after the time limit.
func TestCreationsWithoutAnAnswerEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		s.allow = func(*corev1.Pod) error { return forbidden("nobody hears this") }
		start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) { return nil, call == "POST pods" }})
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(10)) }))
		after(expectationsEnd - time.Second)
		if job := s.job("a"); finished(job) {
			t.Errorf("while a pod may be created: %+v", job.Status)
		}
		after(2 * time.Minute)
		if job := s.job("a"); !deadlineExceeded(job, batchv1.JobFailed) {
			t.Errorf("%+v", job.Status)
		}
	})
}

// failingDeletions answers deletions of pods with an internal error while broken is
// set, guarded by the server's lock.
func failingDeletions(s *apiServer, broken *bool) *faults {
	return &faults{hook: func(_ context.Context, call string) (error, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if call == "DELETE pods" && *broken {
			return errWebhook, false
		}
		return nil, false
	}}
}

// A broken webhook answers every deletion with an internal error. Once it is repaired,
// exactly the unwanted pods are deleted.
func TestDeletionsThatEndInInternalErrorsAreMadeInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		broken := true
		c := start(t, s, Options{}, failingDeletions(s, &broken))
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(3)) }))
		after(3 * time.Second)
		s.changeJob("a", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
		after(time.Minute)
		if s.called("GET pods") == 0 {
			t.Error("no pod was read after an internal error")
		}
		s.mu.Lock()
		broken = false
		s.mu.Unlock()
		after(2 * time.Minute)
		left := 0
		for _, pod := range s.pods() {
			if pod.DeletionTimestamp == nil {
				left++
			}
		}
		if job := s.job("a"); left != 1 || job.Status.Active != 1 || s.called("POST pods") != 3 {
			t.Errorf("%d pods are left: %+v", left, job.Status)
		}
		if since := c.records.of("ns/a", s.job("a").UID).unacknowledged.since; len(since) != 0 {
			t.Errorf("deletions that had an answer are remembered: %v", since)
		}
	})
}

// The informer misses a Job's deletion and shows another Job of the same name. The pods
// of the first lose their finalizers, and the second runs.
func TestJobThatTakesTheNameOfAnotherIsNotTakenForIt(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", nil))
		after(3 * time.Second)
		first := s.job("a")
		s.mu.Lock()
		second := newJob("a", nil)
		second.UID, second.Generation, second.Spec.ManagedBy = "another", first.Generation, first.Spec.ManagedBy
		second.Spec.Selector = first.Spec.Selector.DeepCopy()
		second.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = "another"
		second.Spec.Template.Labels = map[string]string{batchv1.ControllerUidLabel: "another"}
		s.put("jobs", "MODIFIED", second)
		s.mu.Unlock()
		after(10 * time.Second)
		tracking := map[string]bool{}
		for _, pod := range s.pods() {
			tracking[pod.Labels[batchv1.ControllerUidLabel]] = tracked(pod)
		}
		if len(tracking) != 2 || tracking[string(first.UID)] || !tracking["another"] {
			t.Errorf("tracked pods, by the Jobs' UIDs: %v", tracking)
		}
	})
}

// A pod without a controller appears before the Job that selects it. The pod keeps its
// finalizer, and the Job adopts it.
func TestPodOfAJobThatIsNotSeenYetKeepsItsFinalizer(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		s.onUntrack = func(pod *corev1.Pod) { t.Errorf("pod %s loses its finalizer", pod.Name) }
		start(t, s, Options{}, lagging(10*time.Second, 0))
		after(15 * time.Second)
		job := s.createJob(newJob("a", nil))
		pod := &corev1.Pod{}
		pod.Name, pod.Labels, pod.Finalizers = "p", job.Spec.Template.Labels, []string{batch.JobTrackingFinalizer}
		s.addPod(pod)
		after(30 * time.Second)
		if pods := s.pods(); len(pods) != 1 || !controlledBy(pods[0], job.UID) {
			t.Errorf("%d pods; the first: %+v", len(pods), pods[0].ObjectMeta)
		}
	})
}

// Every deletion of a pod ends in an internal error. As with Kubernetes' own
// controller, whose syncJob then drops its decision, the Job does not announce its
// failure while its pod runs. Ends are recorded meanwhile. Once the pod is deleted or
// has ended by itself, the Job fails because of its deadline.
func TestJobFailsByItsDeadlineWhenItsPodsCanBeDeleted(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(s *apiServer)
	}{
		{"deletions are carried out again", func(s *apiServer) {}},
		{"the pod ends by itself", func(s *apiServer) { endAll(s, 0) }},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			broken := true
			start(t, s, Options{}, failingDeletions(s, &broken))
			s.createJob(newJob("a", func(j *batchv1.Job) {
				j.Spec.Parallelism, j.Spec.Completions, j.Spec.ActiveDeadlineSeconds = new(int32(2)), new(int32(5)), new(int64(10))
			}))
			after(20 * time.Second)
			s.end(s.pods()[0].Name, 0)
			after(40 * time.Second)
			if job := s.job("a"); deadlineExceeded(job, batchv1.JobFailureTarget) || job.Status.Succeeded != 1 || job.Status.Active != 1 || s.eventReasons()["FailedDelete"] == 0 {
				t.Errorf("%s: before: %+v, Events %v", test.name, job.Status, s.eventReasons())
			}
			s.mu.Lock()
			broken = test.name == "the pod ends by itself"
			s.mu.Unlock()
			test.end(s)
			after(2 * time.Minute)
			if job := s.job("a"); !deadlineExceeded(job, batchv1.JobFailureTarget) {
				t.Errorf("%s: after: %+v", test.name, job.Status)
			}
			for _, p := range s.pods() { // the kubelet's part
				if p.DeletionTimestamp != nil {
					s.end(p.Name, 143)
				}
			}
			after(time.Minute)
			if job := s.job("a"); !deadlineExceeded(job, batchv1.JobFailed) || trackedPods(s) != 0 {
				t.Errorf("%s: at the end: %+v, %d pods have their finalizer", test.name, job.Status, trackedPods(s))
			}
		})
	}
}
