package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// A manifest is read, defaulted, checked and looked over before anything runs.
func Example() {
	var job jobpolicy.Job
	if err := json.Unmarshal([]byte(`{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "nightly"},
		"spec": {
			"completionMode": "Indexed", "completions": 1000, "parallelism": 50, "backoffLimitPerIndex": 2,
			"podFailurePolicy": {"rules": [
				{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [40, 41, 42]}}
			]},
			"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]}}
		}}`), &job); err != nil {
		fmt.Println(err)
		return
	}
	job.Spec.Default()
	fmt.Println("valid:", job.Spec.Validate() == nil)
	for _, finding := range job.Spec.Lint() {
		fmt.Println(finding.Field, finding.Check)
	}
	bound, _ := jobpolicy.Engine{}.WorstCase(&job.Spec)
	fmt.Println("at most", bound.Runs, "pods")

	plan, _ := jobpolicy.Engine{}.Plan(jobpolicy.Input{Job: &job, Now: noon})
	fmt.Println("now create", len(plan.Create))
	// Output:
	// valid: true
	// spec.podFailurePolicy.rules[0].onExitCodes drain
	// at most 3000 pods
	// now create 50
}

// A Job of three indexes, of which one fails once: each plan is carried out and
// the next one made from what came of it.
func ExampleEngine_Plan() {
	job := &jobpolicy.Job{ObjectMeta: jobpolicy.ObjectMeta{Name: "render"}}
	if err := json.Unmarshal([]byte(`{
		"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimitPerIndex": 1
	}`), &job.Spec); err != nil {
		fmt.Println(err)
		return
	}
	var pods []*jobpolicy.Pod
	input := jobpolicy.Input{Job: job, Now: noon}
	carryOut := func() { // what a controller does, here with pods that only exist in memory
		input.Pods = pods
		plan, err := jobpolicy.Engine{}.Plan(input)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, p := range plan.Create {
			fmt.Printf("create index %d after %s failures\n", p.Index, p.Annotations[jobpolicy.JobIndexFailureCountAnnotation])
			pod := p.Pod(job.Spec.Template.Spec)
			pod.Name = fmt.Sprintf("%s%d", p.GenerateName, len(pods))
			pod.UID = pod.Name
			pods = append(pods, pod)
		}
		if plan.Record != nil {
			job.Status = *plan.Record
		}
		for _, released := range plan.Release {
			for _, pod := range pods {
				if pod.UID == released.UID {
					pod.Untrack()
				}
			}
		}
		if plan.Status != nil {
			job.Status = *plan.Status
		}
		input.Memory = plan.Memory
		if plan.RequeueAfter > 0 {
			fmt.Println("again after", plan.RequeueAfter)
			input.Now = input.Now.Add(plan.RequeueAfter)
		}
	}

	carryOut()
	for i, pod := range pods {
		code := map[int]int32{1: 1}[i] // index 1 fails
		pod.Status.Phase = jobpolicy.PodSucceeded
		if code != 0 {
			pod.Status.Phase = jobpolicy.PodFailed
		}
		pod.Status.ContainerStatuses = []jobpolicy.ContainerStatus{{Name: "main", State: jobpolicy.ContainerState{
			Terminated: &jobpolicy.ContainerStateTerminated{ExitCode: code, FinishedAt: noon},
		}}}
	}
	carryOut()
	carryOut()
	pods[3].Status.Phase = jobpolicy.PodSucceeded
	carryOut()
	end, _ := job.Status.Finished()
	fmt.Println(end.Type, end.Reason, job.Status.CompletedIndexes, job.Status.Failed)
	// Output:
	// create index 0 after 0 failures
	// create index 1 after 0 failures
	// create index 2 after 0 failures
	// again after 10s
	// create index 1 after 1 failures
	// Complete CompletionsReached 0-2 1
}

// A node is drained while a task runs; the task is not to blame.
func ExamplePodFailurePolicy_Match() {
	policy := &jobpolicy.PodFailurePolicy{Rules: []jobpolicy.PodFailurePolicyRule{
		{Action: jobpolicy.PodFailurePolicyActionIgnore, OnPodConditions: []jobpolicy.OnPodCondition{{Type: jobpolicy.DisruptionTarget}}},
		{Action: jobpolicy.PodFailurePolicyActionFailJob, OnExitCodes: &jobpolicy.OnExitCodes{
			Operator: jobpolicy.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42},
		}},
	}}
	pod := &jobpolicy.Pod{ObjectMeta: jobpolicy.ObjectMeta{Namespace: "ns", Name: "task-1"}}
	pod.Status.ContainerStatuses = []jobpolicy.ContainerStatus{{Name: "main", State: jobpolicy.ContainerState{
		Terminated: &jobpolicy.ContainerStateTerminated{ExitCode: 42},
	}}}
	match := policy.Match(pod)
	fmt.Println(match.Action, match.Counted())
	fmt.Println(match.Message(pod))

	pod.Status.Conditions = []jobpolicy.PodCondition{{Type: jobpolicy.DisruptionTarget, Status: jobpolicy.ConditionTrue}}
	match = policy.Match(pod)
	fmt.Println(match.Action, match.Counted())
	// Output:
	// FailJob true
	// Container main for pod ns/task-1 failed with exit code 42 matching FailJob rule at index 1
	// Ignore false
}

