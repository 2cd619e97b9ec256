package peers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sbatch "k8s.io/kubernetes/pkg/apis/batch"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"

	"github.com/restartkit/restart/conformance/peers/bench"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

const (
	jobController = "Job controller"
	unmarshalling = "json.Unmarshal"
)

// jobpolicyRows returns the rows of package jobpolicy. Match is measured against the
// Job controller's own function, Validate against the API server's. A pass of the Job
// controller requires an API server, so Plan is measured against decoding the same pods
// from JSON, which any controller has done before it plans.
func jobpolicyRows() []bench.Row {
	const in, notIn = batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn
	rows := []bench.Row{
		matchRow("1 rule of 1 code, 1 container, a hit", policyOf(1, 1, in, 3), 1, 3, 0.7),
		matchRow("1 rule of 1 code, 1 container, no hit", policyOf(1, 1, in, 3), 1, 4, 0.7),
		matchRow("20 rules of 255 codes, 10 containers, no hit, all In", largestPolicy(in, 11), 10, 1, 0.25),
		matchRow("20 rules of 255 codes, 10 containers, no hit, all NotIn", largestPolicy(notIn, 1), 10, 246, 0.25), // found last
		matchRow("20 rules of 255 codes, 10 containers, no hit, all In, the pod's codes above 255", largestPolicy(in, 11), 10, 1000, 0.25),
		matchInPlanRow(),
		validateRow(),
	}
	return append(rows, planRows()...)
}

// largestPolicy returns the largest policy that the API server accepts, with 20 rules
// of 255 exit codes each, beginning with first.
func largestPolicy(op batchv1.PodFailurePolicyOnExitCodesOperator, first int32) *batchv1.PodFailurePolicy {
	return policyOf(20, 255, op, first)
}

// policyOf returns a policy with the given numbers of rules and of exit codes per rule,
// beginning with first.
func policyOf(rules int, codes int32, op batchv1.PodFailurePolicyOnExitCodesOperator, first int32) *batchv1.PodFailurePolicy {
	policy := &batchv1.PodFailurePolicy{}
	for range rules {
		on := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op}
		for i := range codes {
			on.Values = append(on.Values, first+i)
		}
		policy.Rules = append(policy.Rules, batchv1.PodFailurePolicyRule{
			Action:      batchv1.PodFailurePolicyActionIgnore,
			OnExitCodes: on,
		})
	}
	return policy
}

// failedPod returns pod i of a Job, whose containers ended with the exit codes code,
// code+1, ….
func failedPod(i, containers int, code int32, finished time.Time) *batch.Pod {
	pod := &batch.Pod{
		ObjectMeta: batch.ObjectMeta{
			Name:              fmt.Sprintf("job-%d-abcde", i),
			Namespace:         "default",
			UID:               fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x", i*7919),
			CreationTimestamp: finished.Add(-time.Minute),
			Annotations: map[string]string{
				batch.JobCompletionIndexAnnotation:   strconv.Itoa(i),
				batch.JobIndexFailureCountAnnotation: "0",
			},
			Finalizers: []string{batch.JobTrackingFinalizer},
		},
		Status: batch.PodStatus{
			Phase: batch.PodFailed,
			Conditions: []batch.PodCondition{
				{Type: "PodScheduled", Status: batch.ConditionTrue},
				{Type: "Ready", Status: batch.ConditionFalse, LastTransitionTime: finished},
			},
		},
	}
	for c := range containers {
		name := fmt.Sprintf("container-%d", c)
		pod.Spec.Containers = append(pod.Spec.Containers, batch.Container{Name: name})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, batch.ContainerStatus{
			Name: name,
			State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{
				ExitCode: code + int32(c), FinishedAt: finished,
			}},
		})
	}
	return pod
}

// matchRow measures matching a policy with a pod whose containers ended with code,
// code+1, ….
func matchRow(name string, policy *batchv1.PodFailurePolicy, containers int, code int32, limit float64) bench.Row {
	pod := failedPod(0, containers, code, time.Unix(1e9, 0))
	return bench.Row{
		Package: "jobpolicy",
		Name:    "Match, " + name,
		Candidates: []bench.Candidate{
			bench.Time(ours, func(bool) func(n int) { return matching(policy, pod) }),
			bench.Time(jobController, func(bool) func(n int) {
				var theirs corev1.Pod
				if err := json.Unmarshal(must(json.Marshal(pod)), &theirs); err != nil {
					panic(err)
				}
				_, _, action := matchPodFailurePolicy(policy, &theirs)
				if hit := jobpolicy.MatchPod(convert.PodFailurePolicy(policy), pod).Rule >= 0; hit != (action != nil) {
					panic("the two sides disagree whether a rule matches")
				}
				return func(n int) {
					for range n {
						matchPodFailurePolicy(policy, &theirs)
					}
				}
			}),
		},
		Goals: []bench.Goal{bench.Ratio(jobController, limit), bench.Allocs(0)},
	}
}

