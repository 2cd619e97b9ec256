package jobcontroller

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

func TestFinalizersAreTakenOffOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, 20*time.Second))
		after(30 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.Completions, j.Spec.Parallelism = new(int32(6)), new(int32(3))
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
		pod := s.addPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{batch.JobTrackingFinalizer}}})
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

func orphanPod(name string, job *batchv1.Job) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: job.Spec.Template.Labels}}
}

func TestPodsAreAdoptedAndReleasedBySelector(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(2)), new(int32(2)) }))
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

// Pods of deleted and finished Jobs lose their finalizers. Those of unfinished Jobs and
// of other controllers keep them.
func TestOrphansLoseTheirFinalizers(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		pod := func(name string, job *batchv1.Job) *corev1.Pod {
			p := orphanPod(name, job)
			p.Finalizers = []string{batch.JobTrackingFinalizer}
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, jobKind)}
			return p
		}
		gone := newJob("gone", nil)
		gone.UID = "gone"
		ended := s.createJob(newJob("ended", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}))
		foreign := s.createJob(newJob("foreign", func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") }))
		goesOn := s.createJob(newJob("goes-on", nil))
		others := pod("of-another-kind", gone)
		others.OwnerReferences[0].Kind = "Workflow"
		ownerless, foreignOwnerless := orphanPod("without-owner", gone), orphanPod("without-owner-and-foreign", foreign)
		ownerless.Labels = map[string]string{batchv1.JobNameLabel: "gone", batchv1.ControllerUidLabel: "gone"}
		for _, p := range []*corev1.Pod{ownerless, foreignOwnerless} {
			p.Finalizers = []string{batch.JobTrackingFinalizer}
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

// The Job of a pod without a controller cannot be read for some time. Afterwards the
// pod loses its finalizer.
func TestOrphanWhoseJobCannotBeReadIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		reads := 0
		start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "GET jobs" {
				if reads++; reads < 3 {
					return forbidden("no right to"), false
				}
			}
			return nil, false
		}})
		gone := newJob("gone", nil)
		pod := orphanPod("without-owner", gone)
		pod.Labels = map[string]string{batchv1.JobNameLabel: "gone", batchv1.ControllerUidLabel: "gone"}
		pod.Finalizers = []string{batch.JobTrackingFinalizer}
		s.addPod(pod)
		after(time.Minute)
		if reads != 3 || trackedPods(s) != 0 {
			t.Errorf("%d reads, %d pods have their finalizer", reads, trackedPods(s))
		}
	})
}

// The informer of Jobs is an hour behind that of pods, so a Job that it lacks may
// exist.
func TestPodOfAJobThatIsNotSeenYetIsNoOrphan(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(time.Hour, 0))
		after(2 * time.Hour)
		job := s.createJob(newJob("a", nil))
		p := orphanPod("p", job)
		p.Finalizers, p.OwnerReferences = []string{batch.JobTrackingFinalizer}, []metav1.OwnerReference{*metav1.NewControllerRef(job, jobKind)}
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

func TestPodsOfADeletedJobLoseTheirFinalizersWithoutReads(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(20)), new(int32(20)) }))
		after(5 * time.Second)
		s.removeJob("a")
		after(5 * time.Second)
		if left, reads := trackedPods(s), s.called("GET jobs"); left != 0 || reads != 0 {
			t.Errorf("%d pods have their finalizer, the Job was read %d times", left, reads)
		}
	})
}

// Somebody takes a pod from its Job, or the Job's own reference. The Job replaces the
// first and adopts the second again.
func TestJobMissesAPodThatIsTaken(t *testing.T) {
	for name, take := range map[string]func(*corev1.Pod){
		"taken":     func(p *corev1.Pod) { p.OwnerReferences[0].Kind, p.OwnerReferences[0].UID = "Workflow", "theirs" },
		"ownerless": func(p *corev1.Pod) { p.OwnerReferences = nil },
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{}, nil)
			job := s.createJob(newJob("a", nil))
			after(5 * time.Second)
			s.changePod(s.pods()[0].Name, take)
			after(5 * time.Second)
			n := 0
			for _, pod := range s.pods() {
				if controlledBy(pod, job.UID) {
					n++
				}
			}
			if want := map[string]int{"taken": 2, "ownerless": 1}[name]; n != 1 || s.called("POST pods") != want {
				t.Errorf("%s: %d pods are the Job's; %d creations, want %d", name, n, s.called("POST pods"), want)
			}
		})
	}
}

