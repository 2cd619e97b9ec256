package jobcontroller

import (
	"flag"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var verbose = flag.Bool("jobcontroller.log", false, "show the controller's log")

// lagging returns informers with the given lags.
func lagging(jobs, pods time.Duration) *faults {
	return &faults{lag: map[string]time.Duration{"jobs": jobs, "pods": pods}}
}

// endAll ends all unfinished pods.
func endAll(s *apiServer, code int32) (n int) {
	for _, p := range s.pods() {
		if !ended(p) && p.DeletionTimestamp == nil {
			s.end(p.Name, code)
			n++
		}
	}
	return n
}

func trackedPods(s *apiServer) (n int) {
	for _, p := range s.pods() {
		if tracked(p) {
			n++
		}
	}
	return n
}

func TestJobComesToItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = new(int32(3)) }))
		for range 3 {
			after(3 * time.Second)
			endAll(s, 0)
		}
		after(5 * time.Second)
		job := s.job("a")
		if !finished(job) || job.Status.Succeeded != 3 || trackedPods(s) != 0 {
			t.Errorf("%+v, %d pods with a finalizer", job.Status, trackedPods(s))
		}
		if n := c.records.len(); n != 0 {
			t.Errorf("%d records are left", n)
		}
		if got, want := fmt.Sprint(s.eventReasons()), "map[Completed:1 SuccessfulCreate:3]"; got != want {
			t.Errorf("Events: %s, want %s", got, want)
		}
	})
}

// The state of a finished Job is forgotten once the informer shows the end.
func TestFinishedJobIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		c.records.of("ns/a", job.UID)
		s.changeJob("a", func(j *batchv1.Job) {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue})
		})
		after(time.Millisecond)
		if n := c.records.len(); n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}

func TestNoPodIsCreatedTwiceWhileTheInformerOfPodsLags(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, 20*time.Second))
		after(30 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.Completions, j.Spec.Parallelism = new(int32(5)), new(int32(5))
		}))
		for i := range 15 {
			after(time.Second)
			s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"wake": fmt.Sprint(i)} })
		}
		if n := s.called("POST pods"); n != 5 {
			t.Errorf("%d creations, want 5", n)
		}
	})
}

func TestWrittenJobIsUsedWhileTheInformerOfJobsLags(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(10*time.Second, 0))
		after(15 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions, j.Spec.BackoffLimit = new(int32(9)), new(int32(9)) }))
		after(11 * time.Second)
		for range 9 {
			endAll(s, 0)
			after(2500 * time.Millisecond)
		}
		if n := s.called("GET jobs"); n > 0 {
			t.Errorf("the Job was read %d times: writes conflicted", n)
		}
		if job := s.job("a"); job.Status.Succeeded != 9 {
			t.Errorf("%+v", job.Status)
		}
	})
}

func TestPodEventsWithinASecondAreOnePass(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(50)), new(int32(50)) }))
		after(5 * time.Second)
		before := s.called("PATCH jobs/status")
		for _, p := range s.pods() {
			time.Sleep(10 * time.Millisecond)
			s.end(p.Name, 0)
		}
		after(5 * time.Second)
		if n := s.called("PATCH jobs/status") - before; n != 2 {
			t.Errorf("%d writes of the status for 50 ends within half a second, want 2", n)
		}
	})
}

func TestFinishedJobIsLeftToItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(1)) }))
		after(3 * time.Second)
		endAll(s, 0)
		after(time.Minute)
		writes := s.called("PATCH jobs/status")
		after(time.Hour)
		if s.job("a") == nil || s.called("PATCH jobs/status") != writes {
			t.Error("a Job that has finished was touched")
		}
	})
}

func TestJobThatIsBeingDeletedReleasesItsPods(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(9)) }))
		after(3 * time.Second)
		s.changeJob("a", func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		for _, p := range s.pods() {
			s.changePod(p.Name, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		}
		after(5 * time.Second)
		if n := s.called("POST pods"); n != 3 || trackedPods(s) != 0 {
			t.Errorf("%d creations, %d pods have their finalizer", n, trackedPods(s))
		}
	})
}

func TestSuspendedAndResumedJobsSaySo(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", nil))
		after(2 * time.Second)
		for _, suspend := range []bool{true, false} {
			s.changeJob("a", func(j *batchv1.Job) { j.Spec.Suspend = &suspend })
			after(2 * time.Second)
			for _, p := range s.pods() {
				if p.DeletionTimestamp != nil && !ended(p) {
					s.end(p.Name, 143)
				}
			}
			after(2 * time.Second)
		}
		endAll(s, 0)
		after(5 * time.Second)
		want := "map[Completed:1 Resumed:1 SuccessfulCreate:2 SuccessfulDelete:1 Suspended:1]"
		if got, job := fmt.Sprint(s.eventReasons()), s.job("a"); got != want || job.Status.Failed != 0 {
			t.Errorf("Events %s, want %s; %+v", got, want, job.Status)
		}
	})
}

func TestFailedJobSaysWhy(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(0)) }))
		after(2 * time.Second)
		endAll(s, 1)
		after(5 * time.Second)
		if got, want := fmt.Sprint(s.eventReasons()), "map[BackoffLimitExceeded:1 SuccessfulCreate:1]"; got != want {
			t.Errorf("Events %s, want %s", got, want)
		}
		if got := counted(t, c.Metrics()); got["restart_job_finished_total NonIndexed BackoffLimitExceeded failed"] != 1 ||
			got["restart_job_pods_finished_total NonIndexed failed"] != 1 || got["restart_job_pods_creation_total new succeeded"] != 1 ||
			got["restart_job_terminated_pods_tracking_finalizer_total add"] != 1 || got["restart_job_terminated_pods_tracking_finalizer_total delete"] != 1 {
			t.Errorf("%v", got)
		}
	})
}

func TestUnknownCompletionModeIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.CompletionMode("Scattered")) }))
		after(time.Minute)
		if got, want := fmt.Sprint(s.eventReasons()), "map[UnknownCompletionMode:1]"; got != want || s.called("POST pods") > 0 {
			t.Errorf("Events %s, want %s", got, want)
		}
	})
}
