package jobcontroller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// The metrics name each pass after the most important part of its plan.
func TestPassesAreNamed(t *testing.T) {
	one, untracked := []jobpolicy.Creation{{}}, []jobpolicy.Deletion{{Untrack: true}}
	for _, test := range []struct {
		name string
		in   jobpolicy.Input
		plan jobpolicy.Plan
		want string
	}{
		{"a creation", jobpolicy.Input{}, jobpolicy.Plan{Create: one}, "pods_created"},
		{"a delay", jobpolicy.Input{}, jobpolicy.Plan{RequeueReason: jobpolicy.RequeueDelay}, "pods_created"},
		{"a delay put off", jobpolicy.Input{}, jobpolicy.Plan{RequeueReason: jobpolicy.RequeueBatch}, "pods_created"},
		{"a deletion", jobpolicy.Input{}, jobpolicy.Plan{Delete: untracked}, "pods_deleted"},
		{"a deletion that lets the kubelet end a pod", jobpolicy.Input{}, jobpolicy.Plan{Delete: []jobpolicy.Deletion{{}}}, "pods_deleted"},
		{"deletions of a finished Job", jobpolicy.Input{}, jobpolicy.Plan{Delete: []jobpolicy.Deletion{{}}, MetricDeltas: jobpolicy.MetricDeltas{Finished: "x"}}, ""},
		{"an end", jobpolicy.Input{}, jobpolicy.Plan{MetricDeltas: jobpolicy.MetricDeltas{Finished: "x"}}, ""},
		{"nothing", jobpolicy.Input{}, jobpolicy.Plan{}, "tracking"},
		{"nothing, because a change is not seen", jobpolicy.Input{ExpectationsPending: true}, jobpolicy.Plan{}, ""},
	} {
		p := &pass{}
		if p.name(test.plan, test.in); p.action != test.want {
			t.Errorf("%s: %q, want %q", test.name, p.action, test.want)
		}
	}
}

// failedPasses returns how many passes have failed, and how many there were.
func failedPasses(t *testing.T, c *running) (failed, all float64) {
	t.Helper()
	for name, n := range counted(t, c.Metrics()) {
		if strings.HasPrefix(name, "restart_job_syncs_total ") {
			all += n
			if strings.Contains(name, " error") {
				failed += n
			}
		}
	}
	return failed, all
}

// A status that no API server would store fails each pass over its Job, which has no
// pod.
func TestPassOverAnInvalidStatusFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Status.Failed = -1 }))
		after(time.Minute)
		if failed, all := failedPasses(t, c); failed == 0 || failed != all || s.called("POST pods") != 0 {
			t.Errorf("%v of %v passes failed; %d creations", failed, all, s.called("POST pods"))
		}
	})
}

// The end of a pod is recorded, but the status that counts it cannot be written, which
// fails each pass.
func TestPassWithoutItsFinalStatusFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		left := 100
		c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "PATCH jobs/status" {
				if left--; left < 0 {
					return forbidden("no right to"), false
				}
			}
			return nil, false
		}})
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = new(int32(2)) }))
		after(time.Minute)
		left = 1
		endAll(s, 0)
		after(time.Minute)
		if n, _ := failedPasses(t, c); n != float64(-left) || n == 0 || trackedPods(s) != 1 {
			t.Errorf("%v passes failed, %d writes; %d pods have their finalizer", n, -left, trackedPods(s))
		}
	})
}

// A status write has no answer, and the Job cannot be read either. Every such pass
// counts as failed.
func TestPassWithAnUnreadStatusFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "GET jobs" {
				return forbidden("no right to"), false
			}
			return nil, call == "PATCH jobs/status"
		}})
		s.createJob(newJob("a", nil))
		after(time.Minute)
		failed, all := failedPasses(t, c)
		if reads := s.called("PATCH jobs/status"); reads != 1 || failed < 3 || failed < all-2 {
			t.Errorf("%d writes; %v of %v passes failed", reads, failed, all)
		}
	})
}

// Deletions without an answer fail a pass, even if it does no more because the Job has
// ended, or because the informer does not show a listed pod.
func TestPassWithUnansweredDeletionsFails(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job, *jobRecord){
		"ended": func(j *batchv1.Job, _ *jobRecord) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		},
		"behind": func(_ *batchv1.Job, state *jobRecord) {
			pods := map[types.UID]livePod{"new": {"new", "999999", true}}
			state.live = &liveList{"999999", time.Now(), pods}
		},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			broken := true
			c := start(t, s, Options{}, failingDeletions(s, &broken))
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
			after(time.Minute)
			job, pod, state := job.DeepCopy(), addPodOf(s, "pod"), &jobRecord{uid: job.UID}
			state.unacknowledged.deletions = []jobpolicy.Deletion{{PodRef: jobpolicy.PodRef{Name: pod.Name, UID: string(pod.UID)}}}
			change(job, state)
			p := &pass{Controller: c.Controller, key: "ns/another", record: state, job: job}
			if err := p.once(context.Background(), job); err == nil || !strings.Contains(err.Error(), "deleting") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// A Job vanishes before its status is written. That is no failure.
func TestStatusOfAVanishedJobIsNotMissed(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, lagging(time.Hour, 0))
		s.createJob(newJob("a", nil))
		after(2 * time.Hour)
		s.removeJob("a")
		endAll(s, 0)
		after(time.Minute)
		if n := s.eventReasons()["FailedStatusUpdate"]; n != 0 {
			t.Errorf("Events %v", s.eventReasons())
		}
		for name, n := range counted(t, c.Metrics()) {
			if n > 0 && (strings.Contains(name, "status_write_failures") || strings.Contains(name, " error")) {
				t.Errorf("%s: %v", name, n)
			}
		}
	})
}

