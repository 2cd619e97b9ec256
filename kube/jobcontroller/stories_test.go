package jobcontroller

import (
	"errors"
	"flag"
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

var verbose = flag.Bool("jobcontroller.log", false, "show the controller's log")

// lagging are informers that lag by so much, each of its own.
func lagging(jobs, pods time.Duration) *faults {
	return &faults{lag: map[string]time.Duration{"jobs": jobs, "pods": pods}}
}

func forbidden(why string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(why))
}

// endAll ends all pods that have not.
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
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = ptr[int32](3) }))
		for range 3 {
			after(3 * time.Second)
			endAll(s, 0)
		}
		after(5 * time.Second)
		job := s.job("a")
		if !finished(job) || job.Status.Succeeded != 3 || trackedPods(s) != 0 {
			t.Errorf("%+v, %d pods with a finalizer", job.Status, trackedPods(s))
		}
		if n := c.states.len(); n != 0 {
			t.Errorf("%d states are left", n)
		}
		if got, want := fmt.Sprint(s.eventReasons()), "map[Completed:1 SuccessfulCreate:3]"; got != want {
			t.Errorf("Events: %s, want %s", got, want)
		}
	})
}

func TestNoPodIsCreatedTwiceWhileTheInformerOfPodsLags(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, 20*time.Second))
		after(30 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.Completions, j.Spec.Parallelism = ptr[int32](5), ptr[int32](5)
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
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions, j.Spec.BackoffLimit = ptr[int32](9), ptr[int32](9) }))
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

func TestFinalizersAreTakenOffOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, 20*time.Second))
		after(30 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.Completions, j.Spec.Parallelism = ptr[int32](6), ptr[int32](3)
		}))
		after(25 * time.Second)
		endAll(s, 0)
		for i := range 60 {
			after(time.Second)
			s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"wake": fmt.Sprint(i)} })
		}
		if n, job := s.called("PATCH pods"), s.job("a"); n != 3 || job.Status.Succeeded != 3 {
			t.Errorf("%d patches, want 3; %+v", n, job.Status)
		}
	})
}

func TestPatchesAndDeletionsLeaveAnotherPodAlone(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		pod := s.addPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{jobpolicy.JobTrackingFinalizer}}})
		ctx := t.Context()
		if version, err := c.untrack(ctx, "ns", "a", "other"); version != "" || err != nil {
			t.Errorf("the finalizer of another pod: %q, %v", version, err)
		}
		if deleted, err := c.deletePod(ctx, "ns", "a", "other"); deleted || err != nil {
			t.Errorf("deleting another pod: %v, %v", deleted, err)
		}
		if p := s.pods()[0]; !tracked(p) || p.DeletionTimestamp != nil {
			t.Errorf("another pod was changed: %+v", p.ObjectMeta)
		}
		if version, err := c.untrack(ctx, "ns", "gone", "other"); version != "" || err != nil {
			t.Errorf("the finalizer of a pod that is gone: %q, %v", version, err)
		}
		if deleted, err := c.deletePod(ctx, "ns", "gone", "other"); deleted || err != nil {
			t.Errorf("deleting a pod that is gone: %v, %v", deleted, err)
		}
		if version, err := c.untrack(ctx, "ns", "a", pod.UID); version == "" || err != nil || tracked(s.pods()[0]) {
			t.Errorf("the finalizer: %q, %v", version, err)
		}
		if deleted, err := c.deletePod(ctx, "ns", "a", pod.UID); !deleted || err != nil || s.pods()[0].DeletionTimestamp == nil {
			t.Errorf("deleting: %v, %v", deleted, err)
		}
	})
}

// A quota refuses after the third pod: batches are of 1, 2 and 4 pods, and of the last
// no more are tried.
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
			j.Spec.Completions, j.Spec.Parallelism = ptr[int32](100), ptr[int32](100)
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

func TestTerminatingNamespaceIsNoTrouble(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		s.allow = func(*corev1.Pod) error {
			err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("the namespace is being terminated"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		}
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr[int32](9), ptr[int32](9) }))
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
			j.Spec.Parallelism, j.Spec.Completions = ptr[int32](4), ptr[int32](4)
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

