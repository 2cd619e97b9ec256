package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"pgregory.net/rapid"
)

// olderView writes the plan's statuses and returns an Input with the earlier Job and
// the plan's State.
func olderView(t *testing.T, in jobpolicy.Input) (jobpolicy.Input, jobpolicy.Plan) {
	t.Helper()
	first := mustPlan(t, jobpolicy.Engine{}, in)
	for _, p := range in.Pods {
		if slices.Contains(first.Release, jobpolicy.PodRef{Name: p.Name, UID: p.UID}) {
			p.Untrack()
		}
	}
	in.State = first.State
	return in, first
}

// With current pods and an older Job, Plan restarts no pods that have run.
func TestOlderStatusRestartsNothing(t *testing.T) {
	succeeded := func(n int) (pods []*batch.Pod) { return plainPods(n, batch.PodSucceeded) }
	once := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "j", UID: "job"}, Spec: batch.JobSpec{Completions: pointerTo[int32](1), BackoffLimit: pointerTo[int32](0)}}
	indexed := indexedJob(3, 0)
	indexed.UID, indexed.Status.FailedIndexes = "job", pointerTo("")
	leader := indexedJob(3, 5)
	leader.UID = "job"
	leader.Spec.SuccessPolicy = &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: pointerTo("0")}}}
	ends := plainJob(2)
	ends.UID = "job"
	ends.Spec.ActiveDeadlineSeconds, ends.Status.StartTime = pointerTo[int64](60), t0.Add(-time.Hour)
	for name, in := range map[string]jobpolicy.Input{
		"succeeded":      {Job: &batch.Job{ObjectMeta: batch.ObjectMeta{UID: "job"}, Spec: batch.JobSpec{Completions: pointerTo[int32](3), Parallelism: pointerTo[int32](2)}}, Pods: succeeded(2)},
		"failed":         {Job: once, Pods: plainPods(1, batch.PodFailed)},
		"failed index":   {Job: indexed, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0), pod("b", 1, batch.PodRunning, 0, t0)}},
		"succeeded ones": {Job: leader, Pods: []*batch.Pod{pod("a", 1, batch.PodSucceeded, 0, t0)}},
		"deadline":       {Job: ends, Pods: nil},
	} {
		in.Now = t0
		in, first := olderView(t, in)
		if first.InterimStatus == nil {
			t.Fatalf("%s: nothing was written: %+v", name, first)
		}
		in.Now = t0.Add(time.Minute)
		second := mustPlan(t, jobpolicy.Engine{}, in)
		if n := jobtest.Effects(second); n != 0 || second.RequeueReason != jobpolicy.RequeueStaleJob || len(second.Notes) != 1 || len(second.Decisions) != 0 {
			t.Errorf("%s: an older view of the Job has %d effects: %+v", name, n, second)
		}
		job := *in.Job
		job.Status = *last(in, first)
		in.Job, in.State = &job, second.State
		if third := mustPlan(t, jobpolicy.Engine{}, in); third.RequeueReason == jobpolicy.RequeueStaleJob || !third.State.Behind.IsZero() {
			t.Errorf("%s: the newest status is taken for an older one: %+v", name, third)
		}
	}
}

// Without its State, Plan takes an older view for the current one. After losing the
// State, the caller must reread Job and pods.
func TestLostStateNeedsFreshView(t *testing.T) {
	job := plainJob(2)
	in, _ := olderView(t, jobpolicy.Input{Job: job, Pods: plainPods(2, batch.PodSucceeded), Now: t0})
	in.State = jobpolicy.State{}
	if plan := mustPlan(t, jobpolicy.Engine{}, in); len(plan.Create) != 2 {
		t.Errorf("an old status without memory: %d created", len(plan.Create))
	}
	job.Status.Succeeded = 2
	if plan := mustPlan(t, jobpolicy.Engine{}, in); len(plan.Create) != 0 {
		t.Errorf("a fresh view without memory: %d created", len(plan.Create))
	}
}