// matching matches our pod n times.
func matching(policy *batchv1.PodFailurePolicy, pod *batch.Pod) func(n int) {
	p := convert.PodFailurePolicy(policy)
	return func(n int) {
		for range n {
			jobpolicy.MatchPod(p, pod)
		}
	}
}

// matchInPlanRow measures the time per pod that the largest policy adds to a pass.
func matchInPlanRow() bench.Row {
	const (
		pods       = 10_000
		containers = 10
		alone      = "Match alone"
	)
	return bench.Row{
		Package: "jobpolicy",
		Name:    "Match in a Plan, 20 rules of 255 codes, 10 containers, no hit",
		Candidates: []bench.Candidate{
			bench.Value(ours, bench.Nanoseconds, func(bool) func() float64 {
				with := planShape{pods: pods, kinds: 1, containers: containers, policy: true}.run()
				without := planShape{pods: pods, kinds: 1, containers: containers}.run()
				return func() float64 {
					start := time.Now()
					without(1)
					middle := time.Now()
					with(1)
					return float64(time.Since(middle)-middle.Sub(start)) / pods
				}
			}),
			bench.Value(alone, bench.Nanoseconds, func(bool) func() float64 {
				match := matching(largestPolicy(batchv1.PodFailurePolicyOnExitCodesOpIn, 11), failedPod(0, containers, 1, time.Unix(1e9, 0)))
				return func() float64 {
					start := time.Now()
					match(pods)
					return float64(time.Since(start)) / pods
				}
			}),
		},
		Goals: []bench.Goal{bench.Ratio(alone, 0.2)},
	}
}

// validateRow measures validating a correct specification with the largest policy.
func validateRow() bench.Row {
	const theirs = "ValidateJobSpec"
	largest := func() *batchv1.Job {
		labels := map[string]string{batchv1.JobNameLabel: "job"}
		job := &batchv1.Job{Spec: batchv1.JobSpec{
			Selector:         &metav1.LabelSelector{MatchLabels: labels},
			PodFailurePolicy: largestPolicy(batchv1.PodFailurePolicyOnExitCodesOpIn, 1),
		}}
		job.Spec.Template.Labels = labels
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		batchdefaults.SetObjectDefaults_Job(job)
		return job
	}
	return bench.Row{
		Package: "jobpolicy",
		Name:    "Validate, 20 rules of 255 codes",
		Candidates: []bench.Candidate{
			bench.Time(ours, func(bool) func(n int) {
				spec := &convert.Job(largest()).Spec
				return func(n int) {
					for range n {
						if err := spec.Validate(); err != nil {
							panic(err)
						}
					}
				}
			}),
			bench.Time(theirs, func(bool) func(n int) {
				var job k8sbatch.Job
				if err := batchdefaults.Convert_v1_Job_To_batch_Job(largest(), &job, nil); err != nil {
					panic(err)
				}
				path := field.NewPath("spec")
				return func(n int) {
					for range n {
						if errs := validateJobSpec(&job.Spec, path); len(errs) > 0 {
							panic(errs.ToAggregate())
						}
					}
				}
			}),
		},
		Goals: []bench.Goal{bench.Ratio(theirs, 0.05)},
	}
}