func orphanPod(name string, job *batchv1.Job) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: job.Spec.Template.Labels}}
}

func TestPodsAreAdoptedAndReleasedBySelector(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr[int32](2), ptr[int32](2) }))
		s.addPod(orphanPod("stray", job))
		after(5 * time.Second)
		own := 0
		for _, p := range s.pods() {
			if controlledBy(p, job.UID) && tracked(p) {
				own++
			}
		}
		if own != 2 || s.called("GET jobs") == 0 {
			t.Fatalf("the Job has %d pods, was read %d times", own, s.called("GET jobs"))
		}
		s.changePod("stray", func(p *corev1.Pod) { p.Labels = nil })
		after(5 * time.Second)
		for _, p := range s.pods() {
			if p.Name == "stray" && (controlledBy(p, job.UID) || tracked(p)) {
				t.Errorf("%+v", p.ObjectMeta)
			}
		}
		if job := s.job("a"); job.Status.Active != 2 {
			t.Errorf("%+v", job.Status)
		}
	})
}

func TestJobThatIsBeingDeletedAdoptsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(time.Hour, 0))
		job := s.createJob(newJob("a", nil))
		after(2 * time.Hour)
		endAll(s, 0)
		s.changeJob("a", func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: time.Now()} }) // the informer does not show it yet
		s.addPod(orphanPod("stray", job))
		after(10 * time.Second)
		for _, p := range s.pods() {
			if p.Name == "stray" && controlledBy(p, job.UID) {
				t.Error("it adopted a pod")
			}
		}
		if s.called("GET jobs") == 0 {
			t.Error("the Job was not looked at where it is stored")
		}
	})
}

// The finalizers of pods whose Job is gone or has ended go; those of Jobs that go on, or
// that are others', stay.
func TestOrphansLoseTheirFinalizers(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		pod := func(name string, job *batchv1.Job) *corev1.Pod {
			p := orphanPod(name, job)
			p.Finalizers = []string{jobpolicy.JobTrackingFinalizer}
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, jobKind)}
			return p
		}
		gone := newJob("gone", nil)
		gone.UID = "gone"
		ended := s.createJob(newJob("ended", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}))
		foreign := s.createJob(newJob("foreign", func(j *batchv1.Job) { j.Spec.ManagedBy = ptr("example.com/other") }))
		goesOn := s.createJob(newJob("goes-on", nil))
		others := pod("of-another-kind", gone)
		others.OwnerReferences[0].Kind = "Workflow"
		ownerless, foreignOwnerless := orphanPod("without-owner", gone), orphanPod("without-owner-and-foreign", foreign)
		ownerless.Labels = map[string]string{batchv1.JobNameLabel: "gone", batchv1.ControllerUidLabel: "gone"}
		for _, p := range []*corev1.Pod{ownerless, foreignOwnerless} {
			p.Finalizers = []string{jobpolicy.JobTrackingFinalizer}
		}
		for _, p := range []*corev1.Pod{pod("of-gone", gone), pod("of-ended", ended), pod("of-foreign", foreign), pod("of-goes-on", goesOn), others, ownerless, foreignOwnerless} {
			s.addPod(p)
		}
		start(t, s, Options{}, nil)
		after(5 * time.Second)
		want := map[string]bool{"of-foreign": true, "of-goes-on": true, "of-another-kind": true, "without-owner-and-foreign": true}
		for _, p := range s.pods() {
			if tracked(p) != want[p.Name] {
				t.Errorf("%s: has its finalizer: %v", p.Name, tracked(p))
			}
		}
	})
}

// The informer of Jobs is an hour behind that of pods: a Job that it does not show may
// be there.
func TestPodOfAJobThatIsNotSeenYetIsNoOrphan(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(time.Hour, 0))
		after(2 * time.Hour)
		job := s.createJob(newJob("a", nil))
		p := orphanPod("p", job)
		p.Finalizers, p.OwnerReferences = []string{jobpolicy.JobTrackingFinalizer}, []metav1.OwnerReference{*metav1.NewControllerRef(job, jobKind)}
		s.addPod(p)
		after(time.Minute)
		if trackedPods(s) != 1 {
			t.Error("the pod has lost its finalizer")
		}
		s.removeJob("a")
		s.changePod("p", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		after(time.Minute)
		if trackedPods(s) != 0 {
			t.Error("the Job is gone, and the pod keeps its finalizer")
		}
	})
}

