package jobpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Each test here pins one difference listed in docs/kubernetes.md.

// The delay after a failure in the future, after a clock stepped back, starts when Plan
// first sees the failure.
func TestDeviationFutureFailure(t *testing.T) {
	if got := (jobpolicy.Engine{MaxDelay: time.Minute}).Remaining(1, -24*time.Hour); got != 10*time.Second {
		t.Errorf("Remaining = %v, want 10s", got)
	}
	for name, job := range map[string]*batch.Job{
		"per index": indexedJob(1, 3),
		"job-wide":  {ObjectMeta: batch.ObjectMeta{Name: "j"}, Spec: batch.JobSpec{Completions: pointerTo[int32](1)}},
	} {
		in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0.Add(24*time.Hour))}, Now: t0}
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if len(plan.Create) != 0 || plan.RequeueAfter != 10*time.Second {
			t.Errorf("%s: at t0: %d created, again after %v; want none, 10s", name, len(plan.Create), plan.RequeueAfter)
		}
		in.State, in.Now = plan.State, t0.Add(4*time.Second)
		in.Job.Status = *last(in, plan)
		if len(plan.Release) > 0 {
			in.Pods = nil
		}
		if plan = mustPlan(t, jobpolicy.Engine{}, in); plan.RequeueAfter != 6*time.Second {
			t.Errorf("%s: after 4s: again after %v, want 6s", name, plan.RequeueAfter)
		}
		in.State, in.Now = plan.State, t0.Add(10*time.Second)
		if plan = mustPlan(t, jobpolicy.Engine{}, in); len(plan.Create) != 1 {
			t.Errorf("%s: after 10s: %d created, want 1", name, len(plan.Create))
		}
	}
}

// A negative number of failures counts as none.
func TestDeviationNegativeFailures(t *testing.T) {
	if got := (jobpolicy.Engine{}).Remaining(-1, 0); got != 0 {
		t.Errorf("Remaining = %v, want 0", got)
	}
}

// A condition pattern without status means True, even without the API server's default.
func TestDeviationPatternWithoutStatus(t *testing.T) {
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}},
	}}}
	p := pod("a", 0, batch.PodFailed, 137, t0)
	p.Status.Conditions = []batch.PodCondition{{Type: batch.DisruptionTarget, Status: batch.ConditionTrue}}
	if m := jobpolicy.MatchPod(policy, p); m.Rule != 0 {
		t.Errorf("Match = %+v, want rule 0", m)
	}
}

// A malformed index text loses none of its readable indexes.
func TestDeviationCorruptIndexText(t *testing.T) {
	for text, want := range map[string]string{
		"7,3":         "3,7",   // Kubernetes: 7
		"1-5,6-2,8":   "1-5,8", // Kubernetes: 1-6
		"3,99,5":      "3,5",   // Kubernetes: 3
		"x,+1,02":     "1,2",   // Kubernetes: the same
		"2-4,3-6,5-5": "2-6",   // Kubernetes: the same
	} {
		job := indexedJob(10, 1)
		job.Status.CompletedIndexes = text
		in := jobpolicy.Input{Job: job, Now: t0}
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if got := last(in, plan).CompletedIndexes; got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
		if len(plan.Notes) == 0 {
			t.Errorf("%q is read without a note", text)
		}
	}
}

// An index ends once. Success wins within a status and within a plan; otherwise the
// earlier plan's decision stands.
func TestDeviationIndexEndsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		completed, failed string
		pods              []*batch.Pod
		want              [2]string
	}{
		"status says both":      {"0,1", "1", nil, [2]string{"0,1", ""}},
		"both in one pass":      {"", "", []*batch.Pod{pod("a", 1, batch.PodFailed, 1, t0), pod("b", 1, batch.PodSucceeded, 0, t0)}, [2]string{"1", ""}},
		"success after failure": {"", "1", []*batch.Pod{pod("b", 1, batch.PodSucceeded, 0, t0)}, [2]string{"", "1"}},
		"failure after success": {"1", "", []*batch.Pod{pod("a", 1, batch.PodFailed, 1, t0)}, [2]string{"1", ""}},
	} {
		job := indexedJob(3, 0)
		job.Status.CompletedIndexes, job.Status.FailedIndexes = c.completed, &c.failed
		in := jobpolicy.Input{Job: job, Pods: c.pods, Now: t0}
		s := last(in, mustPlan(t, jobpolicy.Engine{}, in))
		if got := [2]string{s.CompletedIndexes, *s.FailedIndexes}; got != c.want {
			t.Errorf("%s: completed and failed are %q, want %q", name, got, c.want)
		}
		if len(s.Conditions) != 0 {
			t.Errorf("%s: the Job ends although an index never ran: %v", name, s.Conditions)
		}
	}
}

