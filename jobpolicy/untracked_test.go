package jobpolicy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Names identify pods without a UID, in the status too, so a crash of the caller loses
// none.
func TestPodsWithoutUIDAreIdentifiedByName(t *testing.T) {
	named := func(name string, phase batch.PodPhase) *batch.Pod {
		p := pod("", 0, phase, 1, t0)
		p.Name, p.Annotations = name, nil
		return p
	}
	in := jobpolicy.Input{Job: plainJob(3), Pods: []*batch.Pod{named("a", batch.PodFailed), named("a", batch.PodFailed), named("b", batch.PodRunning)}, Now: t0.Add(time.Minute)}
	plan := mustPlan(t, jobpolicy.Engine{}, in)
	if plan.MetricDeltas.PodsFailed != 1 || len(plan.Notes) != 1 {
		t.Errorf("one pod twice: %d failures, notes %q", plan.MetricDeltas.PodsFailed, plan.Notes)
	}
	if d := cmp.Diff([]jobpolicy.PodRef{{Name: "a"}}, plan.Release); d != "" {
		t.Error(d)
	}
	in.Job.Status, in.State = *plan.InterimStatus, plan.State // a crash before Release
	in.Pods = []*batch.Pod{named("a", batch.PodFailed), named("b", batch.PodFailed)}
	plan = mustPlan(t, jobpolicy.Engine{}, in)
	if s := last(in, plan); s.Failed != 2 || len(plan.Decisions) != 1 {
		t.Errorf("2 pods failed: %d counted, %d decisions left", s.Failed, len(plan.Decisions))
	}
	if _, err := (jobpolicy.Engine{}).Plan(jobpolicy.Input{Job: plainJob(1), Pods: []*batch.Pod{named("a", batch.PodRunning), named("", batch.PodRunning)}, Now: t0}); err == nil || !strings.Contains(err.Error(), "Pods[1]") {
		t.Errorf("a pod without UID and name: %v", err)
	}
}

// The recorded end of a pod stands, so a crash between InterimStatus and Release
// changes nothing.
func TestRecordedEndStands(t *testing.T) {
	indexed := indexedJob(1, 3)
	indexed.Spec.BackoffLimitPerIndex = nil
	for name, tt := range map[string]struct {
		job    *batch.Job
		phase  batch.PodPhase // that the pod shows now
		failed bool           // what was recorded
	}{
		"failed, exits 0":          {plainJob(1), batch.PodSucceeded, true},
		"failed, exits 0, Indexed": {indexed, batch.PodSucceeded, true},
		"succeeded, then failed":   {plainJob(2), batch.PodFailed, false},
	} {
		u := &batch.UncountedTerminatedPods{Succeeded: []string{"0000"}}
		if tt.failed {
			u = &batch.UncountedTerminatedPods{Failed: []string{"0000"}}
		}
		tt.job.Status.StartTime, tt.job.Status.UncountedTerminatedPods = t0, u
		p := pod("0000", 0, tt.phase, 0, t0)
		p.DeletionTimestamp = t0
		in := jobpolicy.Input{Job: tt.job, Pods: []*batch.Pod{p}, State: jobpolicy.State{Failures: 3, LastFailure: t0}, Now: t0.Add(time.Second)}
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		s := last(in, plan)
		if len(plan.Decisions) != 0 || plan.State.Failures != 3 || plan.MetricDeltas.PodsFailed+plan.MetricDeltas.PodsSucceeded != 0 || len(plan.Release) != 1 {
			t.Errorf("%s: decided again: %+v", name, plan)
		}
		if s.Failed != 0 != tt.failed || s.Succeeded != 0 == tt.failed || s.CompletedIndexes != "" || len(s.Conditions) != 0 {
			t.Errorf("%s: status %+v", name, s)
		}
	}
}