// State.Written is the progress of InterimStatus, because FinalStatus may never be
// written.
func TestPlanDoesNotWaitForFinalStatus(t *testing.T) {
	in := jobpolicy.Input{Job: plainJob(4), Pods: append(plainPods(2, batch.PodSucceeded), plainPods(4, batch.PodFailed)[2:]...), Now: t0.Add(time.Hour)}
	plan := mustPlan(t, jobpolicy.Engine{}, in)
	if plan.InterimStatus == nil || plan.FinalStatus == nil {
		t.Fatalf("%+v", plan)
	}
	in.Job.Status, in.State = *plan.InterimStatus, plan.State // a crash before Release
	again := mustPlan(t, jobpolicy.Engine{}, in)
	if again.RequeueReason == jobpolicy.RequeueStaleJob || again.FinalStatus == nil || again.FinalStatus.Failed != 2 || again.FinalStatus.Succeeded != 2 {
		t.Errorf("%+v", again)
	}
}

// Plan stops waiting for a reset status after five minutes, even if the clock steps
// back meanwhile.
func TestResetStatusIsAcceptedAfterFiveMinutes(t *testing.T) {
	job := plainJob(3)
	job.Status.Succeeded = 1
	in := jobpolicy.Input{Job: job, State: jobpolicy.State{Written: jobpolicy.StatusProgress{Succeeded: 2}}}
	for _, step := range []struct {
		at    time.Duration
		left  time.Duration // 0: it is believed
		notes int
	}{
		{0, 5 * time.Minute, 1},
		{time.Minute, 4 * time.Minute, 1},
		{-time.Hour, 5 * time.Minute, 1},
		{-time.Hour + 5*time.Minute - 1, 1, 1},
		{-time.Hour + 5*time.Minute, 0, 1},
		{-time.Hour + 5*time.Minute, 0, 0},
	} {
		in.Now = t0.Add(step.at)
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if step.left > 0 && (plan.RequeueAfter != step.left || plan.RequeueReason != jobpolicy.RequeueStaleJob || jobtest.Effects(plan) != 0) || step.left == 0 && len(plan.Create) != 2 {
			t.Fatalf("after %s: %+v", step.at, plan)
		}
		if len(plan.Notes) != step.notes {
			t.Errorf("after %s: notes %q, want %d", step.at, plan.Notes, step.notes)
		}
		if step.left == 0 && (plan.State.Written != jobpolicy.StatusProgress{Succeeded: 1} || !plan.State.Behind.IsZero()) {
			t.Fatalf("after %s: memory %+v", step.at, plan.State)
		}
		in.State = plan.State
	}
}

// The State of another Job of the same name is ignored. A State without a UID fits
// every Job.
func TestStateOfAnotherJobIsIgnored(t *testing.T) {
	job := plainJob(1)
	job.UID = "new"
	kept := jobpolicy.State{Failures: 3, LastFailure: t0, Written: jobpolicy.StatusProgress{Failed: 3}}
	for owner, created := range map[string]int{"old": 1, "new": 0, "": 0} {
		kept.Job = owner
		plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, State: kept, Now: t0})
		if len(plan.Create) != created {
			t.Errorf("the memory is of Job %q: %d created, want %d", owner, len(plan.Create), created)
		}
		if plan.State.Job != "new" {
			t.Errorf("the memory of Job %q becomes that of %q", owner, plan.State.Job)
		}
	}
}

// A status that counts less because completions were lowered is not older.
func TestScaledDownJobIsNotOlder(t *testing.T) {
	job := indexedJob(4, 3)
	job.Spec.BackoffLimitPerIndex = nil
	in := jobpolicy.Input{Job: job, Now: t0, Pods: []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0), pod("b", 2, batch.PodSucceeded, 0, t0), pod("c", 3, batch.PodSucceeded, 0, t0)}}
	step := func() jobpolicy.Plan {
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		in.Job.Status, in.State, in.Pods = *last(in, plan), plan.State, nil
		if plan.RequeueReason == jobpolicy.RequeueStaleJob {
			t.Fatalf("with %d completions: %+v", *job.Spec.Completions, plan)
		}
		return plan
	}
	for _, n := range []int32{4, 2, 2, 4, 4} {
		job.Spec.Completions, job.Spec.Parallelism = &n, &n
		step()
	}
	if job.Status.CompletedIndexes != "0" {
		t.Errorf("completed indexes %q", job.Status.CompletedIndexes)
	}
}

