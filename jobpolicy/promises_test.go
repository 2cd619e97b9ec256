package jobpolicy

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// A failure that no rule matches was not handled by the policy.
func TestUnmatchedFailureIsNotHandled(t *testing.T) {
	job := plainJob(2)
	job.Spec.PodFailurePolicy = &PodFailurePolicy{Rules: []PodFailurePolicyRule{{
		Action: PodFailurePolicyActionIgnore, OnExitCodes: &OnExitCodes{Operator: PodFailurePolicyOnExitCodesOpIn, Values: []int32{9}},
	}}}
	if c := mustPlan(t, Engine{}, Input{Job: job, Pods: plainPods(1, PodFailed), Now: t0}).Counts; len(c.Handled) != 0 || c.PodsFailed != 1 {
		t.Errorf("counts %+v", c)
	}
}

// A finding about many codes names the first five and how many more there are.
func TestFindingsNameAFew(t *testing.T) {
	for n, want := range map[int]string{4: "256, 257, 258, 259", 5: "256, 257, 258, 259, 260", 6: "256, 257, 258, 259, 260 and 1 more", 8: "256, 257, 258, 259, 260 and 3 more"} {
		spec := plainJob(1).Spec
		on := &OnExitCodes{Operator: PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}
		for i := range n {
			on.Values = append(on.Values, int32(256+i))
		}
		spec.PodFailurePolicy = &PodFailurePolicy{Rules: []PodFailurePolicyRule{{Action: PodFailurePolicyActionCount, OnExitCodes: on}}}
		text := fmt.Sprint(spec.Lint())
		if !strings.Contains(text, want) || strings.Contains(text, "more") != (n > 5) {
			t.Errorf("%d codes: %s, want %q", n, text, want)
		}
	}
}

// A long value, which anybody may have written, is cut in a message, and of many
// mistakes the first are told; both say how much is missing.
func TestMessagesAreShort(t *testing.T) {
	text := strings.Repeat("x", 70)
	errs := FieldErrors{{Field: "f", Type: backoff.ErrorTypeInvalid, Value: text, Detail: "d"}}
	if got := errs.Error(); !strings.Contains(got, `"`+text[:64]+`" and 6 more bytes`) {
		t.Error(got)
	}
	if got := (FieldErrors{{Field: "f", Type: backoff.ErrorTypeInvalid, Value: text[:64], Detail: "d"}}).Error(); strings.Contains(got, "more") {
		t.Error(got)
	}
	for n, want := range map[int]string{8: "", 9: "and 1 more", 11: "and 3 more"} {
		all := make(FieldErrors, n)
		for i := range all {
			all[i] = FieldError{Field: fmt.Sprint("f", i), Type: backoff.ErrorTypeDuplicate}
		}
		if got := all.Error(); !strings.HasSuffix(got, want) || strings.Contains(got, "more") != (want != "") || strings.Contains(got, "f8") {
			t.Errorf("%d mistakes: %s", n, got)
		}
	}
}

// A pod may have more distinct exit codes than are looked up at once.
func TestPodsWithManyExitCodes(t *testing.T) {
	for n := 15; n <= 18; n++ {
		p := &Pod{}
		on := &OnExitCodes{}
		for code := range int32(n) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, ContainerStatus{State: ContainerState{Terminated: &ContainerStateTerminated{ExitCode: code + 1}}})
			if code < 16 {
				on.Values = append(on.Values, code+1)
			}
		}
		policy := &PodFailurePolicy{Rules: []PodFailurePolicyRule{{Action: PodFailurePolicyActionIgnore, OnExitCodes: on}}}
		on.Operator = PodFailurePolicyOnExitCodesOpIn
		if m := policy.Match(p); m.Rule != 0 || m.ExitCode != 1 {
			t.Errorf("%d codes, In: %+v", n, m)
		}
		on.Operator = PodFailurePolicyOnExitCodesOpNotIn
		if m := policy.Match(p); (m.Rule == 0) != (n > 16) || n > 16 && m.ExitCode != 17 {
			t.Errorf("%d codes, NotIn: %+v", n, m)
		}
		on.Values = on.Values[:1]
		if m := policy.Match(p); m.Rule != 0 || m.ExitCode != 2 {
			t.Errorf("%d codes, NotIn the first: %+v", n, m)
		}
	}
}

