package jobpolicy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Ignored failures delay an index like others, separately, or not at all.
func TestIgnoredFailuresOfAnIndex(t *testing.T) {
	for _, tt := range []struct {
		delay jobpolicy.IgnoredDelay
		code  int32
		want  time.Duration
	}{
		{jobpolicy.DelayLikeFailure, 1, 160 * time.Second}, {jobpolicy.DelayLikeFailure, 7, 160 * time.Second},
		{jobpolicy.DelaySeparately, 1, 20 * time.Second}, {jobpolicy.DelaySeparately, 7, 80 * time.Second},
		{jobpolicy.NoDelay, 1, 20 * time.Second}, {jobpolicy.NoDelay, 7, 0},
	} {
		job := indexedJob(1, 9)
		job.Spec.PodFailurePolicy = ignores7()
		p := pod("a", 0, batch.PodFailed, tt.code, t0)
		p.Annotations[batch.JobIndexFailureCountAnnotation], p.Annotations[batch.JobIndexIgnoredFailureCountAnnotation] = "1", "3"
		plan := mustPlan(t, jobpolicy.Engine{IgnoredDelay: tt.delay}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{p}, Now: t0})
		if plan.RequeueAfter != tt.want || len(plan.Create) == 0 != (tt.want > 0) {
			t.Errorf("delay %d, exit code %d: %d created, again after %v, want %v", tt.delay, tt.code, len(plan.Create), plan.RequeueAfter, tt.want)
		}
	}
}

// The same for a Job's streak. A success also resets the streak of ignored failures.
func TestIgnoredFailuresOfAJob(t *testing.T) {
	before := jobpolicy.State{Failures: 1, LastFailure: t0, Ignored: 3, LastIgnored: t0.Add(-time.Second)}
	for _, tt := range []struct {
		delay             jobpolicy.IgnoredDelay
		phase             batch.PodPhase
		code              int32
		failures, ignored int
		want              time.Duration
	}{
		{jobpolicy.DelayLikeFailure, batch.PodFailed, 1, 2, 3, 20 * time.Second}, {jobpolicy.DelayLikeFailure, batch.PodFailed, 7, 2, 3, 20 * time.Second},
		{jobpolicy.DelaySeparately, batch.PodFailed, 1, 2, 3, 39 * time.Second}, {jobpolicy.DelaySeparately, batch.PodFailed, 7, 1, 4, 80 * time.Second},
		{jobpolicy.NoDelay, batch.PodFailed, 1, 2, 3, 20 * time.Second}, {jobpolicy.NoDelay, batch.PodFailed, 7, 1, 3, 10 * time.Second},
		{jobpolicy.DelaySeparately, batch.PodSucceeded, 0, 0, 0, 0},
	} {
		job := plainJob(2)
		job.Spec.PodFailurePolicy = ignores7()
		in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, tt.phase, tt.code, t0)}, State: before, Now: t0}
		plan := mustPlan(t, jobpolicy.Engine{IgnoredDelay: tt.delay}, in)
		if m := plan.State; m.Failures != tt.failures || m.Ignored != tt.ignored || plan.RequeueAfter != tt.want {
			t.Errorf("delay %d, exit code %d: memory %+v, again after %v", tt.delay, tt.code, m, plan.RequeueAfter)
		}
		if m := plan.State; tt.phase == batch.PodSucceeded && !m.LastIgnored.IsZero() || tt.code == 7 && tt.delay == jobpolicy.DelaySeparately && !m.LastIgnored.Equal(t0) {
			t.Errorf("delay %d, exit code %d: the last ignored failure was at %v", tt.delay, tt.code, m.LastIgnored)
		}
	}
}

// An end in the future counts as now, once, in either streak.
func TestStreaksDoNotEndInTheFuture(t *testing.T) {
	for _, delay := range []jobpolicy.IgnoredDelay{jobpolicy.DelayLikeFailure, jobpolicy.DelaySeparately} {
		job := plainJob(1)
		job.Spec.PodFailurePolicy = ignores7()
		in := jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod("a", 0, batch.PodFailed, 7, t0.Add(time.Hour))}, Now: t0}
		m := mustPlan(t, jobpolicy.Engine{IgnoredDelay: delay}, in).State
		if at := latest(m.LastFailure, m.LastIgnored); m.Failures+m.Ignored != 1 || !at.Equal(t0) {
			t.Errorf("delay %d: the last failure was at %v: %+v", delay, at, m)
		}
	}
}