// The API server refuses a completionTime before startTime, and a finished Job
// without startTime.
func TestDeviationEndTimes(t *testing.T) {
	job := &batch.Job{Spec: batch.JobSpec{Completions: pointerTo[int32](1)}, Status: batch.JobStatus{StartTime: t0.Add(time.Hour)}}
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0)}, Now: t0}
	if s := last(in, mustPlan(t, jobpolicy.Engine{}, in)); !s.CompletionTime.Equal(s.StartTime) {
		t.Errorf("completionTime %v, startTime %v", s.CompletionTime, s.StartTime)
	}
	job = &batch.Job{Spec: batch.JobSpec{Suspend: true, BackoffLimit: pointerTo[int32](0)}}
	in = jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0)}, Now: t0}
	s := last(in, mustPlan(t, jobpolicy.Engine{}, in))
	if _, finished := s.Finished(); !finished || s.StartTime.IsZero() {
		t.Errorf("finished %v, startTime %v", finished, s.StartTime)
	}
}

// If several pods match FailJob, the message names the one with the smallest index,
// then UID.
func TestDeviationFailJobMessage(t *testing.T) {
	job := indexedJob(4, 3)
	job.Spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{42}},
	}}}
	in := jobpolicy.Input{Job: job, Now: t0, Pods: []*batch.Pod{
		pod("d", 3, batch.PodFailed, 42, t0), pod("c", 1, batch.PodFailed, 42, t0), pod("b", 1, batch.PodFailed, 42, t0), pod("a", 2, batch.PodFailed, 42, t0),
	}}
	s := last(in, mustPlan(t, jobpolicy.Engine{}, in))
	if got := s.Conditions[0].Message; !strings.Contains(got, "ns/j-b ") {
		t.Errorf("message %q, want pod j-b", got)
	}
}

// The predecessor of an index's next attempt is the failed pod with the most failures,
// then the latest end, in any order of the pods.
func TestDeviationLastFailedPod(t *testing.T) {
	old := pod("a", 0, batch.PodFailed, 1, t0)
	old.Annotations[batch.JobIndexFailureCountAnnotation] = "2"
	late := pod("b", 0, batch.PodFailed, 1, t0.Add(time.Second))
	late.Annotations[batch.JobIndexFailureCountAnnotation] = "1"
	for _, pods := range [][]*batch.Pod{{old, late}, {late, old}} {
		plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: indexedJob(1, 9), Pods: pods, Now: t0.Add(time.Hour)})
		if got := plan.Create[0].Annotations[batch.JobIndexFailureCountAnnotation]; got != "3" {
			t.Errorf("replacement with failure count %s, want 3", got)
		}
	}
}

// A pod listed twice counts once.
func TestDeviationSamePodTwice(t *testing.T) {
	p := pod("a", 0, batch.PodFailed, 1, t0)
	job := &batch.Job{Spec: batch.JobSpec{BackoffLimit: pointerTo[int32](1)}}
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{p, p}, Now: t0}
	plan := mustPlan(t, jobpolicy.Engine{}, in)
	if s := last(in, plan); s.Failed != 1 || len(s.Conditions) != 0 || len(plan.Notes) != 1 {
		t.Errorf("failed %d, conditions %v, notes %q", s.Failed, s.Conditions, plan.Notes)
	}
}

// Counts saturate. In Kubernetes 32 bits overflow to a short delay.
func TestDeviationSaturation(t *testing.T) {
	p := pod("a", 0, batch.PodFailed, 1, t0)
	p.Annotations[batch.JobIndexFailureCountAnnotation] = "2147483647"
	p.Annotations[batch.JobIndexIgnoredFailureCountAnnotation] = "2147483647"
	job := indexedJob(1, 3)
	job.Spec.BackoffLimitPerIndex = pointerTo[int32](2147483647)
	job.Spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}},
	}}}
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{p}, Now: t0}
	if plan := mustPlan(t, jobpolicy.Engine{}, in); plan.RequeueAfter != 10*time.Minute {
		t.Errorf("again after %v, want 10m", plan.RequeueAfter)
	}
	in.Now = t0.Add(time.Hour)
	plan := mustPlan(t, jobpolicy.Engine{}, in)
	want := map[string]string{
		batch.JobCompletionIndexAnnotation: "0", batch.JobIndexFailureCountAnnotation: "2147483647", batch.JobIndexIgnoredFailureCountAnnotation: "2147483647",
	}
	if d := cmp.Diff(want, plan.Create[0].Annotations); d != "" {
		t.Error(d)
	}
}

