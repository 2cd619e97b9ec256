package jobcontroller

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Gone Jobs are remembered, 4096 of them, and then forgotten together.
func TestGoneJobsAreBounded(t *testing.T) {
	var g goneJobs
	if g.has("0") {
		t.Error("gone at first")
	}
	for i := range 4096 {
		g.add(types.UID(fmt.Sprint(i)))
	}
	if !g.has("0") || !g.has("4095") || g.has("4096") {
		t.Error("not all are known")
	}
	g.add("4096")
	if g.has("0") || !g.has("4096") || len(g.uids) != 1 {
		t.Errorf("%d are known", len(g.uids))
	}
}

// countingQueue counts the keys added.
type countingQueue struct {
	workqueue.TypedRateLimitingInterface[orphanKey]
	added int
}

func (q *countingQueue) Add(orphanKey) { q.added++ }

// Only pods that no unfinished Job controls are queued as orphans.
func TestPodsOfUnfinishedJobsAreNoOrphans(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		over := s.createJob(newJob("b", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		})).DeepCopy()
		after(time.Minute)
		c.stop()
		pod := func(job *batchv1.Job, change func(*metav1.OwnerReference)) *corev1.Pod {
			ref := metav1.NewControllerRef(job, jobKind)
			change(ref)
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{*ref}}}
		}
		none := func(*metav1.OwnerReference) {}
		for _, test := range []struct {
			name   string
			pod    *corev1.Pod
			queued bool
		}{
			{"a suspended Job's", pod(job, none), false},
			{"a finished Job's", pod(over, none), true},
			{"an unknown Job's", pod(job, func(r *metav1.OwnerReference) { r.UID = "unknown" }), true},
			{"a workflow's", pod(job, func(r *metav1.OwnerReference) { r.Kind = "Workflow" }), false},
			{"that of a Job of another group", pod(job, func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1" }), false},
			{"nobody's", pod(job, func(r *metav1.OwnerReference) { r.Controller = nil }), true},
		} {
			queue := &countingQueue{}
			c.orphans = queue
			c.enqueueIfOrphan(test.pod)
			if (queue.added == 1) != test.queued {
				t.Errorf("%s: queued %d times", test.name, queue.added)
			}
		}
	})
}

// A queued pod keeps its finalizer if it is gone, another one or no orphan by now.
func TestQueuedPodsThatAreNoOrphansAreLeft(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"PATCH pods", true}
		c := start(t, s, Options{}, r.faults())
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		orphan := func(name string, finalizers ...string) types.UID {
			uid := addPodOf(s, name).UID
			s.changePod(name, func(p *corev1.Pod) { p.OwnerReferences[0].UID, p.Finalizers = "gone", finalizers })
			return uid
		}
		uid, untracked := orphan("pod", batch.JobTrackingFinalizer), orphan("untracked")
		after(time.Second)
		c.stop()
		r.refuse = false
		for key, want := range map[orphanKey]int{{"ns/none", "none"}: 0, {"ns/pod", "another"}: 0, {"ns/untracked", untracked}: 0, {"ns/pod", uid}: 1} {
			before := s.called("PATCH pods")
			err := c.syncOrphan(context.Background(), key)
			if n := s.called("PATCH pods") - before; err != nil || n != want {
				t.Errorf("%v: %v, %d writes, want %d", key, err, n, want)
			}
		}
	})
}

// A pod of a Job that cannot be read may not be an orphan.
func TestPodOfAnUnreadJobIsNoOrphan(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{call: "GET jobs", refuse: true}
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) })).DeepCopy()
		foreign := s.createJob(newJob("b", func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Spec.ManagedBy = new(metav1.Now()), new("example.com/other")
		})).DeepCopy()
		after(time.Minute)
		pod := addPodOf(s, "pod").DeepCopy()
		pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = "unknown", "unknown"
		if yes, err := c.orphan(context.Background(), pod); yes || !apierrors.IsForbidden(err) {
			t.Errorf("an orphan: %v, %v", yes, err)
		}
		r.refuse = false
		if yes, err := c.orphan(context.Background(), pod); !yes || err != nil {
			t.Errorf("once it can be read: an orphan: %v, %v", yes, err)
		}
		for want, job := range map[bool]*batchv1.Job{true: job, false: foreign} {
			pod := orphanPod("ownerless", job)
			pod.Namespace = "ns"
			if lost, err := c.lost(context.Background(), pod); lost != want || err != nil {
				t.Errorf("a pod of %s, which is being deleted: lost %v, %v", job.Name, lost, err)
			}
		}
	})
}