// Informers that have ended are refused, and leave no goroutine of a Controller.
func TestEndedInformersAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		client := s.client(t, &faults{})
		factory := kubeinformers.NewSharedInformerFactory(client, 0)
		jobs, pods := factory.Batch().V1().Jobs(), factory.Core().V1().Pods()
		jobs.Informer()
		pods.Informer()
		ctx, cancel := context.WithCancel(context.Background())
		factory.Start(ctx.Done())
		after(time.Minute)
		cancel()
		factory.Shutdown()
		if _, err := New(client, Options{Jobs: jobs, Pods: pods}); err == nil || !strings.Contains(err.Error(), "stopped") {
			t.Errorf("New: %v", err)
		}
	})
}

// Run leaves no handler with informers of the caller.
func TestHandlersLeaveTheCallersInformers(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		factory := kubeinformers.NewSharedInformerFactory(s.client(t, &faults{}), 0)
		jobs, pods := factory.Batch().V1().Jobs(), factory.Core().V1().Pods()
		jobs.Informer()
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(func() { cancel(); factory.Shutdown() })
		c := start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: BuiltInManagedBy}, Jobs: jobs, Pods: pods}, nil)
		if c.informers.factory != nil {
			t.Error("it has informers of its own")
		}
		factory.Start(ctx.Done())
		counts := func(name string) float64 {
			s.createJob(newJob(name, func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") }))
			after(time.Minute)
			return counted(t, c.Metrics())["restart_job_by_external_controller_total example.com/other"]
		}
		if n := counts("a"); n != 1 {
			t.Fatalf("%v Jobs of others are counted", n)
		}
		c.stop()
		if n := counts("b"); n != 1 {
			t.Errorf("after Run has returned: %v", n)
		}
	})
}

// The stored memory names a released pod only while the informer shows its finalizer.
func TestMemoryNamesReleasedPodsThatAreShown(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		held, let := addPodOf(s, "held"), addPodOf(s, "let")
		s.changePod("held", func(p *corev1.Pod) { p.Finalizers = []string{batch.JobTrackingFinalizer} })
		s.changePod("let", func(p *corev1.Pod) { p.Finalizers = nil })
		synced := func() bool { return c.pods.get("ns/let") != nil && !tracked(c.pods.get("ns/let")) }
		for range 10 {
			if after(time.Millisecond); synced() {
				break
			}
		}
		next := job.DeepCopy()
		p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{}, job: job}
		p.annotate(context.Background(), next, jobpolicy.State{Job: string(job.UID), Released: []string{string(held.UID), string(let.UID)}})
		m, there, err := decodeState(next.Annotations[AnnotationMemory], job.UID)
		if err != nil || !there || len(m.Released) != 1 || m.Released[0] != string(held.UID) {
			t.Errorf("%+v, %v, %v", m, there, err)
		}
	})
}

// After a refused deletion the pod itself shows whether it is deleted. If it cannot be
// read, the deletion stays without an answer.
func TestRefusedDeletionIsLookedUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		unreadable := false
		c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "GET pods" && unreadable {
				return forbidden("no right to"), false
			}
			return nil, false
		}})
		job := s.createJob(newJob("a", nil))
		after(3 * time.Second)
		pod := s.pods()[0]
		p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{}, job: job}
		d := jobpolicy.Deletion{PodRef: jobpolicy.PodRef{Name: pod.Name, UID: string(pod.UID)}}
		ask := func() error { return p.deletedBefore(context.Background(), d, errWebhook) }
		if err := ask(); err == nil || unanswered(err) {
			t.Errorf("the pod is there: %v", err)
		}
		unreadable = true
		if err := ask(); err == nil || !unanswered(err) {
			t.Errorf("the pod cannot be read: %v", err)
		}
		unreadable = false
		d.UID = "another"
		if err := ask(); err != nil {
			t.Errorf("another pod has the name: %v", err)
		}
	})
}

// A status older than the last one written is read from storage. The pass fails if it
// cannot be read, and if another controller has written it.
func TestPassOverAnOldStatusReadsTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{call: "GET jobs"}
		c := start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: "example.com/this"}}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") })).DeepCopy()
		after(time.Minute)
		engine := jobpolicy.Engine{ManagedBy: "example.com/other"}
		p := &pass{Controller: c.Controller, key: "ns/another", record: &jobRecord{uid: job.UID}, job: job, engine: engine}
		p.record.restore(job, "", klog.Background())
		memory, _, err := decodeState(memoryText(t, job, 5, time.Now()), job.UID)
		if err != nil {
			t.Fatal(err)
		}
		p.record.state = memory
		in, err := p.observe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		r.refuse = true
		if _, err := p.plan(context.Background(), &in); !apierrors.IsForbidden(err) {
			t.Errorf("it cannot be read: %v", err)
		}
		r.refuse = false
		s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"read": "again"} })
		again := in
		if _, err := p.plan(context.Background(), &again); err != nil || p.job.Labels["read"] != "again" {
			t.Errorf("it can be read: %v, labels %v", err, p.job.Labels)
		}
		if latest := p.record.written; latest == nil || latest.Labels["read"] != "again" {
			t.Errorf("the next pass begins with %+v", latest)
		}
		p.job = job
		s.changeJob("a", func(j *batchv1.Job) {
			j.Status.Failed = 1
			j.Annotations = map[string]string{AnnotationMemory: memoryText(t, j, 1, time.Now())}
		})
		if _, err := p.plan(context.Background(), &in); !errors.Is(err, errOutdated) {
			t.Errorf("another controller has written it: %v", err)
		}
	})
}
