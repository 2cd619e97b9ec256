package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// A manifest is read, defaulted and checked, and the first pods are planned.
func Example() {
	var job batch.Job
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
	plan, _ := jobpolicy.Engine{}.Plan(jobpolicy.Input{Job: &job, Now: noon})
	fmt.Println("now create", len(plan.Create))
	// Output:
	// valid: true
	// now create 50
}

// A Job of three indexes, of which one fails once: each plan is carried out and
// the next one made from what came of it.
func ExampleEngine_Plan() {
	job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "render"}}
	if err := json.Unmarshal([]byte(`{
		"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimitPerIndex": 1
	}`), &job.Spec); err != nil {
		fmt.Println(err)
		return
	}
	var pods []*batch.Pod
	input := jobpolicy.Input{Job: job, Now: noon}
	carryOut := func() { // what a controller does, here with pods that only exist in memory
		input.Pods = pods
		plan, err := jobpolicy.Engine{}.Plan(input)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, p := range plan.Create {
			failures, _ := p.FailureCounts()
			fmt.Printf("create index %d after %d failures\n", p.Index, failures)
			pod := p.Pod(job.Spec.Template.Spec)
			pod.Name = fmt.Sprintf("%s%d", p.GenerateName, len(pods))
			pod.UID = pod.Name
			pods = append(pods, pod)
		}
		if plan.InterimStatus != nil {
			job.Status = *plan.InterimStatus
		}
		for _, released := range plan.Release {
			for _, pod := range pods {
				if pod.UID == released.UID {
					pod.Untrack()
				}
			}
		}
		if plan.FinalStatus != nil {
			job.Status = *plan.FinalStatus
		}
		input.State = plan.State
		if plan.RequeueAfter > 0 {
			fmt.Println("again after", plan.RequeueAfter)
			input.Now = input.Now.Add(plan.RequeueAfter)
		}
	}

	carryOut()
	for i, pod := range pods {
		code := map[int]int32{1: 1}[i] // index 1 fails
		pod.Finish(code, noon)
	}
	carryOut()
	carryOut()
	pods[3].Finish(0, input.Now)
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

// A scheduler without pods keeps a record of each run, builds the pods for Plan from
// its records, and forgets a record when a plan releases it.
func ExampleEngine_Plan_records() {
	type run struct {
		index, failures, ignored int
		ended                    time.Time
		code                     int32
	}
	job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "render"}}
	if err := json.Unmarshal([]byte(`{
		"completionMode": "Indexed", "completions": 2, "parallelism": 2, "backoffLimitPerIndex": 1
	}`), &job.Spec); err != nil {
		fmt.Println(err)
		return
	}
	runs, started := make(map[string]*run), 0
	input := jobpolicy.Input{Job: job, Now: noon}
	for range 6 {
		input.Pods = nil
		for uid, r := range runs {
			pod := batch.NewPod(uid, r.index)
			pod.SetFailureCounts(r.failures, r.ignored)
			if !r.ended.IsZero() {
				pod.Finish(r.code, r.ended)
			}
			input.Pods = append(input.Pods, pod)
		}
		plan, err := jobpolicy.Engine{}.Plan(input)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range plan.Create {
			failures, ignored := c.FailureCounts()
			fmt.Printf("run index %d after %d failures\n", c.Index, failures)
			runs[fmt.Sprint("run-", started)] = &run{index: c.Index, failures: failures, ignored: ignored}
			started++
		}
		if plan.InterimStatus != nil {
			job.Status = *plan.InterimStatus // store it, with State, before forgetting runs
		}
		input.State = plan.State
		for _, released := range plan.Release {
			delete(runs, released.UID)
		}
		if plan.FinalStatus != nil {
			job.Status = *plan.FinalStatus
		}
		for _, r := range runs { // index 1 always fails
			if r.ended.IsZero() {
				r.ended, r.code = input.Now, int32(r.index)
			}
		}
		input.Now = input.Now.Add(plan.RequeueAfter)
	}
	completed, _ := job.Status.CompletedIndexSet()
	failed, _ := job.Status.FailedIndexSet()
	end, _ := job.Status.Finished()
	fmt.Println(end.Type, "completed", completed.Len(), "failed", failed.Len(), "records", len(runs))
	// Output:
	// run index 0 after 0 failures
	// run index 1 after 0 failures
	// run index 1 after 1 failures
	// Failed completed 1 failed 1 records 0
}

// A node is drained while a task runs; the task is not to blame.
func ExampleMatchPod() {
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}}},
		{Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{
			Operator: batch.OpIn, Values: []int32{42},
		}},
	}}
	pod := &batch.Pod{ObjectMeta: batch.ObjectMeta{Namespace: "ns", Name: "task-1"}}
	pod.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "main", State: batch.ContainerState{
		Terminated: &batch.ContainerStateTerminated{ExitCode: 42},
	}}}
	match := jobpolicy.MatchPod(policy, pod)
	fmt.Println(match.Action, match.Counted())
	fmt.Println(match.Message(pod))

	pod.Status.Conditions = []batch.PodCondition{{Type: batch.DisruptionTarget, Status: batch.ConditionTrue}}
	match = jobpolicy.MatchPod(policy, pod)
	fmt.Println(match.Action, match.Counted())
	// Output:
	// FailJob true
	// Container main for pod ns/task-1 failed with exit code 42 matching FailJob rule at index 1
	// Ignore false
}

