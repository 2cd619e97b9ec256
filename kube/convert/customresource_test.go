package convert_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
)

// The reconciler of the example deletes the pod of a worker that is no longer wanted,
// and removes the tracking finalizers of the others once their run is gone or finished.
func TestCustomResourceLeavesNoFinalizer(t *testing.T) {
	t.Run("gone", func(t *testing.T) {
		leavesNoFinalizer(t, func(*TrainingRun) *TrainingRun { return nil })
	})
	t.Run("finished", func(t *testing.T) {
		leavesNoFinalizer(t, func(run *TrainingRun) *TrainingRun {
			finished := *run
			finished.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			return &finished
		})
	})
}

func leavesNoFinalizer(t *testing.T, end func(*TrainingRun) *TrainingRun) {
	client := fake.NewClientset()
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Name = pod.GenerateName + "x"
		pod.UID = types.UID(pod.Name)
		return false, nil, nil
	})
	shown := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	r, err := newReconciler(client, corelisters.NewPodLister(shown), clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)))
	if err != nil {
		t.Fatal(err)
	}
	const key = "ml/bert"
	run := TrainingRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "bert", UID: "u1"}, Workers: 2}
	run.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "x"}}}
	r.runs[key] = &run
	pass := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	watch := func() (names []string) {
		t.Helper()
		pods, err := client.CoreV1().Pods("ml").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for i := range pods.Items {
			pod := &pods.Items[i]
			all = append(all, pod)
			name := pod.Name
			if tracked(pod) {
				name += " tracked"
			}
			names = append(names, name)
		}
		if err := shown.Replace(all, ""); err != nil {
			t.Fatal(err)
		}
		return names
	}
	expect := func(want ...string) {
		t.Helper()
		if got := watch(); !slices.Equal(got, want) {
			t.Fatalf("pods %q, want %q", got, want)
		}
	}

	pass()
	expect("bert-0-x tracked", "bert-1-x tracked")
	fewer := *r.runs[key]
	fewer.Workers = 1
	r.runs[key] = &fewer
	pass()
	if m := r.memory[key]; len(m.deleted) != 1 || len(m.released) != 1 {
		t.Errorf("deleted %v, released %v, want one pod each", m.deleted, m.released)
	}
	expect("bert-0-x tracked")
	pass()
	if m := r.memory[key]; len(m.created)+len(m.deleted)+len(m.released) > 0 {
		t.Errorf("%+v is not settled", m)
	}
	r.runs[key] = end(r.runs[key])
	pass()
	expect("bert-0-x")
	if len(r.memory) > 0 {
		t.Error("the run is not forgotten")
	}
}
