package convert_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/convert"
)

// One pass over a Job, from the informer's objects through a plan to objects for the
// API server.
func Example() {
	one, limit := int32(1), int32(6)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "default", UID: "4f1c"},
		Spec: batchv1.JobSpec{
			Parallelism: &one, Completions: &one, BackoffLimit: &limit,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "example.com/train:1"}},
			}},
		},
	}
	var pods []*corev1.Pod

	plan, err := jobpolicy.Engine{}.Plan(jobpolicy.Input{
		Job:  convert.Job(job),
		Pods: convert.Pods(pods),
		Now:  time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range plan.Create {
		pod := convert.NewPod(job, p)
		fmt.Println("create", pod.GenerateName+"…", pod.Spec.Containers[0].Image, pod.OwnerReferences[0].Name, pod.Finalizers)
	}
	status := job.Status.DeepCopy()
	convert.SetJobStatus(status, plan.InterimStatus)
	fmt.Println("write status: active", status.Active, "since", status.StartTime.Format(time.TimeOnly))
	// Output:
	// create train-… example.com/train:1 train [batch.kubernetes.io/job-tracking]
	// write status: active 1 since 12:00:00
}

// Every status of a pod is reported to a Restarter, which decides on each exit once.
func ExamplePodExits() {
	restarter, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := time.Now().Add(-time.Second)
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name:         "app",
			RestartCount: 1,
			State:        corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, FinishedAt: metav1.NewTime(ended)}},
		}}},
	}
	policy := convert.ExitPolicy(&pod.Spec, &pod.Spec.Containers[0])
	for range 2 { // seen twice, counted once
		for container, exit := range convert.PodExits(pod) {
			d := restarter.Exited(container, policy, exit)
			fmt.Println(container, "run", exit.Run, "ended with", exit.Code, "and is to", d.Action, "after", d.Delay)
		}
	}
	// Output:
	// app run 2 ended with 3 and is to Restart after 10s
	// app run 2 ended with 3 and is to Restart after 10s
}
