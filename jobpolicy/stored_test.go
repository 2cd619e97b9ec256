package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/states"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// storedJob is what a program without Kubernetes may keep of a Job.
type storedJob struct {
	Job   *batch.Job      `json:"job"`
	Older batch.JobStatus `json:"older"` // as a slow cache still shows it
	Pods  []*batch.Pod    `json:"pods"`  // with finalizers that the plan releases
	State jobpolicy.State `json:"state"` // after that plan
}

// The State of a Job whose pods failed, in the past and in the future, and succeeded.
func TestStoredStatesDecideTheSame(t *testing.T) {
	states.Test(t, "job", storedJobs, decideByJobs)
}

func storedJobs(t *testing.T) any {
	perIndex := indexedJob(4, 3)
	plain := plainJob(4)
	perIndex.UID, plain.UID = "job-1", "job-2"
	var jobs []storedJob
	for _, job := range []*batch.Job{perIndex, plain} {
		job.Spec.PodFailurePolicy = ignores7()
		pods := []*batch.Pod{
			pod("succeeded", 0, batch.PodSucceeded, 0, t0.Add(-3*time.Second)),
			pod("failed", 1, batch.PodFailed, 1, t0.Add(-2*time.Second)),
			pod("ignored", 2, batch.PodFailed, 7, t0.Add(-time.Second)),
			pod("ahead", 3, batch.PodFailed, 1, t0.Add(time.Minute)),
		}
		plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: pods, Now: t0})
		older := job.Status
		job.Status = *plan.InterimStatus
		jobs = append(jobs, storedJob{Job: job, Older: older, Pods: pods, State: plan.State})
	}
	return jobs
}

func decideByJobs(t *testing.T, text []byte) (decisions []string) {
	var jobs []storedJob
	if err := json.Unmarshal(text, &jobs); err != nil {
		t.Fatal(err)
	}
	for _, s := range jobs {
		for _, seconds := range []int{1, 9, 70} {
			in := jobpolicy.Input{Job: s.Job, Pods: s.Pods, State: s.State, Now: t0.Add(time.Duration(seconds) * time.Second)}
			plan := mustPlan(t, jobpolicy.Engine{}, in)
			decisions = append(decisions, fmt.Sprintf("%s after %d s: %s", s.Job.UID, seconds, inShort(in, plan)))
		}
		older := *s.Job
		older.Status = s.Older
		in := jobpolicy.Input{Job: &older, Pods: s.Pods, State: s.State, Now: t0.Add(time.Second)}
		decisions = append(decisions, fmt.Sprintf("%s with its older status: %s", s.Job.UID, inShort(in, mustPlan(t, jobpolicy.Engine{}, in))))
	}
	return decisions
}

// inShort describes a plan in one line.
func inShort(in jobpolicy.Input, plan jobpolicy.Plan) string {
	status := last(in, plan)
	var created []string
	for _, c := range plan.Create {
		failures, ignored := c.FailureCounts()
		created = append(created, fmt.Sprintf("index %d after %d failures and %d ignored", c.Index, failures, ignored))
	}
	return fmt.Sprintf("succeeded %d, failed %d; create %q, delete %d, release %d, decide %d; again after %v (%s)",
		status.Succeeded, status.Failed, created, len(plan.Delete), len(plan.Release), len(plan.Decisions), plan.RequeueAfter, plan.RequeueReason)
}
