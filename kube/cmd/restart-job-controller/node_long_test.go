//go:build long

package main

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/testenv"
)

// A Job of 200 indexes runs on a real node. The first pod of 50 of them fails. The program,
// which has only the permissions of the manifests, is killed 20 times meanwhile, after every
// ten ends. Each end is counted once, and each index is retried once at most.
func TestKillsLoseNoEndOnANode(t *testing.T) {
	const indexes, failing, kills, apart = 200, 50, 20, 10
	env, client := withRights(t, testenv.Options{Node: true})
	namespace := env.Namespace(t)
	eventually(t, "the namespace has its service account", func() bool {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	count := corev1.EnvVar{Name: "FAILURES", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		FieldPath: "metadata.annotations['" + batchv1.JobIndexFailureCountAnnotation + "']",
	}}}
	s := &story{T: t, client: client, namespace: namespace}
	s.createJob(&batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(indexes)), Parallelism: new(int32(20)), BackoffLimitPerIndex: new(int32(1)),
	}, corev1.Container{
		Name: "main", Image: testenv.Busybox, ImagePullPolicy: corev1.PullNever, Env: []corev1.EnvVar{count},
		Command: []string{"sh", "-c", "test $FAILURES -gt 0 || test $JOB_COMPLETION_INDEX -ge 50"},
	})
	p := s.startController(env)
	for kill := range int32(kills) {
		s.await("more pods have ended", func(j *batchv1.JobStatus) bool { return j.Succeeded+failures(j) >= apart*(kill+1) })
		if err := p.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.exits()
		p = s.startController(env)
	}
	s.await("the Job is complete", func(j *batchv1.JobStatus) bool { return j.CompletionTime != nil })
	eventually(t, "no pod has a finalizer", func() bool {
		return !slices.ContainsFunc(s.pods(), func(p corev1.Pod) bool { return len(p.Finalizers) > 0 })
	})

	status := s.job().Status
	if status.Succeeded != indexes || status.Failed != failing || status.CompletedIndexes != "0-199" || status.FailedIndexes != nil && *status.FailedIndexes != "" {
		t.Errorf("the Job's status is %+v", status)
	}
	ends := map[string]int{}
	for _, pod := range s.pods() {
		ends[completionIndex(&pod)+" "+string(pod.Status.Phase)]++
	}
	for end, n := range ends {
		if n != 1 {
			t.Errorf("%d pods of index %s", n, end)
		}
	}
	if len(ends) != indexes+failing {
		t.Errorf("%d ends, want %d", len(ends), indexes+failing)
	}
}