// A State holds a UID at most three times, and drops removed pods.
func TestStateIsBounded(t *testing.T) {
	const n = 1200
	job := indexedJob(n, 3)
	job.UID = strings.Repeat("j", 36)
	in := jobpolicy.Input{Job: job, Now: t0}
	for i := range n {
		in.Pods = append(in.Pods, pod(fmt.Sprintf("%036d", i), i, batch.PodFailed, 1, t0.Add(time.Hour)))
	}
	for _, most := range []int{400 + n*(3*39+25), 400} {
		for range 3 {
			plan := mustPlan(t, jobpolicy.Engine{}, in)
			in.Job.Status, in.State = *last(in, plan), plan.State
			text, err := json.Marshal(plan.State)
			if err != nil || len(text) > most {
				t.Fatalf("%d pods: a memory of %d bytes, want at most %d (%v)", len(in.Pods), len(text), most, err)
			}
			in.Now = in.Now.Add(time.Second)
		}
		in.Pods = nil
	}
}

// The State of a plan without ended pods survives JSON unchanged, and is zero for a Job
// without a UID.
func TestStateRoundTripsThroughJSON(t *testing.T) {
	for name, in := range map[string]jobpolicy.Input{
		"nothing ended": {Job: plainJob(2), Pods: plainPods(2, batch.PodRunning)},
		"all counted":   {Job: plainJob(2), Pods: plainPods(1, batch.PodSucceeded)},
		"Indexed":       {Job: indexedJob(1, 1), Pods: []*batch.Pod{pod("a", 0, batch.PodRunning, 0, t0)}},
	} {
		in.Now = t0
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if ended := name == "all counted"; ended != (plan.Decisions != nil) {
			t.Errorf("%s: decisions %#v", name, plan.Decisions)
		}
		var again jobpolicy.State
		text, err := json.Marshal(plan.State)
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || !reflect.DeepEqual(again, plan.State) {
			t.Errorf("%s: %s is read as %#v, not as %#v (%v)", name, text, again, plan.State, err)
		}
		if zero := name == "nothing ended"; zero != reflect.ValueOf(plan.State).IsZero() {
			t.Errorf("%s: %#v", name, plan.State)
		}
	}
}

// An uncounted pod is in one list of the State, once, even if its index is scaled away
// and an older State lists it in Handled.
func TestStateListsUncountedPodOnce(t *testing.T) {
	for _, phase := range []batch.PodPhase{batch.PodFailed, batch.PodSucceeded} {
		for _, tracked := range []bool{true, false} {
			job := indexedJob(2, 5)
			job.Status.UncountedTerminatedPods = &batch.UncountedTerminatedPods{Failed: []string{"c"}}
			p := pod("c", 2, phase, 1, t0)
			if !tracked {
				p.Untrack()
			}
			plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{p}, State: jobpolicy.State{Handled: []string{"c"}}, Now: t0})
			if m := plan.State; len(m.Handled)+len(m.Released) > 1 || tracked && len(m.Released) != 1 {
				t.Errorf("%s, with the finalizer: %v: %+v", phase, tracked, m)
			}
		}
	}
}

// An older status is recognized even if it counts as many indexes, some beyond the
// present completions.
func TestOlderStatusWithMoreCompletionsRestartsNothing(t *testing.T) {
	job := indexedJob(5, 4)
	job.Spec.BackoffLimitPerIndex = nil
	in := jobpolicy.Input{Job: job, Now: t0, Pods: []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0), pod("b", 1, batch.PodSucceeded, 0, t0), pod("e", 4, batch.PodSucceeded, 0, t0), pod("d", 3, batch.PodRunning, 0, t0)}}
	first := mustPlan(t, jobpolicy.Engine{}, in)
	job.Status = *last(in, first)
	older := job.Status
	if older.CompletedIndexes != "0,1,4" {
		t.Fatalf("%+v", first)
	}
	four := int32(4)
	job.Spec.Completions, job.Spec.Parallelism = &four, &four
	in.State, in.Pods = first.State, []*batch.Pod{pod("c", 2, batch.PodSucceeded, 0, t0), pod("d", 3, batch.PodRunning, 0, t0)}
	second := mustPlan(t, jobpolicy.Engine{}, in)
	if got := last(in, second).CompletedIndexes; got != "0-2" || second.RequeueReason == jobpolicy.RequeueStaleJob {
		t.Fatalf("completed %q: %+v", got, second)
	}
	job.Status = older // the pod of index 2 is counted, released and gone
	in.State, in.Pods = second.State, []*batch.Pod{pod("d", 3, batch.PodRunning, 0, t0)}
	if third := mustPlan(t, jobpolicy.Engine{}, in); len(third.Create) != 0 || third.RequeueReason != jobpolicy.RequeueStaleJob {
		t.Errorf("%+v", third)
	}
}

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