// A waiting index blocks higher ones, as in Kubernetes. With StartReadyIndexes higher
// ones start in its place; the plan then waits only if it has room for waiting indexes,
// until the first one is ready.
func TestWaitingIndexesBlockHigherOnes(t *testing.T) {
	failed := func(index, failures int) *batch.Pod {
		p := pod(fmt.Sprint("u", index), index, batch.PodFailed, 1, t0)
		p.Annotations[batch.JobIndexFailureCountAnnotation] = fmt.Sprint(failures)
		return p
	}
	for _, tt := range []struct {
		name        string
		parallelism int32
		skip        bool
		failures    []int // of the indexes from 0 on that failed at t0
		after       time.Duration
		want        []int // indexes that start
		wait        time.Duration
	}{
		{"one waits", 2, false, []int{0}, 0, []int{1}, 0},
		{"all wait", 2, false, []int{1, 0}, 0, nil, 10 * time.Second},
		{"all wait, in the other order", 2, false, []int{0, 1}, 0, nil, 10 * time.Second},
		{"the second may start", 2, false, []int{1, 0}, 10 * time.Second, []int{1}, 0},
		{"skipped, no room left", 2, true, []int{0}, 0, []int{1, 2}, 0},
		{"both skipped", 2, true, []int{1, 0}, 0, []int{2, 3}, 0},
		{"skipped, room left", 4, true, []int{0}, 0, []int{1, 2, 3}, 10 * time.Second},
		{"two skipped, room left", 4, true, []int{1, 0}, 0, []int{2, 3}, 10 * time.Second},
		{"two skipped, in the other order", 4, true, []int{0, 1}, 0, []int{2, 3}, 10 * time.Second},
		{"one skipped, one due", 4, true, []int{1, 0}, 10 * time.Second, []int{1, 2, 3}, 10 * time.Second},
		{"all due", 4, true, []int{1, 0}, 20 * time.Second, []int{0, 1, 2, 3}, 0},
	} {
		job := indexedJob(4, 9)
		job.Spec.Parallelism = &tt.parallelism
		in := jobpolicy.Input{Job: job, Now: t0.Add(tt.after)}
		for i, n := range tt.failures {
			in.Pods = append(in.Pods, failed(i, n))
		}
		plan := mustPlan(t, jobpolicy.Engine{StartReadyIndexes: tt.skip}, in)
		var got []int
		for _, n := range plan.Create {
			got = append(got, n.Index)
		}
		if !slices.Equal(got, tt.want) || plan.RequeueAfter != tt.wait {
			t.Errorf("%s: starts %v, again after %v; want %v, %v", tt.name, got, plan.RequeueAfter, tt.want, tt.wait)
		}
	}
}

// A success resets the streak. Only failures after the last success count.
func TestSuccessResetsTheStreak(t *testing.T) {
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	for _, tt := range []struct {
		succeeded, failed []time.Time
		want              int
		last              time.Time
	}{
		{nil, nil, 3, at(0)},
		{nil, []time.Time{at(5), at(4)}, 5, at(5)},
		{[]time.Time{at(1)}, nil, 0, time.Time{}},
		{[]time.Time{at(5), at(2)}, []time.Time{at(5), at(3), at(1)}, 0, time.Time{}},
		{[]time.Time{at(2), at(5)}, []time.Time{at(6), at(7), at(5)}, 2, at(7)},
		{[]time.Time{{}}, []time.Time{at(1), {}}, 1, at(1)},
	} {
		if n, last := jobpolicy.FailuresInARow(3, at(0), tt.succeeded, tt.failed); n != tt.want || !last.Equal(tt.last) {
			t.Errorf("succeeded %v, failed %v: %d in a row, the last at %v", tt.succeeded, tt.failed, n, last)
		}
	}
	if n, _ := jobpolicy.FailuresInARow(jobpolicy.MaxCount, t0, nil, []time.Time{t0}); n != jobpolicy.MaxCount {
		t.Errorf("%d in a row", n)
	}
}

func TestIgnoredDelayString(t *testing.T) {
	for d, want := range map[jobpolicy.IgnoredDelay]string{
		jobpolicy.DelayLikeFailure: "DelayLikeFailure", jobpolicy.DelaySeparately: "DelaySeparately", jobpolicy.NoDelay: "NoDelay", 3: "IgnoredDelay(3)",
	} {
		if got := d.String(); got != want {
			t.Errorf("%d is %s, want %s", int(d), got, want)
		}
	}
}

func TestRemainingNeverOverflows(t *testing.T) {
	const longest = time.Duration(1<<63 - 1)
	for _, c := range []struct {
		base, max time.Duration
		failures  int
		want      time.Duration
	}{
		{longest, longest, 1 << 30, longest},
		{longest - 1, longest, 2, longest},
		{time.Second, -longest, 2, 0},
		{time.Second, -longest, 1, time.Second},
		{-longest, longest, 1 << 30, 0},
		{0, longest, 1 << 30, 0},
		{time.Minute, time.Second, 1, time.Minute}, // the cap bounds the doubling only
		{time.Minute, time.Second, 2, time.Second},
		{time.Second, time.Hour, -7, 0},
		{time.Second, time.Hour, 0, 0},
	} {
		if got := jobpolicy.Remaining(c.base, c.max, c.failures, 0); got != c.want {
			t.Errorf("remaining(%v, %v, %d) = %v, want %v", c.base, c.max, c.failures, got, c.want)
		}
	}
	if got := jobpolicy.Remaining(time.Second, time.Hour, 5, t0.Sub(time.Time{})); got != 0 {
		t.Errorf("after a failure in year 1: %v", got)
	}
}