// A pod that never had the finalizer does not count and is noted once, unlike a pod
// that lost it after being counted.
func TestUntrackedPodsAreNoted(t *testing.T) {
	untracked := func(uid string, index int, phase batch.PodPhase) *batch.Pod {
		p := pod(uid, index, phase, 7, t0)
		p.Untrack()
		return p
	}
	ignores := plainJob(5)
	ignores.Spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{
		Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{7}},
	}}}
	status := func(job *batch.Job, s batch.JobStatus) *batch.Job { job.Status = s; return job }
	deleted := untracked("a", 0, batch.PodFailed)
	deleted.DeletionTimestamp = t0
	target := batch.JobStatus{Conditions: []batch.JobCondition{{Type: batch.JobSuccessCriteriaMet, Status: batch.ConditionTrue}}}
	uncounted := batch.JobStatus{UncountedTerminatedPods: &batch.UncountedTerminatedPods{Failed: []string{"a"}}}
	for name, tt := range map[string]struct {
		in        jobpolicy.Input
		notes     int
		untracked []string
	}{
		"failed":                     {jobpolicy.Input{Job: plainJob(5), Pods: []*batch.Pod{untracked("a", 0, batch.PodFailed), untracked("b", 0, batch.PodFailed)}}, 1, []string{"a", "b"}},
		"succeeded":                  {jobpolicy.Input{Job: plainJob(5), Pods: []*batch.Pod{untracked("a", 0, batch.PodSucceeded)}}, 1, []string{"a"}},
		"both":                       {jobpolicy.Input{Job: plainJob(5), Pods: []*batch.Pod{untracked("a", 0, batch.PodSucceeded), untracked("b", 0, batch.PodFailed)}}, 2, []string{"a", "b"}},
		"one more than was counted":  {jobpolicy.Input{Job: status(plainJob(5), batch.JobStatus{Failed: 1}), Pods: []*batch.Pod{untracked("a", 0, batch.PodFailed), untracked("b", 0, batch.PodFailed)}}, 1, nil},
		"counted":                    {jobpolicy.Input{Job: status(plainJob(5), batch.JobStatus{Failed: 1, Succeeded: 1}), Pods: []*batch.Pod{untracked("a", 0, batch.PodFailed), untracked("b", 0, batch.PodSucceeded)}}, 0, nil},
		"being counted":              {jobpolicy.Input{Job: status(plainJob(5), uncounted), Pods: []*batch.Pod{untracked("a", 0, batch.PodFailed)}}, 0, nil},
		"said before":                {jobpolicy.Input{Job: plainJob(5), Pods: []*batch.Pod{untracked("a", 0, batch.PodFailed)}, State: jobpolicy.State{Handled: []string{"a"}}}, 1, nil},
		"ignored":                    {jobpolicy.Input{Job: ignores, Pods: []*batch.Pod{untracked("a", 0, batch.PodFailed)}}, 0, nil},
		"not wanted":                 {jobpolicy.Input{Job: plainJob(5), Pods: []*batch.Pod{deleted}}, 0, nil},
		"the Job ends":               {jobpolicy.Input{Job: status(plainJob(5), target), Pods: []*batch.Pod{untracked("a", 0, batch.PodFailed)}}, 0, nil},
		"released a moment ago":      {jobpolicy.Input{Job: plainJob(5), Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 7, t0)}, FinalizersRemoved: []string{"a"}}, 0, nil},
		"an index that is not ended": {jobpolicy.Input{Job: indexedJob(3, 1), Pods: []*batch.Pod{untracked("a", 1, batch.PodSucceeded)}}, 1, []string{"a"}},
		"an index that is completed": {jobpolicy.Input{Job: status(indexedJob(3, 1), batch.JobStatus{CompletedIndexes: "1"}), Pods: []*batch.Pod{untracked("a", 1, batch.PodSucceeded)}}, 0, nil},
		"an index that has failed":   {jobpolicy.Input{Job: status(indexedJob(3, 1), batch.JobStatus{FailedIndexes: pointerTo("1")}), Pods: []*batch.Pod{untracked("a", 1, batch.PodSucceeded)}}, 0, nil},
		"an index out of range":      {jobpolicy.Input{Job: indexedJob(3, 1), Pods: []*batch.Pod{untracked("a", 3, batch.PodFailed)}}, 0, nil},
		"a counted view":             {jobpolicy.Input{Job: plainJob(5), Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 7, t0)}, State: jobpolicy.State{Released: []string{"a"}}}, 0, nil},
	} {
		tt.in.Now = t0.Add(time.Hour)
		plan := mustPlan(t, jobpolicy.Engine{}, tt.in)
		var untracked []string
		for _, d := range plan.Decisions {
			if d.Untracked {
				untracked = append(untracked, d.UID)
			}
		}
		if len(plan.Notes) != tt.notes || !slices.Equal(untracked, tt.untracked) {
			t.Errorf("%s: notes %q, decisions on untracked pods %v", name, plan.Notes, untracked)
		}
		if plan.State.Failures != 0 || plan.MetricDeltas.PodsFailed+plan.MetricDeltas.PodsSucceeded != 0 {
			t.Errorf("%s: it counts: %+v", name, plan)
		}
	}
}

