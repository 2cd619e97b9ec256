package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/restartkit/restart/conformance/upstream/compare"
	"github.com/restartkit/restart/kube/testenv"
)

// A runner runs a load with one controller.
type runner struct {
	env       *testenv.Environment
	side      compare.Side
	load      load
	namespace string
	profiles  string
	client    kubernetes.Interface
}

// A sample is the result of a run.
type sample struct {
	wall, cpu time.Duration
	requests  int64
	peak      int64 // bytes
}

func (r *runner) run(ctx context.Context) (s sample, err error) {
	if r.client, err = kubernetes.NewForConfig(r.env.Config()); err != nil {
		return s, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	if _, err := r.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return s, err
	}
	defer r.remove(ctx)
	profile := ""
	if r.profiles != "" {
		profile = filepath.Join(r.profiles, r.namespace+".pprof")
	}
	c, err := startController(ctx, r.env, r.side, r.load.qps, profile)
	if err != nil {
		return s, err
	}
	start := time.Now()
	err = r.create(c.running)
	if err == nil {
		err = compare.Await(c.running, r.client, r.namespace)
	}
	s.wall = time.Since(start)
	if err == nil {
		err = r.awaitRest(c.running)
	}
	if err := errors.Join(err, c.stop()); err != nil {
		return s, err
	}
	s.requests, s.cpu, s.peak = c.requests, c.cpu(), c.peak
	return s, r.check(ctx)
}

// remove deletes the Jobs and pods, so that the next run does not meet them.
func (r *runner) remove(ctx context.Context) {
	background := metav1.DeletePropagationBackground
	r.client.BatchV1().Jobs(r.namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	r.client.CoreV1().Pods(r.namespace).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{})
}

// create creates the Jobs of the load in the same order in each run, the larger
// ones among the smaller ones.
func (r *runner) create(ctx context.Context) error {
	var jobs []*batchv1.Job
	for _, s := range r.load.sizes {
		for range s.jobs {
			jobs = append(jobs, r.job(s.pods))
		}
	}
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	for i, job := range jobs {
		job.Name = fmt.Sprintf("job-%d", i)
	}
	const creators = 8
	queue, errs := make(chan *batchv1.Job), make(chan error, creators)
	for range creators {
		go func() {
			var err error
			for job := range queue {
				if err == nil {
					_, err = r.client.BatchV1().Jobs(r.namespace).Create(ctx, job, metav1.CreateOptions{})
				}
			}
			errs <- err
		}()
	}
	for _, job := range jobs {
		queue <- job
	}
	close(queue)
	var err error
	for range creators {
		err = errors.Join(err, <-errs)
	}
	return err
}

func (r *runner) job(pods int32) *batchv1.Job {
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		Completions: &pods, Parallelism: &pods, CompletionMode: new(batchv1.IndexedCompletion), BackoffLimit: &pods,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "example.com/main"}},
		}},
	}}
	if r.load.failures {
		job.Spec.BackoffLimit, job.Spec.BackoffLimitPerIndex = nil, new(int32(2))
	}
	if r.load.direct {
		job.Spec.Template.Annotations = map[string]string{directAnnotation: ""}
	}
	r.side.Claim(job)
	return job
}

// awaitRest waits until no pod has the tracking finalizer and no more Events come. Both
// controllers write Events last, and Kubernetes' removes many finalizers only after it
// has written that the Job has finished.
func (r *runner) awaitRest(ctx context.Context) error {
	const quiet = 3 // lists without a new Event
	for before, same := -1, 0; ; {
		pods, err := r.client.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		events, err := r.client.CoreV1().Events(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if same++; len(events.Items) != before {
			before, same = len(events.Items), 0
		}
		tracked := slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) })
		if !tracked && same >= quiet {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// check returns an error unless every pod's work was done.
func (r *runner) check(ctx context.Context) error {
	jobs, err := r.client.BatchV1().Jobs(r.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, job := range jobs.Items {
		if job.Status.Succeeded != *job.Spec.Completions {
			return fmt.Errorf("%s ended with %d of %d indexes", job.Name, job.Status.Succeeded, *job.Spec.Completions)
		}
	}
	return nil
}

// directAnnotation marks pods that end with one write.
const directAnnotation = "jobperf/direct"

// startNode starts the simulated node and returns a function that stops it.
func startNode(ctx context.Context, env *testenv.Environment) (stop func(), err error) {
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: env.Config(), Script: outcome, Workers: 16})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- kubelet.Run(ctx) }()
	return func() {
		cancel()
		<-done
	}, nil
}

// outcome makes pods run for a tenth of a second. The first attempt of every tenth index of a
// Job with a limit per index, marked by an annotation of its pods, fails.
func outcome(pod *corev1.Pod) testenv.Outcome {
	_, direct := pod.Annotations[directAnnotation]
	o := testenv.Outcome{Direct: direct, Run: 100 * time.Millisecond}
	index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	if pod.Annotations[batchv1.JobIndexFailureCountAnnotation] == "0" && strings.HasSuffix(index, "0") {
		o.ExitCodes = []int32{1}
	}
	return o
}