func ExamplePodFailurePolicy_Explain() {
	policy := &jobpolicy.PodFailurePolicy{Rules: []jobpolicy.PodFailurePolicyRule{
		{Action: jobpolicy.PodFailurePolicyActionIgnore, OnPodConditions: []jobpolicy.OnPodCondition{{Type: jobpolicy.DisruptionTarget}}},
		{Action: jobpolicy.PodFailurePolicyActionFailJob, OnExitCodes: &jobpolicy.OnExitCodes{
			Operator: jobpolicy.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0, 1},
		}},
	}}
	pod := &jobpolicy.Pod{}
	pod.Status.ContainerStatuses = []jobpolicy.ContainerStatus{{Name: "main", State: jobpolicy.ContainerState{
		Terminated: &jobpolicy.ContainerStateTerminated{ExitCode: 137},
	}}}
	for _, step := range policy.Explain(pod) {
		fmt.Println(step)
	}
	// Output:
	// rule 0 (Ignore): no match: condition DisruptionTarget is not there, wanted True
	// rule 1 (FailJob): matched: container main ended with exit code 137, not in [0 1]
}

// A CI runner retries a shard and keeps the two counts in its own database.
func ExampleNextCounts() {
	flaky := jobpolicy.Match{Rule: -1}
	preempted := jobpolicy.Match{Action: jobpolicy.PodFailurePolicyActionIgnore}
	failures, ignored := 0, 0
	for _, end := range []jobpolicy.Match{flaky, preempted, flaky} {
		failures, ignored = jobpolicy.NextCounts(failures, ignored, end)
	}
	fmt.Println(failures, ignored)
	// Output: 2 1
}

// A limit of 1 allows two runs of each shard.
func ExampleIndexFailed() {
	limit := int32(1)
	failed := jobpolicy.Match{Rule: -1}
	fmt.Println(jobpolicy.IndexFailed(failed, 0, &limit)) // its first failure
	fmt.Println(jobpolicy.IndexFailed(failed, 1, &limit)) // its second
	// Output:
	// false
	// true
}

// A batch scheduler asks after every end whether the whole array is over.
func ExampleVerdict() {
	size, tolerated := int32(100), int32(5)
	limits := jobpolicy.Limits{Completions: &size, MaxFailedIndexes: &tolerated}
	fmt.Println(jobpolicy.Verdict(limits, jobpolicy.Tally{Succeeded: 60, FailedIndexes: 6, Active: 34}))
	reason, _ := jobpolicy.Verdict(limits, jobpolicy.Tally{Succeeded: 60, FailedIndexes: 2, Active: 38})
	fmt.Printf("%q\n", reason)
	// Output:
	// MaxFailedIndexesExceeded Job has exceeded the specified maximal number of failed indexes
	// ""
}

// The third failure in a row was 15 seconds ago.
func ExampleRemaining() {
	fmt.Println(jobpolicy.Remaining(10*time.Second, 10*time.Minute, 3, noon.Add(-15*time.Second), noon))
	// Output: 25s
}

func ExampleFinishTime() {
	pod := &jobpolicy.Pod{ObjectMeta: jobpolicy.ObjectMeta{CreationTimestamp: noon}}
	fmt.Println(jobpolicy.FinishTime(pod).Format(time.TimeOnly)) // nothing else is known
	for i, name := range []string{"main", "logger"} {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, jobpolicy.ContainerStatus{Name: name, State: jobpolicy.ContainerState{
			Terminated: &jobpolicy.ContainerStateTerminated{FinishedAt: noon.Add(time.Duration(i+1) * time.Minute)},
		}})
	}
	fmt.Println(jobpolicy.FinishTime(pod).Format(time.TimeOnly)) // the last container's end
	// Output:
	// 12:00:00
	// 12:02:00
}

// A training run is done when its leader, or any four of its workers, are.
func ExampleSuccessPolicy_Match() {
	leader, four := "0", int32(4)
	policy := &jobpolicy.SuccessPolicy{Rules: []jobpolicy.SuccessPolicyRule{{SucceededIndexes: &leader}, {SucceededCount: &four}}}
	fmt.Println(policy.Match(indexset.MustParse("1-3"), 10))
	fmt.Println(policy.Match(indexset.MustParse("1-3,7"), 10))
	fmt.Println(policy.Match(indexset.MustParse("0,1"), 10))
	// Output:
	// -1
	// 1
	// 0
}

// A disruption that never came is taken back after two minutes.
func ExampleStaleDisruption() {
	pod := &jobpolicy.Pod{}
	pod.Status.Phase = jobpolicy.PodRunning
	pod.Status.Conditions = []jobpolicy.PodCondition{{
		Type: jobpolicy.DisruptionTarget, Status: jobpolicy.ConditionTrue,
		Reason: jobpolicy.PodReasonPreemptionByScheduler, LastTransitionTime: noon,
	}}
	fmt.Println(jobpolicy.StaleDisruption(pod, noon.Add(30*time.Second)))
	fmt.Println(jobpolicy.StaleDisruption(pod, noon.Add(2*time.Minute)))
	// Output:
	// false 1m30s
	// true 0s
}
