package jobcontroller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestSelectorsThatAskForTheLabel(t *testing.T) {
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	for _, test := range []struct {
		name     string
		selector *metav1.LabelSelector
		want     bool
	}{
		{"none meets no pod", nil, true},
		{"an empty one meets every pod", &metav1.LabelSelector{}, false},
		{"that of the API server", &metav1.LabelSelector{MatchLabels: map[string]string{PodLabel: "uid"}}, true},
		{"another label", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}, false},
		{"the label and another", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a", PodLabel: "uid"}}, true},
		{"one of two values", expression(PodLabel, metav1.LabelSelectorOpIn, "a", "b"), true},
		{"any value", expression(PodLabel, metav1.LabelSelectorOpExists), true},
		{"not this value", expression(PodLabel, metav1.LabelSelectorOpNotIn, "a"), false},
		{"no value", expression(PodLabel, metav1.LabelSelectorOpDoesNotExist), false},
		{"any value of another label", expression("app", metav1.LabelSelectorOpExists), false},
	} {
		job := newJob("a", func(j *batchv1.Job) { j.Spec.Selector = test.selector })
		if got := onlyLabelled(job); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// manual gives a Job a manual selector, which does not require the label.
func manual(j *batchv1.Job) {
	j.Spec.ManualSelector = new(true)
	j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	j.Spec.Template.Labels = map[string]string{"app": "a"}
}

// A Job that may have pods without the label ends a Controller limited to labelled
// pods, before that creates one. The next Controller, without the limit, runs the Job.
func TestJobWithAManualSelectorNeedsAllPods(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c, err := New(s.client(t, &faults{}), Options{OnlyLabelledPods: true})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- c.Run(context.Background()) }()
		s.createJob(newJob("labelled", nil))
		after(3 * time.Second)
		if n := s.called("POST pods"); n != 1 {
			t.Fatalf("%d pods of a Job without a manual selector", n)
		}
		s.createJob(newJob("of-others", func(j *batchv1.Job) {
			manual(j)
			j.Spec.ManagedBy = new("example.com/other")
		}))
		s.createJob(newJob("ended", func(j *batchv1.Job) {
			manual(j)
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}))
		after(3 * time.Second)
		select {
		case err := <-done:
			t.Fatalf("Run ended: %v", err)
		default:
		}
		s.createJob(newJob("a", manual))
		if err := <-done; !errors.Is(err, ErrUnlabelledPods) || !strings.Contains(err.Error(), "Job ns/a:") {
			t.Fatalf("Run: %v", err)
		}
		if n := s.called("POST pods"); n != 1 {
			t.Errorf("%d pods", n)
		}
		for range 2 { // the second does not wait for a reader
			if job := s.job("a"); !c.beyond(job) {
				t.Error("a later Job is not reported")
			}
		}
		start(t, s, Options{}, nil)
		after(3 * time.Second)
		endAll(s, 0)
		after(5 * time.Second)
		if !finished(s.job("a")) || !finished(s.job("labelled")) || s.called("POST pods") != 2 || trackedPods(s) != 0 {
			t.Errorf("%+v, %+v, %d creations", s.job("a").Status, s.job("labelled").Status, s.called("POST pods"))
		}
	})
}

// A pod that the informer no longer shows is read only if it may still hold its
// finalizer.
func TestPodsThatLeaveWithoutAFinalizerAreNotRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{OnlyLabelledPods: true}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		for i, change := range []func(*corev1.Pod){
			func(p *corev1.Pod) { p.Finalizers = nil },
			func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) },
			func(*corev1.Pod) {},
		} {
			pod := addPodOf(s, fmt.Sprint("pod-", i))
			s.changePod(pod.Name, change)
			after(time.Millisecond)
			s.mu.Lock()
			s.put("pods", "DELETED", s.objects["pods"][keyOf("ns", pod.Name)].(*corev1.Pod).DeepCopy())
			s.mu.Unlock()
			after(10 * time.Second)
			if n, want := s.called("GET pods"), i/2; n != want {
				t.Errorf("pod %d: %d reads, want %d", i, n, want)
			}
		}
	})
}

