package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// The program runs a Job on a real API server, with only the permissions of the
// manifests, and is killed after two of the Job's pods have failed. While nobody controls
// the Job, its two other pods end, one with a failure and one with a success. The next
// process counts these two ends, counts no earlier one again, and retries the three
// indexes that failed until the Job is complete.
func TestStoryOfAKilledController(t *testing.T) {
	env, client := clusterWithRights(t)
	s := &story{T: t, client: client, namespace: env.Namespace(t)}
	runPods(t, env, s.namespace, func(pod *corev1.Pod) testenv.Outcome {
		first := pod.Annotations[batchv1.JobIndexFailureCountAnnotation] == "0"
		switch completionIndex(pod) {
		case "0", "1":
			if first {
				return testenv.Outcome{ExitCodes: []int32{1}}
			}
		case "2", "3":
			return testenv.Outcome{Forever: first} // the story ends the first pods
		}
		return testenv.Outcome{}
	})
	s.createJob(&batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(4)), Parallelism: new(int32(4)), BackoffLimitPerIndex: new(int32(1)),
	}, corev1.Container{Name: "main", Image: "none"})

	first := s.startController(env)
	s.await("two failures", func(j *batchv1.JobStatus) bool { return failures(j) == 2 })
	eventually(t, "the two other pods run", func() bool {
		running := 0
		for _, pod := range s.pods() {
			if completionIndex(&pod) >= "2" && pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == 2
	})
	if err := first.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.exits()

	for _, pod := range s.pods() {
		switch completionIndex(&pod) {
		case "2":
			s.end(&pod, corev1.PodFailed, 7)
		case "3":
			s.end(&pod, corev1.PodSucceeded, 0)
		}
	}
	if status := s.job().Status; failures(&status) != 2 {
		t.Errorf("while nobody controls the Job: %+v", status)
	}

	second := s.startController(env)
	s.await("the Job is complete", func(j *batchv1.JobStatus) bool { return j.CompletionTime != nil })
	eventually(t, "no pod has a finalizer", func() bool {
		return !slices.ContainsFunc(s.pods(), func(p corev1.Pod) bool { return len(p.Finalizers) > 0 })
	})
	if err := second.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := second.exits(); code != exitOK {
		t.Errorf("the second process exits with %d", code)
	}

	status := s.job().Status
	if status.Succeeded != 4 || status.Failed != 3 || status.CompletedIndexes != "0-3" || status.FailedIndexes != nil && *status.FailedIndexes != "" || status.Active != 0 {
		t.Errorf("the Job's status is %+v", status)
	}
	if c := status.Conditions[len(status.Conditions)-1]; c.Type != batchv1.JobComplete || c.Status != corev1.ConditionTrue {
		t.Errorf("the Job's last condition is %+v", c)
	}
	ends := map[string]int{}
	for _, pod := range s.pods() {
		ends[completionIndex(&pod)+" "+string(pod.Status.Phase)]++
	}
	const want = "map[0 Failed:1 0 Succeeded:1 1 Failed:1 1 Succeeded:1 2 Failed:1 2 Succeeded:1 3 Succeeded:1]"
	if got := fmt.Sprint(ends); got != want {
		t.Errorf("the pods of each index have ended as %s, want %s", got, want)
	}
}

// story is a Job and its pods on an API server.
type story struct {
	*testing.T
	client    kubernetes.Interface
	namespace string
	failed    int32 // the most failures seen in the Job's status
}

const storyJob = "story"

func completionIndex(pod *corev1.Pod) string {
	return pod.Annotations[batchv1.JobCompletionIndexAnnotation]
}

// failures returns how many failures a status holds, whether they are counted yet or
// only named as the next to be counted.
func failures(j *batchv1.JobStatus) int32 {
	n := j.Failed
	if u := j.UncountedTerminatedPods; u != nil {
		n += int32(len(u.Failed))
	}
	return n
}

// createJob creates the Job with a container in its template. The delay before retries leaves time to kill the
// first process before them.
func (s *story) createJob(spec *batchv1.JobSpec, container corev1.Container) {
	s.Helper()
	spec.ManagedBy = new(jobcontroller.DefaultManagedBy)
	spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: storyJob, Annotations: map[string]string{jobcontroller.AnnotationBaseDelay: "3s"}},
		Spec:       *spec,
	}
	if _, err := s.client.BatchV1().Jobs(s.namespace).Create(s.Context(), job, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// startController starts the program. It leads from its start on, because the story
// runs no two at once.
func (s *story) startController(env *testenv.Environment) *program {
	s.Helper()
	return startProgram(s.T, "--kubeconfig", accountKubeconfig(s.T, env), "--health-probe-bind-address=0")
}

func (s *story) job() *batchv1.Job {
	s.Helper()
	job, err := s.client.BatchV1().Jobs(s.namespace).Get(s.Context(), storyJob, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return job
}

// await waits until the Job's status satisfies a condition. Failures must not become
// fewer meanwhile.
func (s *story) await(what string, holds func(*batchv1.JobStatus) bool) {
	s.Helper()
	eventually(s.T, what, func() bool {
		status := s.job().Status
		if n := failures(&status); n < s.failed {
			s.Errorf("%d failures in the status after %d: %+v", n, s.failed, status)
		} else {
			s.failed = n
		}
		return holds(&status)
	})
}

func (s *story) pods() []corev1.Pod {
	s.Helper()
	list, err := s.client.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + storyJob})
	if err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// end ends a pod like its kubelet.
func (s *story) end(pod *corev1.Pod, phase corev1.PodPhase, code int) {
	s.Helper()
	patch := fmt.Sprintf(`{"status":{"phase":%q,"containerStatuses":[{"name":"main","image":"none","state":{"terminated":{"exitCode":%d}}}]}}`, phase, code)
	if _, err := s.client.CoreV1().Pods(s.namespace).Patch(s.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		s.Fatal(err)
	}
}