func TestPodEventsWithinASecondAreOnePass(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr[int32](50), ptr[int32](50) }))
		after(5 * time.Second)
		before := s.called("PUT jobs/status")
		for _, p := range s.pods() {
			time.Sleep(10 * time.Millisecond)
			s.end(p.Name, 0)
		}
		after(5 * time.Second)
		if n := s.called("PUT jobs/status") - before; n != 2 {
			t.Errorf("%d writes of the status for 50 ends within half a second, want 2", n)
		}
	})
}

func TestFinishedJobIsLeftToItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = ptr[int32](1) }))
		after(3 * time.Second)
		endAll(s, 0)
		after(time.Minute)
		writes := s.called("PUT jobs/status")
		after(time.Hour)
		if s.job("a") == nil || s.called("PUT jobs/status") != writes {
			t.Error("a Job that has finished was touched")
		}
	})
}

func TestJobThatIsBeingDeletedReleasesItsPods(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr[int32](3), ptr[int32](9) }))
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

func TestExpectationsThatNeverSettleEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, 24*time.Hour))
		after(25 * time.Hour)
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

func TestConflictIsTriedAgainOnAFreshJob(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(time.Hour, 0))
		s.createJob(newJob("a", nil))
		after(2 * time.Hour)
		s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"by": "somebody else"} })
		endAll(s, 0)
		after(10 * time.Second)
		if job := s.job("a"); !finished(job) || job.Labels["by"] == "" || s.called("GET jobs") != 1 {
			t.Errorf("%+v, labels %v, read %d times", job.Status, job.Labels, s.called("GET jobs"))
		}
	})
}

// Three failures in a row: the fourth attempt comes 40 s after the third failure, also
// if another controller has taken over in between.
func TestMemorySurvivesAChangeOfLeader(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		first := start(t, s, Options{}, nil)
		s.createJob(newJob("a", nil))
		for _, delay := range []time.Duration{10, 20} {
			after(2 * time.Second)
			endAll(s, 1)
			after(delay*time.Second + 2*time.Second)
		}
		endAll(s, 1)
		third := time.Now()
		after(5 * time.Second)
		first.stop()
		if got := s.called("POST pods"); got != 3 {
			t.Fatalf("%d attempts", got)
		}
		start(t, s, Options{}, nil)
		after(third.Add(39 * time.Second).Sub(time.Now()))
		if got := s.called("POST pods"); got != 3 {
			t.Errorf("%d attempts before the delay is over", got)
		}
		after(5 * time.Second)
		if got := s.called("POST pods"); got != 4 {
			t.Errorf("%d attempts after the delay", got)
		}
	})
}

func TestBadAnnotationsAreReportedOnceAndLeftOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Annotations = map[string]string{AnnotationBaseDelay: "soon", AnnotationSkipWaiting: "maybe", AnnotationMaxDelay: "15s"}
		}))
		after(2 * time.Second)
		for i, want := range []time.Duration{10 * time.Second, 15 * time.Second, 15 * time.Second} {
			endAll(s, 1)
			after(want - time.Second)
			if n := s.called("POST pods"); n != i+1 {
				t.Errorf("%d attempts before delay %d is over", n, i+1)
			}
			after(4 * time.Second)
			if n := s.called("POST pods"); n != i+2 {
				t.Errorf("%d attempts after delay %d", n, i+1)
			}
		}
		if n := s.eventReasons()["InvalidAnnotation"]; n != 2 {
			t.Errorf("%d Events about two bad annotations", n)
		}
	})
}