// planRows measures whole passes over a Job of 100,000 completions.
func planRows() []bench.Row {
	const (
		pods    = 10_000
		half    = "half of the pods"
		without = "without"
	)
	plan := func(name string, shape planShape) bench.Candidate {
		return bench.Time(name, func(bool) func(n int) { return shape.run() })
	}
	// unmarshal decodes the pods of a shape from JSON.
	unmarshal := func(shape planShape) bench.Candidate {
		return bench.Time(unmarshalling, func(bool) func(n int) {
			text := must(json.Marshal(shape.input().Pods))
			return func(n int) {
				for range n {
					var pods []*batch.Pod
					if err := json.Unmarshal(text, &pods); err != nil {
						panic(err)
					}
				}
			}
		})
	}
	row := func(name string, goal bench.Goal, note string, candidates ...bench.Candidate) bench.Row {
		return bench.Row{
			Package:    "jobpolicy",
			Name:       "Plan, 10^5 completions, " + name,
			Candidates: candidates,
			Goals:      []bench.Goal{goal},
			Note:       note,
		}
	}
	thirds, failed := planShape{pods: pods, kinds: 3}, planShape{pods: pods, kinds: 1}
	// All delays are over, so that both sides choose indexes.
	over := planShape{pods: pods, kinds: 3, ago: time.Hour}
	limited := over
	limited.perIndex = true
	return []bench.Row{
		row("10^4 pods: a third running, failed, succeeded", bench.Ratio(unmarshalling, 1.0/15), "An earlier report has 0.051 to 0.056. One run of three was above the goal; the cause is unknown.",
			plan(ours, thirds), unmarshal(thirds)),
		row("10^4 pods, all failed", bench.Ratio(unmarshalling, 1.0/15), "",
			plan(ours, failed), unmarshal(failed)),
		row("2·10^4 pods", bench.Ratio(half, 2.5),
			"The limit is 2: each pod is looked at a fixed number of times. The rest was not found out: caches and garbage collection are guesses.",
			plan(ours, planShape{pods: 2 * pods, kinds: 3}), plan(half, thirds)),
		row("10^4 pods, with backoffLimitPerIndex", bench.Ratio(without, 1.2),
			"With a limit per index a pass finds the last failed pod of each index and keeps it for the replacement. "+
				"Tried: reading it in order, without searches in the index sets and in the list of what is kept, which made the ratio smaller.",
			plan(ours, limited), plan(without, over)),
	}
}

// planShape is a Job of 100,000 completions with a fragmented past.
type planShape struct {
	pods       int
	kinds      int           // 1 means all failed; 3 a third each running, failed and succeeded
	containers int           // 0 means 1
	ago        time.Duration // since the pods finished
	perIndex   bool
	policy     bool // the largest, or none
}

// run builds the input and returns a function that makes n passes over it.
func (s planShape) run() func(n int) {
	input := s.input()
	return func(n int) {
		for range n {
			plan, err := jobpolicy.Engine{}.Plan(input)
			if err != nil {
				panic(err)
			}
			if plan.InterimStatus == nil {
				panic("nothing was planned")
			}
		}
	}
}

func (s planShape) input() jobpolicy.Input {
	const completions = 100_000
	now := time.Unix(1e9, 0)
	job := &batchv1.Job{}
	job.Name, job.Namespace, job.UID = "job", "default", "1"
	job.CreationTimestamp.Time = now.Add(-time.Hour)
	job.Spec = batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion),
		Completions:    new(int32(completions)),
		Parallelism:    new(int32(10_000)),
		BackoffLimit:   new(int32(1 << 30)),
	}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if s.perIndex {
		job.Spec.BackoffLimitPerIndex = new(int32(3))
	}
	if s.policy {
		job.Spec.PodFailurePolicy = largestPolicy(batchv1.PodFailurePolicyOnExitCodesOpIn, 11)
	}
	batchdefaults.SetDefaults_Job(job)
	job.Status.StartTime = &job.CreationTimestamp
	// Of the upper half, every third index is done.
	var done []byte
	for i := completions / 2; i < completions; i += 3 {
		done = append(strconv.AppendInt(done, int64(i), 10), ',')
		job.Status.Succeeded++
	}
	job.Status.CompletedIndexes = string(done[:len(done)-1])

	input := jobpolicy.Input{Job: convert.Job(job), Now: now}
	for i := range s.pods {
		pod := failedPod(i, max(1, s.containers), 1, now.Add(-s.ago-time.Duration(i)*time.Millisecond))
		switch i % s.kinds {
		case 1:
			pod.Status.Phase = batch.PodSucceeded
		case 2:
			pod.Status.Phase = batch.PodRunning
			for c := range pod.Status.ContainerStatuses {
				pod.Status.ContainerStatuses[c].State = batch.ContainerState{Running: &batch.ContainerStateRunning{StartedAt: now}}
			}
		}
		input.Pods = append(input.Pods, pod)
	}
	return input
}
