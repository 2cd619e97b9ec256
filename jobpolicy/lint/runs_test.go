package lint_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// comesTo is the maximum over the runs of a Job.
type comesTo struct {
	Runs       int
	Wait       time.Duration
	IndexBytes int
}

// mostOf explores every run of a small Job under an engine: at each moment any of the
// active pods end together, in each possible way, or the clock advances to the end of a
// delay. Pods take no time. ignored is the maximum number of failures that an Ignore
// rule decides on.
func mostOf(t interface{ Fatal(...any) }, engine jobpolicy.Engine, spec batch.JobSpec, ignored int) (most comesTo, states int) {
	x := &explorer{t: t, engine: engine, spec: spec, seen: map[string]comesTo{}, ends: []string{"", "succeeds", "fails"}}
	if spec.PodFailurePolicy != nil {
		for _, rule := range spec.PodFailurePolicy.Rules {
			x.ends = append(x.ends, string(rule.Action))
		}
	}
	most = x.explore(runOfJob{now: started, ignored: ignored, pods: map[string]*batch.Pod{}})
	return most, len(x.seen)
}

// policyFor is a policy with a rule for each of the actions, which decides on pods that
// have a condition of its name.
func policyFor(actions ...batch.Action) *batch.PodFailurePolicy {
	p := &batch.PodFailurePolicy{}
	for _, a := range actions {
		p.Rules = append(p.Rules, batch.PodFailurePolicyRule{Action: a, OnPodConditions: []batch.OnPodCondition{{Type: conditionFor(string(a))}}})
	}
	return p
}

func conditionFor(action string) batch.PodConditionType {
	return batch.PodConditionType("example.com/" + action)
}

type explorer struct {
	t      interface{ Fatal(...any) }
	engine jobpolicy.Engine
	spec   batch.JobSpec
	ends   []string           // of a pod; "" is none yet, the last ones are actions of rules
	seen   map[string]comesTo // by state, what may still come
}

// runOfJob is a Job in the middle of a run.
type runOfJob struct {
	status  batch.JobStatus
	pods    map[string]*batch.Pod // by UID
	memory  jobpolicy.State
	now     time.Time
	created int // pods, since explore looked last
	ever    int // pods, for their UIDs
	ignored int // failures that may still be ignored
}

// started is when the runs of Jobs begin.
var started = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// explore returns the maximum over the rest of the runs from here.
func (x *explorer) explore(r runOfJob) (most comesTo) {
	before := r.created
	wait := x.settle(&r)
	state := x.state(&r)
	most, seen := x.seen[state]
	if !seen {
		most.IndexBytes = len(r.status.CompletedIndexes)
		if r.status.FailedIndexes != nil {
			most.IndexBytes += len(*r.status.FailedIndexes)
		}
		take := func(next runOfJob, wait time.Duration) {
			next.created = 0
			got := x.explore(next)
			most.Runs, most.Wait, most.IndexBytes = max(most.Runs, got.Runs), max(most.Wait, got.Wait+wait), max(most.IndexBytes, got.IndexBytes)
		}
		if _, finished := r.status.Finished(); !finished {
			x.endings(r, take)
			if wait > 0 {
				next := r
				next.now = r.now.Add(wait)
				take(next, wait)
			}
		}
		x.seen[state] = most
	}
	most.Runs += r.created - before
	return most
}

// endings calls take with the result of every way in which active pods can end.
func (x *explorer) endings(r runOfJob, take func(runOfJob, time.Duration)) {
	var active []string
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		if r.pods[uid].Status.Phase == batch.PodRunning {
			active = append(active, uid)
		}
	}
	var each func(i int, next runOfJob, any bool)
	each = func(i int, next runOfJob, any bool) {
		if i == len(active) {
			if any {
				take(next, 0)
			}
			return
		}
		for _, end := range x.ends {
			then := next
			if end == string(batch.ActionIgnore) {
				if then.ignored--; then.ignored < 0 {
					continue
				}
			}
			then.pods = maps.Clone(next.pods)
			then.pods[active[i]] = ended(next.pods[active[i]], end, next.now)
			each(i+1, then, any || end != "")
		}
	}
	each(0, r, false)
}

// ended returns the pod after its end, or the pod itself if it continues.
func ended(pod *batch.Pod, end string, now time.Time) *batch.Pod {
	p := *pod
	code := int32(1)
	switch end {
	case "":
		return pod
	case "succeeds":
		p.Status.Phase, code = batch.PodSucceeded, 0
	default:
		p.Status.Phase = batch.PodFailed
		p.Status.Conditions = []batch.PodCondition{{Type: conditionFor(end), Status: batch.ConditionTrue}}
		if end == string(batch.ActionIgnore) { // whatever the rule ignores
			p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: batch.DisruptionTarget, Status: batch.ConditionTrue})
		}
	}
	p.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "a", State: batch.ContainerState{
		Terminated: &batch.ContainerStateTerminated{ExitCode: code, FinishedAt: now}}}}
	return &p
}

