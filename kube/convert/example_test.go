package convert_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/convert"
)

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
