package jobpolicy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

// forgetting says when a scheduler forgets a finished pod.
type forgetting int

const (
	never    forgetting = iota
	released            // once a plan releases it
	decided             // once a plan decides on it, which is too early
)

// runJob runs a Job with the exit code of each index and attempt, and returns the runs
// as "index: failures before" and the last status.
func runJob(t interface{ Fatal(...any) }, spec batch.JobSpec, code func(index, attempt int) int32, forget forgetting) (runs []string, status batch.JobStatus) {
	job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "job"}, Spec: spec}
	var pods []*batch.Pod
	attempts := make(map[int]int)
	in := jobpolicy.Input{Job: job, Now: noon}
	for range 100 {
		in.Pods = pods
		plan, err := jobpolicy.Engine{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Create {
			failures, ignored := c.FailureCounts()
			p := batch.NewPod(fmt.Sprint("uid-", len(runs)), c.Index)
			p.SetFailureCounts(failures, ignored)
			pods = append(pods, p)
			runs = append(runs, fmt.Sprintf("%d: %d", c.Index, failures+ignored))
		}
		if plan.InterimStatus != nil {
			job.Status = *plan.InterimStatus
		}
		in.State = plan.State
		drop := func(uid string) bool { return forget == released && hasRef(plan.Release, uid) }
		if forget == decided {
			drop = func(uid string) bool {
				return slices.ContainsFunc(plan.Decisions, func(d jobpolicy.PodDecision) bool { return d.UID == uid })
			}
		}
		for _, p := range pods {
			if hasRef(plan.Release, p.UID) {
				p.Untrack()
			}
		}
		pods = slices.DeleteFunc(slices.Clone(pods), func(p *batch.Pod) bool { return p.Finished() && drop(p.UID) })
		if plan.FinalStatus != nil {
			job.Status = *plan.FinalStatus
		}
		if _, over := job.Status.Finished(); over && len(plan.Release) == 0 && plan.FinalStatus == nil {
			break
		}
		in.Now = in.Now.Add(max(plan.RequeueAfter, time.Second))
		for _, p := range pods {
			if !p.Finished() {
				i := p.CompletionIndex()
				p.Finish(code(i, attempts[i]), in.Now)
				attempts[i]++
			}
		}
	}
	return runs, job.Status
}

func hasRef(refs []jobpolicy.PodRef, uid string) bool {
	return slices.ContainsFunc(refs, func(r jobpolicy.PodRef) bool { return r.UID == uid })
}

// A finished pod that is forgotten once it is released is not missed.
func TestReleasedPodsMayBeForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, parallel := rapid.Int32Range(1, 4).Draw(t, "completions"), rapid.Int32Range(1, 4).Draw(t, "parallelism")
		spec := batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: &n, Parallelism: &parallel}
		limit := rapid.Int32Range(0, 3).Draw(t, "limit")
		if rapid.Bool().Draw(t, "per index") {
			spec.BackoffLimitPerIndex = &limit
		} else {
			spec.BackoffLimit = &limit
		}
		spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
			{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{2}}},
		}}
		codes := rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, 1, 2}), 30, 30).Draw(t, "codes")
		code := func(index, attempt int) int32 {
			if attempt > 5 {
				return 0
			}
			return codes[(index*7+attempt)%len(codes)]
		}
		wantRuns, wantStatus := runJob(t, spec, code, never)
		gotRuns, gotStatus := runJob(t, spec, code, released)
		if diff := cmp.Diff(wantRuns, gotRuns); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(wantStatus, gotStatus); diff != "" {
			t.Fatal(diff)
		}
		if _, over := gotStatus.Finished(); !over {
			t.Fatalf("%+v", gotStatus)
		}
	})
}

// A failed pod that is forgotten before it is released takes the failure counts of its
// index with it, so the limit is never reached.
func TestPodForgottenTooEarlyLosesItsCounts(t *testing.T) {
	one, limit := int32(1), int32(1)
	spec := batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: &one, Parallelism: &one, BackoffLimitPerIndex: &limit}
	fail := func(int, int) int32 { return 1 }
	if runs, status := runJob(t, spec, fail, released); !slices.Equal(runs, []string{"0: 0", "0: 1"}) || status.Failed != 2 {
		t.Errorf("released: %q, %d failed", runs, status.Failed)
	}
	if runs, _ := runJob(t, spec, fail, decided); len(runs) < 10 || slices.Contains(runs, "0: 1") {
		t.Errorf("decided: %q", runs)
	}
}