// settle carries out plans until nothing is left to do, and returns the remaining
// delay.
func (x *explorer) settle(r *runOfJob) time.Duration {
	r.pods = maps.Clone(r.pods)
	for {
		job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "job", UID: "job"}, Spec: x.spec, Status: r.status}
		plan, err := x.engine.Plan(jobpolicy.Input{Job: job, Pods: slices.Collect(maps.Values(r.pods)), State: r.memory, Now: r.now})
		if err != nil {
			x.t.Fatal(err)
		}
		if len(plan.Delete) == 0 && len(plan.Create) == 0 && plan.InterimStatus == nil && len(plan.Release) == 0 && plan.FinalStatus == nil {
			if plan.RequeueReason == jobpolicy.RequeueDeadline {
				return 0
			}
			return plan.RequeueAfter
		}
		for _, d := range plan.Delete {
			p := ended(r.pods[d.UID], "deleted", r.now)
			p.DeletionTimestamp = r.now
			if r.pods[d.UID] = p; d.Untrack {
				delete(r.pods, d.UID)
			}
		}
		for _, n := range plan.Create {
			r.created++
			r.ever++
			p := &batch.Pod{ObjectMeta: n.ObjectMeta, Status: batch.PodStatus{Phase: batch.PodRunning}}
			p.UID, p.CreationTimestamp = fmt.Sprintf("u%04d", r.ever), r.now
			r.pods[p.UID] = p
		}
		if r.memory = plan.State; plan.InterimStatus != nil {
			r.status = *plan.InterimStatus
		}
		for _, p := range plan.Release {
			delete(r.pods, p.UID)
		}
		if plan.FinalStatus != nil {
			r.status = *plan.FinalStatus
		}
	}
}

// state returns everything that affects the rest of the run, as text.
func (x *explorer) state(r *runOfJob) string {
	var pods []string
	for _, p := range r.pods {
		ago := time.Duration(-1)
		if p.Status.Phase != batch.PodRunning {
			ago = r.now.Sub(p.Status.ContainerStatuses[0].State.Terminated.FinishedAt)
		}
		pods = append(pods, fmt.Sprint(p.Annotations, p.Status.Phase, p.Status.Conditions, ago))
	}
	slices.Sort(pods)
	failed := ""
	if r.status.FailedIndexes != nil {
		failed = *r.status.FailedIndexes
	}
	elapsed := time.Duration(0)
	if x.spec.ActiveDeadlineSeconds != nil {
		elapsed = r.now.Sub(started)
	}
	return fmt.Sprint(elapsed, r.status.CompletedIndexes, " ", failed, r.status.Succeeded, r.status.Failed, len(r.status.Conditions), r.ignored,
		r.memory.Failures, r.now.Sub(r.memory.LastFailure), r.memory.Ignored, r.now.Sub(r.memory.LastIgnored), strings.Join(pods, ";"))
}

// genSmallJob draws an engine and a Job small enough to explore all its runs.
func genSmallJob(t *rapid.T) (jobpolicy.Engine, batch.JobSpec) {
	number := func(label string, from, to int32) *int32 {
		if n := rapid.Int32Range(from-1, to).Draw(t, label); n >= from {
			return &n
		}
		return nil
	}
	s := batch.JobSpec{Parallelism: number("parallelism", 0, 3), BackoffLimit: number("backoffLimit", 0, 4)}
	most := int32(5) // more take too long where many pods run at once
	if s.Parallelism != nil && *s.Parallelism > 1 {
		most = 6 - *s.Parallelism
	}
	s.Completions = number("completions", 0, most)
	s.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	if s.Completions != nil && rapid.IntRange(0, 5).Draw(t, "indexed") > 0 {
		s.CompletionMode = batch.IndexedCompletion
		if s.BackoffLimitPerIndex = number("backoffLimitPerIndex", 0, 2); s.BackoffLimitPerIndex != nil {
			s.MaxFailedIndexes = number("maxFailedIndexes", 0, *s.Completions)
		}
	}
	if (s.CompletionMode == "" || s.BackoffLimitPerIndex == nil) && s.BackoffLimit == nil {
		s.BackoffLimit = pointerTo[int32](3) // for lack of time, not 6
	}
	if seconds := rapid.SampledFrom([]int64{0, 0, 0, 5, 11, 31, 71, 100, 605, 4300}).Draw(t, "activeDeadlineSeconds"); seconds > 0 {
		s.ActiveDeadlineSeconds = &seconds
	}
	actions := rapid.SliceOfNDistinct(rapid.SampledFrom([]batch.Action{batch.ActionFailIndex, batch.ActionIgnore,
		batch.ActionFailJob, batch.ActionCount}), 0, 1, rapid.ID[batch.Action]).Draw(t, "actions")
	if len(actions) > 0 {
		s.PodFailurePolicy = policyFor(actions...)
	}
	return jobpolicy.Engine{
		StartReadyIndexes: rapid.IntRange(0, 3).Draw(t, "skip waiting") == 0,
		MaxPodsPerPlan:    rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "per pass"),
		IgnoredDelay:      rapid.SampledFrom([]jobpolicy.IgnoredDelay{jobpolicy.DelayLikeFailure, jobpolicy.DelaySeparately, jobpolicy.NoDelay}).Draw(t, "ignored delay"),
		BaseDelay:         rapid.SampledFrom([]time.Duration{0, 0, time.Hour}).Draw(t, "base delay"),
	}, s
}

