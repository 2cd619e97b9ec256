package jobpolicy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

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
