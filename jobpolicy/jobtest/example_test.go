package jobtest_test

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

// Try a policy: code 42 fails an index at once, a drained node does not count, and
// other failures are retried after a delay.
func ExampleCluster_Run() {
	three, once := int32(3), int32(1)
	job := &batch.Job{Spec: batch.JobSpec{
		CompletionMode: batch.IndexedCompletion, Completions: &three, Parallelism: &three, BackoffLimitPerIndex: &once,
		PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
			{Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}}},
			{Action: batch.ActionFailIndex, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{42}}},
		}},
		Template: batch.PodTemplateSpec{Spec: batch.PodSpec{
			RestartPolicy: batch.RestartPolicyNever, Containers: []batch.Container{{Name: "main"}},
		}},
	}}
	c := jobtest.New(job)
	start := c.Now
	err := c.Run(func(p *batch.Pod, attempt int) jobtest.End {
		fmt.Printf("index %d, attempt %d, after %v\n", jobtest.Index(p), attempt, c.Now.Sub(start))
		switch {
		case jobtest.Index(p) == 1 && attempt < 2:
			return jobtest.End{After: time.Minute, ExitCode: 143, Evict: true}
		case jobtest.Index(p) == 2:
			return jobtest.End{After: time.Second, ExitCode: 42}
		}
		return jobtest.End{After: time.Minute}
	})
	end, _ := c.Job.Status.Finished()
	fmt.Println(c.Now.Sub(start), end.Type, end.Reason, err)
	fmt.Println("completed", c.Job.Status.CompletedIndexes, "failed", *c.Job.Status.FailedIndexes)
	// Output:
	// index 0, attempt 0, after 0s
	// index 1, attempt 0, after 0s
	// index 2, attempt 0, after 0s
	// index 1, attempt 1, after 1m10s
	// index 1, attempt 2, after 2m30s
	// 3m30s Failed FailedIndexes <nil>
	// completed 0,1 failed 2
}
