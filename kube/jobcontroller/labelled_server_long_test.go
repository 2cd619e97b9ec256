//go:build long

package jobcontroller_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// The tests in this file run on a real API server; see testenv.EnvVar.

// A Controller limited to labelled pods requests others only once, when it starts. It
// runs Jobs, and releases and adopts pods, like any Controller.
func TestServerLabelledPodsSuffice(t *testing.T) {
	w := newEmptyWorld(t)
	var mu sync.Mutex
	asked := map[string]int{} // for pods, by label selector
	config := rest.CopyConfig(w.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods") {
				mu.Lock()
				asked[r.URL.Query().Get("labelSelector")]++
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	mine := *w // the test's own requests do not count
	mine.client = kubernetes.NewForConfigOrDie(config)
	mine.start(jobcontroller.Options{OnlyLabelledPods: true}, forever)
	releasesAndAdopts(w)
	mu.Lock()
	defer mu.Unlock()
	if asked["!"+jobcontroller.PodLabel] != 1 || asked[jobcontroller.PodLabel] == 0 || len(asked) != 2 {
		t.Errorf("it has asked for %v", asked)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Pods that lost the label before the start of the Controller lose the finalizer. Pods
// of others keep theirs.
func TestServerUnlabelledPodsAreLookedAtOnce(t *testing.T) {
	w := newEmptyWorld(t)
	running := w.create(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(0)), new(int32(1)) })
	other := w.create(func(s *batchv1.JobSpec) { s.ManagedBy = new("example.com/other") })
	gone := running.DeepCopy()
	gone.Name, gone.UID = "gone", "00000000-0000-0000-0000-000000000000"
	for name, owner := range map[string]*batchv1.Job{"of-a-job-that-goes-on": running, "of-a-job-that-is-gone": gone, "of-others": other} {
		_, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Finalizers: []string{batch.JobTrackingFinalizer},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.start(jobcontroller.Options{OnlyLabelledPods: true}, forever)
	get := func(name string) *corev1.Pod {
		pod, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod
	}
	tracked := func(name string) bool { return slices.Contains(get(name).Finalizers, batch.JobTrackingFinalizer) }
	w.until("pods without finalizers", func() bool { return !tracked("of-a-job-that-goes-on") && !tracked("of-a-job-that-is-gone") },
		func() string {
			return fmt.Sprint(get("of-a-job-that-goes-on").ObjectMeta, get("of-a-job-that-is-gone").ObjectMeta)
		})
	if pod := get("of-a-job-that-goes-on"); metav1.GetControllerOf(pod) != nil {
		t.Errorf("it is not released: %v", pod.OwnerReferences)
	}
	if !tracked("of-others") {
		t.Error("the pod of another controller has lost its finalizer")
	}
}