// In place of Kubernetes' own controller, a pod without a controller is lost unless a
// Job will adopt it. Neither an ended Job nor one being deleted does, and no Job adopts
// a pod being deleted.
func TestPodsThatNoJobAdoptsAreLost(t *testing.T) {
	for _, test := range []struct {
		name string
		job  func(*batchv1.Job)
		pod  func(*corev1.Pod)
		lost bool
	}{
		{"the Job goes on", nil, nil, false},
		{"the Job is being deleted", func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) }, nil, true},
		{"the Job has ended", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}, nil, true},
		{"the pod is being deleted", nil, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		{"no Job selects the pod", nil, func(p *corev1.Pod) { p.Labels = nil }, true},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: BuiltInManagedBy}}, nil)
			job := s.createJob(newJob("a", func(j *batchv1.Job) {
				j.Spec.Suspend, j.Spec.ManagedBy = new(true), new(BuiltInManagedBy)
				if test.job != nil {
					test.job(j)
				}
			}))
			after(10 * time.Second)
			pod := orphanPod("pod", job)
			pod.Namespace = "ns"
			if test.pod != nil {
				test.pod(pod)
			}
			if lost, err := c.lost(context.Background(), pod); lost != test.lost || err != nil {
				t.Errorf("%s: lost %v, %v", test.name, lost, err)
			}
		})
	}
}

// An adoption is refused for some time. The Job tries again, and creates no pod
// meanwhile.
func TestRefusedAdoptionIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		job := s.createJob(newJob("a", nil))
		s.addPod(orphanPod("its", job))
		refused := 0
		start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "PATCH pods" && refused < 3 {
				refused++
				return forbidden("no right to"), false
			}
			return nil, false
		}})
		after(time.Minute)
		if pod := s.pods()[0]; refused != 3 || !controlledBy(pod, job.UID) || s.called("POST pods") != 0 || s.job("a").Status.Active != 1 {
			t.Errorf("refused %d times; %+v; %d creations", refused, pod.ObjectMeta, s.called("POST pods"))
		}
	})
}

// A Job is deleted before it could adopt a pod. The pod loses its finalizer, and one
// that the Job did not select keeps it.
func TestPodsThatADeletedJobHadToAdoptLoseTheirFinalizers(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		broken := true
		start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "PATCH pods" && broken {
				return forbidden("no right to"), false
			}
			return nil, false
		}})
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		for name, labels := range map[string]map[string]string{"its": job.Spec.Template.Labels, "of-others": {"app": "other"}} {
			pod := orphanPod(name, job)
			pod.Labels, pod.Finalizers = labels, []string{batch.JobTrackingFinalizer}
			s.addPod(pod)
		}
		after(10 * time.Second)
		if s.called("PATCH pods") != 0 || trackedPods(s) != 2 {
			t.Fatalf("%d pods have their finalizer", trackedPods(s))
		}
		broken = false
		s.removeJob("a")
		after(time.Minute)
		for _, pod := range s.pods() {
			if tracked(pod) != (pod.Name == "of-others") {
				t.Errorf("%s has its finalizer: %v", pod.Name, tracked(pod))
			}
		}
	})
}

// A pod that has ended is adopted, counted and released only once, although the
// informer shows each step late.
func TestPodThatHasEndedIsAdoptedAndCountedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, 20*time.Second))
		after(30 * time.Second)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = new(int32(9)) }))
		stray := orphanPod("stray", job)
		stray.Status.Phase = corev1.PodSucceeded
		s.addPod(stray)
		for i := range 60 {
			after(time.Second)
			s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"wake": fmt.Sprint(i)} })
		}
		after(30 * time.Second)
		if n, job := s.called("PATCH pods"), s.job("a"); n != 2 || job.Status.Succeeded != 1 || job.Status.Active != 1 {
			t.Errorf("%d patches, want 2: adopted, released; %+v", n, job.Status)
		}
		for _, p := range s.pods() {
			if p.Name == "stray" && (!controlledBy(p, job.UID) || tracked(p)) {
				t.Errorf("%+v", p.ObjectMeta)
			}
		}
	})
}

// A surplus pod is adopted, loses its finalizer and is deleted. It is not adopted again
// while the informer lags.
func TestSurplusPodIsAdoptedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, lagging(0, 20*time.Second))
		after(30 * time.Second)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = new(int32(9)) }))
		after(25 * time.Second)
		s.changePod(s.pods()[0].Name, func(p *corev1.Pod) { p.Status.Phase, p.Spec.NodeName = corev1.PodRunning, "node" })
		s.addPod(orphanPod("stray", job))
		for i := range 60 {
			after(time.Second)
			if open := len(c.records.of("ns/a", job.UID).expectations.deleted); i == 30 && open != 1 {
				t.Errorf("while the informer shows it without a controller, %d deletions are expected", open)
			}
			s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"wake": fmt.Sprint(i)} })
		}
		if n, job := s.called("PATCH pods"), s.job("a"); n != 2 || job.Status.Active != 1 || s.called("DELETE pods") != 1 {
			t.Errorf("%d patches, want 2: adopted, released; %d deletions; %+v", n, s.called("DELETE pods"), job.Status)
		}
	})
}