func ExampleExplain() {
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}}},
		{Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{
			Operator: batch.OpNotIn, Values: []int32{0, 1},
		}},
	}}
	pod := &batch.Pod{}
	pod.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "main", State: batch.ContainerState{
		Terminated: &batch.ContainerStateTerminated{ExitCode: 137},
	}}}
	for _, step := range jobpolicy.Explain(policy, pod) {
		fmt.Println(step)
	}
	// Output:
	// rule 0 (Ignore): no match: condition DisruptionTarget is absent, wanted True
	// rule 1 (FailJob): matched: container main ended with exit code 137, not in [0 1]
}

// A CI runner without pods asks the policy about the exit code of a task.
func ExampleMatchExit() {
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{
			Operator: batch.OpIn, Values: []int32{75}, // the machine is to blame
		}},
		{Action: batch.ActionFailIndex, OnExitCodes: &batch.OnExitCodes{
			Operator: batch.OpIn, Values: []int32{2}, // wrong usage: no retry helps
		}},
	}}
	for _, code := range []int32{75, 2, 1} {
		match := jobpolicy.MatchExit(policy, "main", code)
		fmt.Printf("%d: rule %d %q, counted: %v\n", code, match.Rule, match.Action, match.Counted())
	}
	// Output:
	// 75: rule 0 "Ignore", counted: false
	// 2: rule 1 "FailIndex", counted: true
	// 1: rule -1 "", counted: true
}

// A CI runner retries a shard, and keeps its two counts in a database of its own.
// After every failure it takes the next counts and goes on with those: they decide
// whether the shard has failed for good, and how long the next attempt waits.
func ExampleMatch_NextCounts() {
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action:      batch.ActionIgnore,
		OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{75}},
	}}}
	limit := int32(1) // two runs that count
	engine := jobpolicy.Engine{BaseDelay: 10 * time.Second, MaxDelay: time.Minute}
	failures, ignored := 0, 0
	for _, code := range []int32{1, 75, 1} {
		ended := noon
		match := jobpolicy.MatchExit(policy, "main", code)
		failures, ignored = match.NextCounts(failures, ignored)
		if match.IndexFailed(failures, &limit) {
			fmt.Println(code, failures, ignored, "failed for good")
			break
		}
		now := ended.Add(3 * time.Second)
		fmt.Println(code, failures, ignored, "again in", engine.Remaining(failures+ignored, now.Sub(ended)))
	}
	// Output:
	// 1 1 0 again in 7s
	// 75 1 1 again in 17s
	// 1 2 1 failed for good
}

// A limit of 1 allows two runs of each shard.
func ExampleMatch_IndexFailed() {
	limit := int32(1)
	failed := jobpolicy.Match{Rule: -1}
	fmt.Println(failed.IndexFailed(1, &limit)) // its first failure
	fmt.Println(failed.IndexFailed(2, &limit)) // its second
	// Output:
	// false
	// true
}

// A batch scheduler asks after every end whether the whole array is over.
func ExampleEndLimits_Verdict() {
	size, tolerated := int32(100), int32(5)
	limits := jobpolicy.EndLimits{Completions: &size, MaxFailedIndexes: &tolerated}
	fmt.Println(limits.Verdict(jobpolicy.Progress{Succeeded: 60, FailedIndexes: 6, Active: 34}))
	reason, _ := limits.Verdict(jobpolicy.Progress{Succeeded: 60, FailedIndexes: 2, Active: 38})
	fmt.Printf("%q\n", reason)
	// Output:
	// MaxFailedIndexesExceeded Job has exceeded the specified maximal number of failed indexes
	// ""
}

// The third failure in a row was 15 seconds ago. It is followed by four times the
// first delay of 10s.
func ExampleEngine_Remaining() {
	fmt.Println(jobpolicy.Engine{}.Remaining(3, 15*time.Second))
	// Output: 25s
}

// A training run is done when its leader, or any four of its workers, are.
func ExampleMatchSuccess() {
	leader, four := "0", int32(4)
	policy := &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: &leader}, {SucceededCount: &four}}}
	fmt.Println(jobpolicy.MatchSuccess(policy, indexset.MustParse("1-3"), 10))
	fmt.Println(jobpolicy.MatchSuccess(policy, indexset.MustParse("1-3,7"), 10))
	fmt.Println(jobpolicy.MatchSuccess(policy, indexset.MustParse("0,1"), 10))
	// Output:
	// -1
	// 1
	// 0
}

// A disruption that never came is taken back after two minutes.
func ExampleStaleDisruption() {
	pod := &batch.Pod{}
	pod.Status.Phase = batch.PodRunning
	pod.Status.Conditions = []batch.PodCondition{{
		Type: batch.DisruptionTarget, Status: batch.ConditionTrue,
		Reason: batch.PodReasonPreemptionByScheduler, LastTransitionTime: noon,
	}}
	fmt.Println(jobpolicy.StaleDisruption(pod, noon.Add(30*time.Second)))
	fmt.Println(jobpolicy.StaleDisruption(pod, noon.Add(2*time.Minute)))
	// Output:
	// false 1m30s
	// true 0s
}