// A pod whose index ended, was scaled away and is back was counted, and is not taken
// for an untracked one.
func TestIndexScaledAwayAndBackIsNotUntracked(t *testing.T) {
	for name, status := range map[string]batch.JobStatus{
		"succeeded": {CompletedIndexes: "0,2"},
		"failed":    {CompletedIndexes: "0", FailedIndexes: pointerTo("2")},
	} {
		job := indexedJob(3, 1)
		job.Status = status
		pods := []*batch.Pod{pod("a", 0, batch.PodSucceeded, 0, t0), pod("c", 2, batch.PodSucceeded, 0, t0)}
		for _, p := range pods {
			p.Untrack()
		}
		in := jobpolicy.Input{Job: job, Pods: pods, Now: t0.Add(time.Hour)}
		for _, completions := range []int32{3, 2, 2, 3, 3} {
			job.Spec.Completions = &completions
			plan := mustPlan(t, jobpolicy.Engine{}, in)
			in.State, job.Status = plan.State, *last(in, plan)
			if len(plan.Decisions) != 0 || strings.Contains(strings.Join(plan.Notes, " "), "finalizer") {
				t.Errorf("%s: with %d completions: notes %q, decisions %+v", name, completions, plan.Notes, plan.Decisions)
			}
		}
		if n := len(in.State.Released); n != 1 {
			t.Errorf("%s: the memory holds %d pods, want the one of the index that came back", name, n)
		}
		in.Pods = nil
		if m := mustPlan(t, jobpolicy.Engine{}, in).State; len(m.Released) != 0 {
			t.Errorf("%s: the pods are gone and still remembered: %v", name, m.Released)
		}
	}
}

// A pod is decided on once, even if its index is scaled away and back before Pods shows
// the removal of its finalizer.
func TestIndexScaledAwayAndBackIsDecidedOnOnce(t *testing.T) {
	job := indexedJob(3, 5)
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("c", 2, batch.PodFailed, 1, t0)}, Now: t0}
	decisions := 0
	for _, completions := range []int32{3, 2, 2, 3, 3} {
		job.Spec.Completions = &completions
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		in.State, job.Status = plan.State, *last(in, plan)
		decisions += len(plan.Decisions)
	}
	if decisions != 1 || in.State.Failures != 1 || len(in.State.Handled) != 1 {
		t.Errorf("%d decisions, memory %+v", decisions, in.State)
	}
}