// No run of a small Job exceeds WorstCase, and the longest reach Runs and Wait.
func TestLongestRunReachesWorstCase(t *testing.T) {
	jobs, states, failed, cut := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 2 {
			engine, spec := genSmallJob(t)
			bound, err := lint.WorstCase(engine, &spec)
			if err != nil {
				t.Fatal(err)
			}
			most, n := mostOf(t, engine, spec, 2)
			if jobs, states = jobs+1, states+n; spec.BackoffLimitPerIndex != nil {
				failed++
			}
			unlimited := spec
			unlimited.ActiveDeadlineSeconds = nil
			if longer, err := lint.WorstCase(engine, &unlimited); err != nil || longer.Runs > bound.Runs {
				cut++
			}
			checkReached(t, engine, spec, bound, most)
		}
	})
	t.Logf("%d Jobs, %d of them with a limit per index and %d with fewer pods because of a deadline, %d states", jobs, failed, cut, states)
	if (failed == 0 || cut == 0) && rapidseed.Fixed() {
		t.Error("no Job had a limit per index, or none had fewer pods because of a deadline")
	}
}

func checkReached(t *rapid.T, engine jobpolicy.Engine, spec batch.JobSpec, bound lint.WorstCaseResult, most comesTo) {
	want := comesTo{bound.Runs, bound.Wait, most.IndexBytes}
	if bound.Unbounded { // most is of two ignored failures only
		if want.Runs = most.Runs; engine.IgnoredDelay != jobpolicy.NoDelay {
			want.Wait = most.Wait
		}
	}
	hasDeadline := spec.ActiveDeadlineSeconds != nil
	if (engine.StartReadyIndexes || hasDeadline) && most.Wait <= want.Wait {
		want.Wait = most.Wait
	}
	isOneStreak := spec.BackoffLimitPerIndex == nil && (spec.Completions == nil || *spec.Completions <= 1) && engine.BaseDelay == 0
	if hasDeadline && !isOneStreak && most.Runs <= want.Runs {
		want.Runs = most.Runs
	}
	if most != want || most.IndexBytes > bound.IndexBytes {
		t.Fatalf("%s, %+v: the runs come to %+v, the worst case is %+v", jsonText(spec), engine, most, bound)
	}
}

// Without disruptions a Job that ignores them runs as one that does not. Each disruption
// replaces one more pod.
func TestDisruptionsAddToTheWorstCase(t *testing.T) {
	one, limit := int32(1), int32(3)
	spec := batch.JobSpec{Completions: &one, Parallelism: &one, BackoffLimit: &limit}
	spec.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	plain, _ := mostOf(t, jobpolicy.Engine{}, spec, 0)
	spec.PodFailurePolicy = policyFor(batch.ActionIgnore)
	spec.PodFailurePolicy.Rules[0].OnPodConditions[0].Type = batch.DisruptionTarget
	bound, err := lint.WorstCase(jobpolicy.Engine{}, &spec)
	if err != nil || bound.Unbounded || !bound.IgnoresDisruptions || bound.Runs != plain.Runs || bound.Wait != plain.Wait {
		t.Errorf("%+v, %v; without disruptions the runs come to %+v", bound, err, plain)
	}
	for disruptions := range 3 {
		if most, _ := mostOf(t, jobpolicy.Engine{}, spec, disruptions); most.Runs != bound.Runs+disruptions {
			t.Errorf("%d disruptions: %d pods, want %d", disruptions, most.Runs, bound.Runs+disruptions)
		}
	}
}
