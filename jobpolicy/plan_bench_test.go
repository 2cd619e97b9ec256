package jobpolicy_test

import (
	"fmt"
	"testing"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// bigInput is a Job of 100,000 indexes, a third of which has completed here and
// there, with n pods: running, newly succeeded and newly failed ones.
func bigInput(n int, perIndex bool) jobpolicy.Input {
	const completions = 100_000
	job := indexedJob(completions, 3)
	if !perIndex {
		job.Spec.BackoffLimitPerIndex = nil
		job.Spec.BackoffLimit = pointerTo[int32](1 << 30)
	}
	job.Spec.Parallelism = pointerTo(int32(n))
	job.Spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget, Status: batch.ConditionTrue}}},
		{Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{42}}},
	}}
	var done indexset.Builder
	for i := 0; i < completions; i += 3 {
		done.Add(i)
	}
	job.Status.CompletedIndexes = done.Set().String()
	if perIndex {
		job.Status.FailedIndexes = pointerTo("")
	}
	in := jobpolicy.Input{Job: job, Now: t0}
	for i := range n {
		phase, code := batch.PodRunning, int32(0)
		switch i % 4 {
		case 1:
			phase = batch.PodSucceeded
		case 2:
			phase, code = batch.PodFailed, 1
		}
		index := i*3 + 1
		p := pod(fmt.Sprintf("%08x-0000", uint32(i)*2654435761), index, phase, code, t0)
		p.Annotations[batch.JobIndexFailureCountAnnotation] = "0"
		in.Pods = append(in.Pods, p)
	}
	return in
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1000, 10_000, 30_000} {
		for _, perIndex := range []bool{false, true} {
			b.Run(fmt.Sprintf("pods=%d/perIndex=%v", n, perIndex), func(b *testing.B) {
				in := bigInput(n, perIndex)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := (jobpolicy.Engine{}).Plan(in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