// State keeps a pod released while its index was scaled away, however late Pods shows
// it without its finalizer. When the index is back, the pod is neither noted nor
// decided on again.
func TestPodReleasedWhileScaledAwayIsRemembered(t *testing.T) {
	type step struct {
		completions int32
		phase       batch.PodPhase
		tracked     bool
	}
	for name, tt := range map[string]struct {
		decisions int
		steps     []step
	}{
		"seen to be released while away": {1, []step{{3, batch.PodFailed, true}, {2, batch.PodFailed, true}, {2, batch.PodFailed, false}, {2, batch.PodFailed, false}, {3, batch.PodFailed, false}, {3, batch.PodFailed, false}}},
		"seen to be released when back":  {1, []step{{3, batch.PodFailed, true}, {2, batch.PodFailed, true}, {3, batch.PodFailed, false}, {3, batch.PodFailed, false}}},
		"succeeded while away":           {0, []step{{2, batch.PodRunning, true}, {2, batch.PodSucceeded, true}, {3, batch.PodSucceeded, false}, {3, batch.PodSucceeded, false}}},
		"failed while away":              {0, []step{{2, batch.PodRunning, true}, {2, batch.PodFailed, true}, {2, batch.PodFailed, false}, {3, batch.PodFailed, false}, {3, batch.PodFailed, false}}},
	} {
		job := indexedJob(3, 5)
		in := jobpolicy.Input{Job: job, Now: t0}
		decisions := 0
		for i, s := range tt.steps {
			p := pod("c", 2, s.phase, 1, t0)
			if !s.tracked {
				p.Untrack()
			}
			job.Spec.Completions, in.Pods, in.ExpectationsPending = &s.completions, []*batch.Pod{p}, s.phase == batch.PodRunning
			plan := mustPlan(t, jobpolicy.Engine{}, in)
			in.State, job.Status = plan.State, *last(in, plan)
			decisions += len(plan.Decisions)
			if len(plan.Notes) != 0 || decisions > tt.decisions {
				t.Errorf("%s: plan %d: notes %q, decisions %+v", name, i+1, plan.Notes, plan.Decisions)
			}
			if m := plan.State; len(m.Handled)+len(m.Released) > 1 {
				t.Errorf("%s: plan %d: remembered twice: %+v", name, i+1, m)
			}
		}
		if job.Status.CompletedIndexes != "" || job.Status.Failed != 0 {
			t.Errorf("%s: it counts: %+v", name, job.Status)
		}
		in.Pods, in.Now = nil, t0.Add(time.Hour)
		if m := mustPlan(t, jobpolicy.Engine{}, in).State; len(m.Handled)+len(m.Released) != 0 {
			t.Errorf("%s: the pod is gone and still remembered: %+v", name, m)
		}
	}
}

// A pod whose index is repeatedly scaled away before its finalizer is removed is
// released until Pods shows the removal.
func TestScaledAwayPodIsReleasedUntilUntracked(t *testing.T) {
	job := indexedJob(3, 5)
	in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("c", 2, batch.PodSucceeded, 0, t0)}, Now: t0}
	for i, completions := range []int32{2, 2, 3} {
		job.Spec.Completions = &completions
		plan := mustPlan(t, jobpolicy.Engine{}, in)
		if in.State, job.Status = plan.State, *last(in, plan); len(plan.Release) != 1 {
			t.Errorf("plan %d does not release it: %+v", i+1, plan)
		}
	}
	if job.Status.CompletedIndexes != "2" {
		t.Errorf("it is back with its finalizer and does not count: %+v", job.Status)
	}
}

