package jobcontroller_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2/ktesting"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// world is a namespace of a real API server, with a controller and a kubelet.
type world struct {
	t         *testing.T
	client    kubernetes.Interface
	namespace string
	kubelet   *testenv.Kubelet
	control   *jobcontroller.Controller
}

// newWorld starts a controller with the options and a kubelet with the script. Both end
// with the test.
func newWorld(t *testing.T, o jobcontroller.Options, script func(*corev1.Pod) testenv.Outcome) *world {
	t.Helper()
	env := testenv.ForTest(t)
	config := env.Config()
	config.QPS = -1
	w := &world{t: t, namespace: env.Namespace(t)}
	w.client = kubernetes.NewForConfigOrDie(config)
	o.Namespace = w.namespace
	if o.BatchPeriod == 0 {
		o.BatchPeriod = 10 * time.Millisecond
	}
	if o.Engine.BaseDelay == 0 {
		o.Engine.BaseDelay, o.Engine.MaxDelay = 50*time.Millisecond, 200*time.Millisecond
		o.Engine.MinRequeue = 10 * time.Millisecond
	}
	var err error
	if w.control, err = jobcontroller.New(w.client, o); err != nil {
		t.Fatal(err)
	}
	if w.kubelet, err = testenv.NewKubelet(testenv.KubeletOptions{Config: config, Namespace: w.namespace, Script: script}); err != nil {
		t.Fatal(err)
	}
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 2)
	go func() { done <- w.control.Run(ctx) }()
	go func() { done <- w.kubelet.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// create creates a Job with one container and what change makes of it.
func (w *world) create(change func(*batchv1.Job)) *batchv1.Job {
	w.t.Helper()
	by := jobcontroller.DefaultManagedBy
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "job-", Namespace: w.namespace},
		Spec: batchv1.JobSpec{
			ManagedBy: &by,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "none"}},
			}},
		},
	}
	change(job)
	job, err := w.client.BatchV1().Jobs(w.namespace).Create(w.t.Context(), job, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return job
}

// await returns the Job once it is as it should be.
func (w *world) await(job *batchv1.Job, what string, is func(*batchv1.Job) bool) *batchv1.Job {
	w.t.Helper()
	for {
		now, err := w.client.BatchV1().Jobs(w.namespace).Get(w.t.Context(), job.Name, metav1.GetOptions{})
		if err == nil && is(now) {
			return now
		}
		select {
		case <-w.t.Context().Done():
			w.t.Fatalf("waiting for %s: %v", what, w.t.Context().Err())
		case <-time.After(20 * time.Millisecond):
		}
		if d, ok := w.t.Deadline(); ok && time.Until(d) < 10*time.Second {
			w.t.Fatalf("waiting for %s: the Job is %+v (%v)", what, now.Status, err)
		}
	}
}

func has(job *batchv1.Job, t batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == t && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func complete(job *batchv1.Job) bool { return has(job, batchv1.JobComplete) }

func to[T any](v T) *T { return &v }

func TestJobOnServerCompletes(t *testing.T) {
	w := newWorld(t, jobcontroller.Options{}, nil)
	job := w.create(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = to[int32](2), to[int32](5) })
	job = w.await(job, "its completion", complete)
	if job.Status.Succeeded != 5 || job.Annotations[jobcontroller.AnnotationMemory] == "" {
		t.Errorf("%+v, annotations %v", job.Status, job.Annotations)
	}
	_ = jobpolicy.JobTrackingFinalizer
}
