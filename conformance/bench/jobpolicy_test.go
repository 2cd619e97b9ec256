package bench

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	_ "k8s.io/kubernetes/pkg/controller/job" // contains the linked function

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// matchPodFailurePolicy is the Job controller's own unexported function. Go accepts a
// function without a body only in a package with an assembly file, hence the empty
// upstream.s.
//
//go:linkname matchPodFailurePolicy k8s.io/kubernetes/pkg/controller/job.matchPodFailurePolicy
func matchPodFailurePolicy(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) (message *string, counts bool, action *batchv1.PodFailurePolicyAction)

// BenchmarkMatchPod measures a small policy, of which a rule matches, and the largest that
// the API server accepts, of which none does. The peer is the Job controller's function.
func BenchmarkMatchPod(b *testing.B) {
	for _, size := range []struct {
		rules, codes, containers int
		code                     int32
	}{
		{rules: 1, codes: 1, containers: 1, code: 100},
		{rules: 20, codes: 255, containers: 10, code: 1},
	} {
		policy := exitCodePolicy(size.rules, size.codes)
		pod := failedPod(0, size.containers, size.code, time.Unix(1e9, 0))
		var theirPolicy batchv1.PodFailurePolicy
		var theirPod corev1.Pod
		decode(b, encode(b, policy), &theirPolicy)
		decode(b, encode(b, pod), &theirPod)
		_, _, action := matchPodFailurePolicy(&theirPolicy, &theirPod)
		if matched := jobpolicy.MatchPod(policy, pod).Rule >= 0; matched != (action != nil) {
			b.Fatalf("a rule matches: %v; by the Job controller: %v", matched, action != nil)
		}
		name := fmt.Sprintf("rules=%d/codes=%d/containers=%d", size.rules, size.codes, size.containers)
		b.Run(name+"/impl=restart", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				jobpolicy.MatchPod(policy, pod)
			}
		})
		b.Run(name+"/impl=job-controller", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				matchPodFailurePolicy(&theirPolicy, &theirPod)
			}
		})
	}
}

// BenchmarkPlan measures a pass over a Job of 10^5 completions with 10^4 pods. A pass of
// the Job controller needs an API server, so the peer is what any controller has done
// before: it has decoded the same pods from JSON.
func BenchmarkPlan(b *testing.B) {
	input := largeJob(100_000, 10_000)
	b.Run("impl=restart", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plan, err := jobpolicy.Engine{}.Plan(input)
			if err != nil {
				b.Fatal(err)
			}
			if plan.InterimStatus == nil {
				b.Fatal("the plan counts no pod")
			}
		}
	})
	b.Run("impl=json.Unmarshal", func(b *testing.B) {
		text := encode(b, input.Pods)
		b.ReportAllocs()
		for b.Loop() {
			var pods []*batch.Pod
			decode(b, text, &pods)
		}
	})
}

// exitCodePolicy returns a policy whose rules have the same exit codes, beginning with 100.
func exitCodePolicy(rules, codes int) *batch.PodFailurePolicy {
	values := make([]int32, codes)
	for i := range values {
		values[i] = 100 + int32(i)
	}
	policy := &batch.PodFailurePolicy{}
	for range rules {
		policy.Rules = append(policy.Rules, batch.PodFailurePolicyRule{
			Action:      batch.ActionIgnore,
			OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: values},
		})
	}
	return policy
}

// failedPod returns the pod of an index, whose containers ended with the exit codes code,
// code+1, and so on.
func failedPod(index, containers int, code int32, finished time.Time) *batch.Pod {
	pod := &batch.Pod{
		ObjectMeta: batch.ObjectMeta{
			Name:              fmt.Sprintf("job-%d-abcde", index),
			Namespace:         "default",
			UID:               fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x", index*7919),
			CreationTimestamp: finished.Add(-time.Minute),
			Annotations: map[string]string{
				batch.JobCompletionIndexAnnotation:   strconv.Itoa(index),
				batch.JobIndexFailureCountAnnotation: "0",
			},
			Finalizers: []string{batch.JobTrackingFinalizer},
		},
		Status: batch.PodStatus{
			Phase: batch.PodFailed,
			Conditions: []batch.PodCondition{
				{Type: "PodScheduled", Status: batch.ConditionTrue},
				{Type: batch.PodReady, Status: batch.ConditionFalse, LastTransitionTime: finished},
			},
		},
	}
	for i := range containers {
		name := fmt.Sprintf("container-%d", i)
		ended := &batch.ContainerStateTerminated{ExitCode: code + int32(i), FinishedAt: finished}
		pod.Spec.Containers = append(pod.Spec.Containers, batch.Container{Name: name})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, batch.ContainerStatus{
			Name:  name,
			State: batch.ContainerState{Terminated: ended},
		})
	}
	return pod
}

// largeJob returns a Job of which every third index in the upper half has completed. Of
// its pods a third each failed, succeeded and runs.
func largeJob(completions, pods int) jobpolicy.Input {
	now := time.Unix(1e9, 0)
	var done indexset.Builder
	for index := completions / 2; index < completions; index += 3 {
		done.Add(index)
	}
	completed := done.Set()
	job := &batch.Job{
		ObjectMeta: batch.ObjectMeta{Name: "job", Namespace: "default", UID: "1", CreationTimestamp: now.Add(-time.Hour)},
		Spec: batch.JobSpec{
			CompletionMode: batch.IndexedCompletion,
			Completions:    new(int32(completions)),
			Parallelism:    new(int32(pods)),
			BackoffLimit:   new(int32(1 << 30)),
		},
		Status: batch.JobStatus{
			StartTime:        now.Add(-time.Hour),
			Succeeded:        int32(completed.Len()),
			CompletedIndexes: completed.String(),
		},
	}
	job.Spec.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	job.Spec.Default()

	input := jobpolicy.Input{Job: job, Now: now}
	for i := range pods {
		pod := failedPod(i, 1, 1, now.Add(-time.Duration(i)*time.Millisecond))
		switch i % 3 {
		case 1:
			pod.Status.Phase = batch.PodSucceeded
			pod.Status.ContainerStatuses[0].State.Terminated.ExitCode = 0
		case 2:
			pod.Status.Phase = batch.PodRunning
			pod.Status.ContainerStatuses[0].State = batch.ContainerState{Running: &batch.ContainerStateRunning{StartedAt: now}}
		}
		input.Pods = append(input.Pods, pod)
	}
	return input
}

func encode(b *testing.B, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func decode(b *testing.B, text []byte, v any) {
	if err := json.Unmarshal(text, v); err != nil {
		b.Fatal(err)
	}
}