// A decision has the pod's index, the failures of the index, and whether it fails with
// this pod.
func TestDecisionsDescribeTheirIndex(t *testing.T) {
	at := t0.Add(-time.Minute)
	failed := func(uid string, index, code int, failures string) *batch.Pod {
		p := pod(uid, index, batch.PodFailed, int32(code), at)
		p.Annotations[batch.JobIndexFailureCountAnnotation] = failures
		return p
	}
	job := indexedJob(6, 2)
	job.Spec.PodFailurePolicy = ignores7()
	job.Status.FailedIndexes = pointerTo("4")
	succeeded := pod("d", 3, batch.PodSucceeded, 0, at)
	succeeded.Annotations[batch.JobIndexFailureCountAnnotation] = "1"
	pods := []*batch.Pod{failed("a", 0, 1, "1"), failed("b", 1, 1, "2"), failed("c", 2, 7, "2"), succeeded, failed("e", 4, 1, "2")}
	type told struct {
		Index, Failures int
		IndexFailed     bool
	}
	want := []told{{0, 2, false}, {1, 3, true}, {2, 2, false}, {3, 1, false}, {4, 3, false}}
	var got []told
	for _, d := range mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: pods, Now: t0}).Decisions {
		if got = append(got, told{d.Index, d.Failures, d.IndexFailed}); !d.Finished.Equal(at) {
			t.Errorf("pod %s finished at %v, want %v", d.UID, d.Finished, at)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, d := range mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: plainJob(2), Pods: plainPods(1, batch.PodFailed), Now: t0}).Decisions {
		if d.Index != -1 || d.Failures != 0 || d.IndexFailed {
			t.Errorf("of a NonIndexed Job: %+v", d)
		}
	}
}

// A caller without an API server tracks its pods itself.
func TestTrackAndUntrackShareNothing(t *testing.T) {
	p := &batch.Pod{ObjectMeta: batch.ObjectMeta{Finalizers: make([]string, 1, 9)}}
	p.Finalizers[0] = "x.com/y"
	shared := p.Finalizers
	p.Track()
	p.Track()
	if d := cmp.Diff([]string{"x.com/y", batch.JobTrackingFinalizer}, p.Finalizers); d != "" || shared[:2][1] != "" {
		t.Errorf("%s, shared %q", d, shared[:2])
	}
	tracked := p.Finalizers
	p.Untrack()
	p.Untrack()
	if d := cmp.Diff([]string{"x.com/y"}, p.Finalizers); d != "" || tracked[1] != batch.JobTrackingFinalizer {
		t.Errorf("%s, shared %q", d, tracked)
	}
}

// A failed pod listed after a running one is decided on and delays the Job like any
// other.
func TestFailureCountsWhileAnotherPodRuns(t *testing.T) {
	job := indexedJob(2, 9)
	job.Spec.BackoffLimitPerIndex = nil
	plan := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodRunning, 0, t0), pod("b", 1, batch.PodFailed, 1, t0)}, Now: t0})
	if len(plan.Decisions) != 1 || plan.State.Failures != 1 || len(plan.Create) != 0 || plan.RequeueAfter != 10*time.Second {
		t.Errorf("%+v", plan)
	}
}

// An annotation without a valid number is noted, with its pod and text.
func TestMisreadAnnotationsAreNoted(t *testing.T) {
	for text, noted := range map[string]bool{"": true, "-1": true, "x": true, "1.0": true, "2147483648": true, "99999999999999999999": true, "0": false, "+1": false, "2147483647": false} {
		for _, annotation := range []string{batch.JobCompletionIndexAnnotation, batch.JobIndexFailureCountAnnotation, batch.JobIndexIgnoredFailureCountAnnotation} {
			p := pod("a", 0, batch.PodRunning, 0, t0)
			p.Annotations[annotation] = text
			notes := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: indexedJob(2, 1), Pods: []*batch.Pod{p}, Now: t0}).Notes
			want := noted && len(notes) == 1 && strings.Contains(notes[0], p.Name) && strings.Contains(notes[0], annotation) && strings.Contains(notes[0], `"`+text+`"`)
			if !want && (noted || len(notes) != 0) {
				t.Errorf("%s %q: notes %q", annotation, text, notes)
			}
		}
	}
	p := pod("a", 0, batch.PodRunning, 0, t0)
	p.Annotations = map[string]string{batch.JobCompletionIndexAnnotation: "x"}
	if notes := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: plainJob(1), Pods: []*batch.Pod{p}, Now: t0}).Notes; len(notes) != 0 {
		t.Errorf("a NonIndexed Job reads none: %q", notes)
	}
}