// A pod has lost its label. Its Job, still running, releases it. If the Job may have
// pods without the label, is another controller's or is not a Job, the pod stays as it
// is. Otherwise it loses its finalizer alone.
func TestPodsWithoutTheLabelAreLetGo(t *testing.T) {
	for _, test := range []struct {
		name           string
		job            func(*batchv1.Job)
		pod            func(*corev1.Pod)
		tracked, owned bool
	}{
		{"the Job goes on", nil, nil, false, false},
		{"the Job is being deleted", func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) }, nil, false, true},
		{"the Job has a manual selector", manual, nil, true, true},
		{"the Job is of others", func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") }, nil, true, true},
		{"the Job has ended", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}, nil, false, true},
		{"the Job is gone", nil, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "gone" }, false, true},
		{"it has no finalizer", nil, func(p *corev1.Pod) { p.Finalizers = nil }, true, true},
		{"something else owns it", nil, func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" }, true, true},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{}, nil)
			s.createJob(newJob("a", func(j *batchv1.Job) {
				j.Spec.Suspend = new(true)
				if test.job != nil {
					test.job(j)
				}
			}))
			after(time.Minute)
			pod := addPodOf(s, "pod").DeepCopy()
			if test.pod != nil {
				test.pod(pod)
			}
			if err := c.syncUnlabelled(context.Background(), pod); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			if got := s.pods()[0]; tracked(got) != test.tracked || (len(got.OwnerReferences) > 0) != test.owned {
				t.Errorf("%s: %+v", test.name, got.ObjectMeta)
			}
		})
	}
}

// ListError returns the informers' last error until a list succeeds.
func TestListErrorIsThatOfTheLastAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no such right"))
		var allowed atomic.Bool
		c := start(t, s, Options{OnlyLabelledPods: true}, &faults{hook: func(_ context.Context, call string) (refuse error, lose bool) {
			if call == "LIST pods" && !allowed.Load() {
				refuse = forbidden
			}
			return refuse, false
		}})
		after(5 * time.Second)
		if err := c.ListError(); !apierrors.IsForbidden(err) || !c.HasSynced() {
			t.Errorf("%v; synced: %v", err, c.HasSynced()) // the informers watch, and list nothing
		}
		allowed.Store(true)
		after(3 * time.Minute)
		if err := c.ListError(); err != nil {
			t.Error(err)
		}
	})
}

// A pod that the informer no longer shows is read. It loses its finalizer if it is
// there without its label.
func TestPodsThatLeaveAreRead(t *testing.T) {
	for _, test := range []struct {
		name    string
		pod     func(*corev1.Pod) // nil: none
		key     orphanKey
		refuse  bool
		tracked bool
		err     string
	}{
		{"without its label", func(p *corev1.Pod) { p.Labels = nil }, orphanKey{key: "ns/pod"}, false, false, ""},
		{"with its label", func(*corev1.Pod) {}, orphanKey{key: "ns/pod"}, false, true, ""},
		{"another pod", func(p *corev1.Pod) { p.Labels = nil }, orphanKey{"ns/pod", "another"}, false, true, ""},
		{"gone", nil, orphanKey{key: "ns/pod"}, false, false, ""},
		{"not readable", func(p *corev1.Pod) { p.Labels = nil }, orphanKey{key: "ns/pod"}, true, true, "reading pod ns/pod"},
		{"an invalid key", nil, orphanKey{key: "a/b/c"}, false, false, ""},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			r := refusing{call: "GET pods"}
			c := start(t, s, Options{}, r.faults())
			s.createJob(newJob("a", func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			}))
			after(time.Minute)
			c.stop() // so that nothing else lets the pod go
			if test.pod != nil {
				test.key.uid = cmp.Or(test.key.uid, addPodOf(s, "pod").UID)
				s.changePod("pod", func(p *corev1.Pod) {
					p.Labels = map[string]string{PodLabel: "a"}
					test.pod(p)
				})
			}
			r.refuse = test.refuse
			err := c.syncLeft(context.Background(), test.key)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v", test.name, err)
			}
			if test.pod != nil && (trackedPods(s) == 1) != test.tracked {
				t.Errorf("%s: %d pods have their finalizer", test.name, trackedPods(s))
			}
		})
	}
}