func TestAnnotationSetsTheDelay(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Annotations = map[string]string{AnnotationBaseDelay: "3m"} }))
		after(2 * time.Second)
		endAll(s, 1)
		after(3*time.Minute - time.Second)
		if n := s.called("POST pods"); n != 1 {
			t.Errorf("%d attempts before the delay is over", n)
		}
		after(5 * time.Second)
		if n := s.called("POST pods"); n != 2 {
			t.Errorf("%d attempts after the delay", n)
		}
	})
}

// Every answer to a creation is lost, while the informer lags: each pod is created once.
func TestLostAnswersCreateNoPodTwice(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		losing := 6
		f := lagging(0, 10*time.Second)
		f.hook = func(call string) (error, bool) {
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
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr[int32](3), ptr[int32](3) }))
		after(time.Minute)
		if n := len(s.pods()); n != 3 {
			t.Errorf("%d pods, want 3", n)
		}
	})
}

// The answers to all writes of the status are lost: each is found out, and the metrics
// count every end once.
func TestLostAnswersToStatusesAreFoundOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		f := &faults{hook: func(call string) (error, bool) { return nil, call == "PUT jobs/status" }}
		c := start(t, s, Options{}, f)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr[int32](3), ptr[int32](6) }))
		for range 2 {
			after(5 * time.Second)
			endAll(s, 0)
		}
		after(5 * time.Second)
		if job := s.job("a"); !finished(job) || job.Status.Succeeded != 6 {
			t.Errorf("%+v", job.Status)
		}
		if got := counted(t, c.Metrics()); got["job_controller_job_pods_finished_total NonIndexed succeeded"] != 6 || got["job_controller_jobs_finished_total NonIndexed CompletionsReached succeeded"] != 1 {
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
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = ptr[int32](3) }))
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
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.BackoffLimit = ptr[int32](0) }))
		after(2 * time.Second)
		endAll(s, 1)
		after(5 * time.Second)
		if got, want := fmt.Sprint(s.eventReasons()), "map[BackoffLimitExceeded:1 SuccessfulCreate:1]"; got != want {
			t.Errorf("Events %s, want %s", got, want)
		}
		if got := counted(t, c.Metrics()); got["job_controller_jobs_finished_total NonIndexed BackoffLimitExceeded failed"] != 1 ||
			got["job_controller_job_pods_finished_total NonIndexed failed"] != 1 || got["job_controller_job_pods_creation_total new succeeded"] != 1 ||
			got["job_controller_terminated_pods_tracking_finalizer_total add"] != 1 || got["job_controller_terminated_pods_tracking_finalizer_total delete"] != 1 {
			t.Errorf("%v", got)
		}
	})
}

func TestJobsOfOthersAreLeftAlone(t *testing.T) {
	for _, test := range []struct{ ours, its string }{
		{DefaultManagedBy, BuiltInManagedBy}, {DefaultManagedBy, "example.com/other"}, {BuiltInManagedBy, DefaultManagedBy}, {BuiltInManagedBy, "example.com/other"},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: test.ours}}, nil)
			s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = &test.its }))
			after(time.Minute)
			if n := s.called("POST pods") + s.called("PUT jobs/status"); n > 0 {
				t.Errorf("%+v: %d writes", test, n)
			}
		})
	}
}

func TestBuiltInControllersJobsCanBeTakenOver(t *testing.T) {
	for _, by := range []*string{nil, ptr(BuiltInManagedBy)} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: BuiltInManagedBy}}, nil)
			s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = ptr("") }))
			s.changeJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = by })
			after(time.Minute)
			if n := s.called("POST pods"); n != 1 {
				t.Errorf("%d pods", n)
			}
		})
	}
}

func TestUnknownCompletionModeIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.CompletionMode = ptr(batchv1.CompletionMode("Scattered")) }))
		after(time.Minute)
		if got, want := fmt.Sprint(s.eventReasons()), "map[UnknownCompletionMode:1]"; got != want || s.called("POST pods") > 0 {
			t.Errorf("Events %s, want %s", got, want)
		}
	})
}

// A client whose requests hang, fail and come back late: ending the controller ends all
// of it. The bubble fails if a goroutine stays.
func TestNothingIsLeftWhenRunReturns(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		f := &faults{hook: func(string) (error, bool) { return apierrors.NewInternalError(errors.New("broken")), false }}
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
