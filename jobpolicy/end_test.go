package jobpolicy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
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
			progress := jobpolicy.Progress{Active: 1}
			first.reach(&progress)
			ends[k].reach(&progress)
			reason, message := limits.Verdict(progress)
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

// Names of rules make valid and unique reasons (KEP-4443).
func TestRuleNamesMakeUniqueReasons(t *testing.T) {
	spec := func(names ...string) *batch.JobSpec {
		s := &batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{}}
		s.Template.Spec.RestartPolicy = batch.RestartPolicyNever
		for i, name := range names {
			s.PodFailurePolicy.Rules = append(s.PodFailurePolicy.Rules, batch.PodFailurePolicyRule{Name: name, Action: batch.ActionFailJob,
				OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{int32(i + 1)}}})
		}
		s.Default()
		return s
	}
	long := strings.Repeat("a", 111)
	for _, good := range [][]string{{"", ""}, {"bug", ""}, {"Out_of:memory,2", "x"}, {"0", "1"}, {"7", "00"}, {long}, {"9"}} {
		if err := spec(good...).Validate(); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{"bug", "bug"}, `spec.podFailurePolicy.rules[1].name: duplicate value "bug": rule 0 has this name`},
		{[]string{"", "0"}, `spec.podFailurePolicy.rules[1].name: invalid value "0": must not be the number of another rule`},
		{[]string{"1", ""}, `spec.podFailurePolicy.rules[0].name: invalid value "1": must not be the number of another rule`},
		{[]string{"out of memory"}, `spec.podFailurePolicy.rules[0].name: invalid value "out of memory": must consist of letters`},
		{[]string{"a,"}, `spec.podFailurePolicy.rules[0].name: invalid value "a,": must consist of letters`},
		{[]string{"a-b"}, `spec.podFailurePolicy.rules[0].name: invalid value "a-b": must consist of letters`},
		{[]string{"a\n"}, `spec.podFailurePolicy.rules[0].name: invalid value "a\n": must consist of letters`},
		{[]string{long + "a"}, `spec.podFailurePolicy.rules[0].name: too long`},
	} {
		if err := spec(tt.names...).Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.names, err, tt.want)
		}
	}
}

// With RuleInReason, a Job failed by a FailJob rule has the rule's reason, otherwise
// that of Kubernetes. The metric has one reason for all rules.
func TestRuleInReasonNamesTheRule(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		code  int32
		rules bool
		want  batch.Reason
	}{{3, true, "PodFailurePolicy_bug"}, {4, true, "PodFailurePolicy_1"}, {3, false, "PodFailurePolicy"}, {4, false, "PodFailurePolicy"}, {5, true, "BackoffLimitExceeded"}} {
		rule := func(name string, code int32) batch.PodFailurePolicyRule {
			return batch.PodFailurePolicyRule{Name: name, Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{code}}}
		}
		zero := int32(0)
		job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "j", UID: "u"}, Spec: batch.JobSpec{BackoffLimit: &zero, PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{rule("bug", 3), rule("", 4)}}}}
		job.Spec.Template.Spec.RestartPolicy = batch.RestartPolicyNever
		pod := &batch.Pod{ObjectMeta: batch.ObjectMeta{Name: "p", UID: "p", CreationTimestamp: now.Add(-time.Minute)}, Status: batch.PodStatus{Phase: batch.PodFailed, ContainerStatuses: []batch.ContainerStatus{
			{Name: "c", State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: tt.code, FinishedAt: now}}}}}}
		pod.Track()
		plan, err := jobpolicy.Engine{RuleInReason: tt.rules}.Plan(jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod}, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		var got batch.Reason
		for _, c := range plan.InterimStatus.Conditions {
			if c.Type == batch.JobFailureTarget {
				got = c.Reason
			}
		}
		counted, _, _ := strings.Cut(string(tt.want), "_")
		if got != tt.want || string(plan.MetricDeltas.Finished) != counted {
			t.Errorf("code %d: reason %s, counted %s, want %s", tt.code, got, plan.MetricDeltas.Finished, tt.want)
		}
		// The final condition keeps the reason of the target.
		job.Status = *plan.InterimStatus
		pod.Untrack()
		plan, err = jobpolicy.Engine{RuleInReason: tt.rules}.Plan(jobpolicy.Input{Job: job, Pods: []*batch.Pod{pod}, State: plan.State, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		for _, status := range []*batch.JobStatus{plan.InterimStatus, plan.FinalStatus} {
			if status == nil {
				continue
			}
			for _, c := range status.Conditions {
				if (c.Type == batch.JobFailed || c.Type == batch.JobFailureTarget) && c.Reason != tt.want {
					t.Errorf("code %d: %s has reason %s, want %s", tt.code, c.Type, c.Reason, tt.want)
				}
			}
		}
	}
}
