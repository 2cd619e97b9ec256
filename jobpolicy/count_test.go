package jobpolicy_test

import (
	"math"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

// If two limits are reached, the earlier in the documented order decides.
func TestVerdictPrecedence(t *testing.T) {
	limits := jobpolicy.EndLimits{Completions: pointerTo[int32](3), BackoffLimit: pointerTo[int32](1), MaxFailedIndexes: pointerTo[int32](1), ActiveDeadlineSeconds: pointerTo[int64](60)}
	ends := []struct {
		reason batch.Reason
		reach  func(*jobpolicy.Progress)
	}{
		{batch.JobReasonPodFailurePolicy, func(t *jobpolicy.Progress) { t.FailJob = "a message" }},
		{batch.JobReasonBackoffLimitExceeded, func(t *jobpolicy.Progress) { t.Failed = 2 }},
		{batch.JobReasonDeadlineExceeded, func(t *jobpolicy.Progress) { t.Elapsed = time.Minute }},
		{batch.JobReasonMaxFailedIndexesExceeded, func(t *jobpolicy.Progress) { t.FailedIndexes = 2 }},
		{batch.JobReasonFailedIndexes, func(t *jobpolicy.Progress) { t.FailedIndexes = max(t.FailedIndexes, 1); t.Succeeded = 2 }},
		{batch.JobReasonSuccessPolicy, func(t *jobpolicy.Progress) { t.SuccessPolicy = "Matched rules at index 0" }},
		{batch.JobReasonCompletionsReached, func(t *jobpolicy.Progress) { t.Succeeded = 3; t.Active = 0 }},
	}
	for i, first := range ends {
		for k := i; k < len(ends); k++ {
			tally := jobpolicy.Progress{Active: 1}
			first.reach(&tally)
			ends[k].reach(&tally)
			reason, message := limits.Verdict(tally)
			if reason != first.reason || message == "" {
				t.Errorf("%s and %s: %s %q", first.reason, ends[k].reason, reason, message)
			}
		}
		if reason, _ := (jobpolicy.EndLimits{}).Verdict(jobpolicy.Progress{Active: 1}); reason != "" {
			t.Errorf("a Job without limits that runs ends for %s", reason)
		}
	}
}

// Each limit at, below and above its number.
func TestVerdictAtAndAboveLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		l    jobpolicy.EndLimits
		t    jobpolicy.Progress
		want batch.Reason
	}{
		{"failures at the limit", jobpolicy.EndLimits{BackoffLimit: pointerTo[int32](6)}, jobpolicy.Progress{Failed: 6, Active: 1}, ""},
		{"failures above the limit", jobpolicy.EndLimits{BackoffLimit: pointerTo[int32](6)}, jobpolicy.Progress{Failed: 7, Active: 1}, batch.JobReasonBackoffLimitExceeded},
		{"restarts below the limit", jobpolicy.EndLimits{BackoffLimit: pointerTo[int32](6)}, jobpolicy.Progress{Restarts: 5, Active: 1}, ""},
		{"restarts at the limit", jobpolicy.EndLimits{BackoffLimit: pointerTo[int32](6)}, jobpolicy.Progress{Restarts: 6, Active: 1}, batch.JobReasonBackoffLimitExceeded},
		{"no restart with limit 0", jobpolicy.EndLimits{BackoffLimit: pointerTo[int32](0)}, jobpolicy.Progress{Active: 1}, ""},
		{"a restart with limit 0", jobpolicy.EndLimits{BackoffLimit: pointerTo[int32](0)}, jobpolicy.Progress{Restarts: 1, Active: 1}, batch.JobReasonBackoffLimitExceeded},
		{"before the deadline", jobpolicy.EndLimits{ActiveDeadlineSeconds: pointerTo[int64](5)}, jobpolicy.Progress{Elapsed: 5*time.Second - 1, Active: 1}, ""},
		{"at the deadline", jobpolicy.EndLimits{ActiveDeadlineSeconds: pointerTo[int64](5)}, jobpolicy.Progress{Elapsed: 5 * time.Second, Active: 1}, batch.JobReasonDeadlineExceeded},
		{"a deadline longer than time", jobpolicy.EndLimits{ActiveDeadlineSeconds: pointerTo[int64](1<<63 - 1)}, jobpolicy.Progress{Elapsed: 1<<62 - 1, Active: 1}, ""},
		{"failed indexes at the limit", jobpolicy.EndLimits{MaxFailedIndexes: pointerTo[int32](2)}, jobpolicy.Progress{FailedIndexes: 2, Active: 1}, ""},
		{"failed indexes above it", jobpolicy.EndLimits{MaxFailedIndexes: pointerTo[int32](2)}, jobpolicy.Progress{FailedIndexes: 3, Active: 1}, batch.JobReasonMaxFailedIndexesExceeded},
		{"all ended, one failed", jobpolicy.EndLimits{Completions: pointerTo[int32](3)}, jobpolicy.Progress{FailedIndexes: 1, Succeeded: 2}, batch.JobReasonFailedIndexes},
		{"succeeded, one still active", jobpolicy.EndLimits{Completions: pointerTo[int32](3)}, jobpolicy.Progress{Succeeded: 3, Active: 1}, ""},
		{"work queue, one succeeded", jobpolicy.EndLimits{}, jobpolicy.Progress{Succeeded: 1}, batch.JobReasonCompletionsReached},
		{"work queue, none succeeded", jobpolicy.EndLimits{}, jobpolicy.Progress{}, ""},
		{"nothing to complete", jobpolicy.EndLimits{Completions: pointerTo[int32](0)}, jobpolicy.Progress{}, batch.JobReasonCompletionsReached},
	} {
		if got, _ := c.l.Verdict(c.t); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An index fails with its first failure above the limit, or at once by a FailIndex
// rule. Without a limit per index, it never fails.
func TestIndexFailsBeyondItsLimit(t *testing.T) {
	failIndex, ignored, counted := jobpolicy.Match{Action: batch.ActionFailIndex}, jobpolicy.Match{Action: batch.ActionIgnore}, jobpolicy.Match{Rule: -1}
	for _, tt := range []struct {
		m        jobpolicy.Match
		failures int
		limit    *int32
		want     bool
	}{
		{counted, 1, pointerTo[int32](1), false}, {counted, 2, pointerTo[int32](1), true}, {counted, 1, pointerTo[int32](0), true},
		{ignored, 5, pointerTo[int32](1), false}, {failIndex, 1, pointerTo[int32](1), true},
		{counted, -3, pointerTo[int32](0), true}, {counted, math.MinInt, pointerTo[int32](1), false},
		{counted, 5, nil, false}, {failIndex, 5, nil, false},
	} {
		if got := tt.m.IndexFailed(tt.failures, tt.limit); got != tt.want {
			t.Errorf("action %q, %d failures, limit %v: %v", tt.m.Action, tt.failures, vectors.Text(tt.limit), got)
		}
	}
}

// IndexFailed takes the counts that NextCounts returns, and agrees with the Engine,
// whose pods carry the counts before them.
func TestIndexFailedAgreesWithNextCounts(t *testing.T) {
	for _, m := range []jobpolicy.Match{{Rule: -1}, {Action: batch.ActionIgnore}, {Action: batch.ActionFailIndex}} {
		for before := range 5 {
			for limit := range int32(5) {
				failures, _ := m.NextCounts(before, 0)
				if got, want := m.IndexFailed(failures, &limit), jobpolicy.IndexFailedAfter(m, before, &limit); got != want {
					t.Errorf("action %q, failure %d, limit %d: %v; by the Engine %v", m.Action, failures, limit, got, want)
				}
			}
		}
	}
}

func TestNextCountsSaturates(t *testing.T) {
	counted, ignored := jobpolicy.Match{Rule: -1}, jobpolicy.Match{Action: batch.ActionIgnore}
	if f, i := counted.NextCounts(jobpolicy.MaxCount, jobpolicy.MaxCount); f != jobpolicy.MaxCount || i != jobpolicy.MaxCount {
		t.Errorf("%d, %d", f, i)
	}
	if f, i := ignored.NextCounts(jobpolicy.MaxCount, jobpolicy.MaxCount); f != jobpolicy.MaxCount || i != jobpolicy.MaxCount {
		t.Errorf("%d, %d", f, i)
	}
	for _, m := range []jobpolicy.Match{counted, ignored} { // the count that does not grow is bounded too
		if f, i := m.NextCounts(math.MaxInt, math.MaxInt); f != jobpolicy.MaxCount || i != jobpolicy.MaxCount {
			t.Errorf("%v: %d, %d", m, f, i)
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
		{time.Second, time.Hour, -7, time.Second},
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

func TestStaleDisruption(t *testing.T) {
	at := func(reason string, status batch.ConditionStatus) *batch.Pod {
		p := &batch.Pod{}
		p.Status.Phase = batch.PodRunning
		jobtest.SetCondition(p, batch.DisruptionTarget, status, reason, t0)
		return p
	}
	deleted, ended := at(batch.PodReasonEvictionByEvictionAPI, batch.ConditionTrue), at(batch.PodReasonEvictionByEvictionAPI, batch.ConditionTrue)
	deleted.DeletionTimestamp, ended.Status.Phase = t0, batch.PodFailed
	for name, c := range map[string]struct {
		pod   *batch.Pod
		now   time.Time
		stale bool
		after time.Duration
	}{
		"just before":      {at(batch.PodReasonDeletionByTaintManager, batch.ConditionTrue), t0.Add(2*time.Minute - 1), false, 1},
		"two minutes":      {at(batch.PodReasonDeletionByTaintManager, batch.ConditionTrue), t0.Add(2 * time.Minute), true, 0},
		"clock went back":  {at(batch.PodReasonDeletionByTaintManager, batch.ConditionTrue), t0.Add(-24 * time.Hour), false, 2 * time.Minute},
		"by the kubelet":   {at(batch.PodReasonTerminationByKubelet, batch.ConditionTrue), t0.Add(time.Hour), false, 0},
		"taken back":       {at(batch.PodReasonDeletionByTaintManager, batch.ConditionFalse), t0.Add(time.Hour), false, 0},
		"being deleted":    {deleted, t0.Add(time.Hour), false, 0},
		"ended":            {ended, t0.Add(time.Hour), false, 0},
		"never was target": {&batch.Pod{}, t0, false, 0},
	} {
		if stale, after := jobpolicy.StaleDisruption(c.pod, c.now); stale != c.stale || after != c.after {
			t.Errorf("%s: %v %v, want %v %v", name, stale, after, c.stale, c.after)
		}
	}
}