// The streak of failures survives a restart of the caller and includes each pod once.
func TestDeviationState(t *testing.T) {
	job := &batch.Job{Spec: batch.JobSpec{Completions: pointerTo[int32](1), PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpNotIn, Values: []int32{0}},
	}}}}}
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 1, t0)}, Now: t0}
	var decisions int
	for range 3 { // the pod's release fails: it is seen again
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		decisions += len(plan.Decisions)
		text, err := json.Marshal(plan.State)
		if err != nil {
			t.Fatal(err)
		}
		in.State = jobpolicy.State{}
		if err := json.Unmarshal(text, &in.State); err != nil {
			t.Fatal(err)
		}
		if in.State.Failures != 1 || plan.RequeueAfter != 10*time.Second {
			t.Errorf("%d failures, again after %v; want 1, 10s", in.State.Failures, plan.RequeueAfter)
		}
		in.Job.Status = *last(in, plan)
	}
	if decisions != 1 {
		t.Errorf("%d decisions about one pod", decisions)
	}
}

// Absent fields get their defaults. Numbers that no API server accepts lead to a plan
// or an error, not to a panic.
func TestDeviationUnvalidatedJob(t *testing.T) {
	in := jobpolicy.Input{Job: &batch.Job{}, Now: t0}
	if plan := mustPlan(t, jobpolicy.Engine{}, in); len(plan.Create) != 1 {
		t.Errorf("an empty Job starts %d pods, want 1", len(plan.Create))
	}
	in.Job = &batch.Job{Spec: batch.JobSpec{Parallelism: pointerTo[int32](-5), Completions: pointerTo[int32](-1), BackoffLimit: pointerTo[int32](-2)}}
	in.Pods = []*batch.Pod{pod("a", 0, batch.PodRunning, 0, t0), nil}
	mustPlan(t, jobpolicy.Engine{}, in)
	in.Job = &batch.Job{Spec: batch.JobSpec{CompletionMode: batch.IndexedCompletion, Parallelism: pointerTo[int32](1)}}
	if _, err := (jobpolicy.Engine{}).Plan(in); err == nil || !strings.Contains(err.Error(), "spec.completions") {
		t.Errorf("an Indexed Job without completions: %v", err)
	}
	in.Job = &batch.Job{Status: batch.JobStatus{Failed: -1, Active: -3}}
	if _, err := (jobpolicy.Engine{}).Plan(in); err == nil || !strings.Contains(err.Error(), "status.failed") || !strings.Contains(err.Error(), "status.active") {
		t.Errorf("negative counters: %v", err)
	}
}

// A Job does not end while unseen pods may exist, which would keep their finalizers.
func TestDeviationExpectationsPendingEnd(t *testing.T) {
	job := &batch.Job{Spec: batch.JobSpec{Completions: pointerTo[int32](1)}}
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0)}, Now: t0, ExpectationsPending: true}
	if s := last(in, mustPlan(t, jobpolicy.Engine{}, in)); len(s.Conditions) != 0 {
		t.Errorf("conditions %v while pods may be on their way", s.Conditions)
	}
	in.ExpectationsPending = false
	if _, finished := last(in, mustPlan(t, jobpolicy.Engine{}, in)).Finished(); !finished {
		t.Error("the Job does not end when everything is seen")
	}
}

// ValidateUpdate ignores the pod template, and a resumed Job uses the changed one.
func TestDeviationTemplateMayChange(t *testing.T) {
	job := plainJob(1)
	job.Spec.Template.Spec = batch.PodSpec{RestartPolicy: batch.RestartPolicyNever, Containers: []batch.Container{{Name: "main", Args: []string{"-memory=1Gi"}}}}
	job.Spec.Suspend = true
	job.Spec.Default()
	suspended := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Now: t0})
	if len(suspended.Create) != 0 || suspended.InterimStatus == nil {
		t.Fatalf("suspended: %+v", suspended)
	}
	resumed := *job
	resumed.Spec.Suspend = false
	resumed.Spec.Template.Spec.Containers = []batch.Container{{Name: "main", Args: []string{"-memory=2Gi"}}}
	resumed.Status = *suspended.InterimStatus
	if err := resumed.Spec.ValidateUpdate(&job.Spec); err != nil {
		t.Error(err)
	}
	if plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: &resumed, State: suspended.State, Now: t0.Add(time.Hour)}); len(plan.Create) != 1 {
		t.Errorf("resumed: %+v", plan)
	}
}