// A policy may have more rules than validation lets through, and a rule of any
// place may decide.
func TestPoliciesOfManyRules(t *testing.T) {
	for n := 62; n <= 67; n++ {
		policy := &PodFailurePolicy{}
		for i := range int32(n) {
			policy.Rules = append(policy.Rules, PodFailurePolicyRule{
				Action: PodFailurePolicyActionCount, OnExitCodes: &OnExitCodes{Operator: PodFailurePolicyOnExitCodesOpIn, Values: []int32{i + 1}},
			})
		}
		job := plainJob(1)
		job.Spec.PodFailurePolicy = policy
		for _, rule := range []int{0, n - 1} {
			p := pod("a", 0, PodFailed, int32(rule+1), t0)
			got := mustPlan(t, Engine{}, Input{Job: job, Pods: []*Pod{p}, Now: t0}).Decisions[0].Match.Rule
			if got != rule || policy.Match(p).Rule != rule {
				t.Errorf("%d rules: a plan has rule %d, Match %d, want %d", n, got, policy.Match(p).Rule, rule)
			}
		}
	}
}

// Without a template a rule may name any container, the empty name too: a rule
// for one container leaves the others to later rules.
func TestOtherContainersAreLeftToLaterRules(t *testing.T) {
	for _, name := range []string{"", "a", "+", "a+"} {
		spec := plainJob(1).Spec
		spec.PodFailurePolicy = &PodFailurePolicy{Rules: []PodFailurePolicyRule{
			{Action: PodFailurePolicyActionIgnore, OnExitCodes: &OnExitCodes{ContainerName: &name, Operator: PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}},
			{Action: PodFailurePolicyActionCount, OnExitCodes: &OnExitCodes{Operator: PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}},
		}}
		for _, f := range spec.Lint() {
			if f.Check == CheckUnreachable {
				t.Errorf("a rule for container %q: %s", name, f)
			}
		}
	}
}

// Only a FailJob rule behind a FailIndex rule is told that the index fails first.
func TestFindingsTellOfTheIndexOnlyBehindFailIndex(t *testing.T) {
	for _, first := range []Action{PodFailurePolicyActionFailIndex, PodFailurePolicyActionCount, PodFailurePolicyActionFailJob} {
		for _, second := range []Action{PodFailurePolicyActionFailJob, PodFailurePolicyActionCount, PodFailurePolicyActionFailIndex} {
			spec := indexedJob(3, 1).Spec
			on := &OnExitCodes{Operator: PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}
			spec.PodFailurePolicy = &PodFailurePolicy{Rules: []PodFailurePolicyRule{{Action: first, OnExitCodes: on}, {Action: second, OnExitCodes: on}}}
			want := first == PodFailurePolicyActionFailIndex && second == PodFailurePolicyActionFailJob
			if text := fmt.Sprint(spec.Lint()); strings.Contains(text, "fails the index") != want {
				t.Errorf("%s before %s: %s", first, second, text)
			}
		}
	}
}

// Pods that are gone are counted even if nothing else about the Job has changed.
func TestReleasedPodsAreCountedWithoutAnotherChange(t *testing.T) {
	job := plainJob(3)
	job.Status = JobStatus{
		StartTime: t0, Active: 1, Ready: pointerTo[int32](0), Terminating: pointerTo[int32](0),
		UncountedTerminatedPods: &UncountedTerminatedPods{Failed: []string{"gone"}},
	}
	job.Spec.Parallelism = pointerTo[int32](1)
	plan := mustPlan(t, Engine{}, Input{Job: job, Pods: []*Pod{pod("a", -1, PodRunning, 0, t0)}, Now: t0})
	if plan.Record == nil || plan.Record.Failed != 1 || len(plan.Record.UncountedTerminatedPods.Failed) != 0 {
		t.Errorf("%+v", plan.Record)
	}
}

// A deadline that lies further off than a duration reaches is waited for as long as
// one does.
func TestFarDeadlineIsWaitedForAsLongAsCanBe(t *testing.T) {
	for _, c := range []struct{ limit, elapsed, want time.Duration }{
		{math.MaxInt64, -time.Hour, math.MaxInt64},
		{math.MaxInt64 - time.Hour, -time.Hour, math.MaxInt64},
		{time.Minute, -time.Hour, time.Hour + time.Minute},
		{time.Minute, time.Second, 59 * time.Second},
		{time.Minute, time.Hour, 1},
	} {
		if got := until(c.limit, c.elapsed); got != c.want {
			t.Errorf("until(%v, %v) = %v, want %v", c.limit, c.elapsed, got, c.want)
		}
	}
}
