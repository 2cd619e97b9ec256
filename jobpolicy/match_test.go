package jobpolicy_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"pgregory.net/rapid"
)

// slowMatch is the model of MatchPod: it scans the rules, for each rule the containers,
// and for each container the values, in order.
func slowMatch(p *batch.PodFailurePolicy, pod *batch.Pod) jobpolicy.Match {
	if p == nil {
		return jobpolicy.Match{Rule: -1}
	}
	for i, rule := range p.Rules {
		if !slices.Contains([]batch.Action{"FailJob", "FailIndex", "Ignore", "Count"}, rule.Action) {
			continue
		}
		if on := rule.OnExitCodes; on != nil {
			for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
				if c.State.Terminated == nil || c.State.Terminated.ExitCode == 0 || on.ContainerName != nil && *on.ContainerName != c.Name {
					continue
				}
				listed := false
				for _, v := range on.Values {
					listed = listed || v == c.State.Terminated.ExitCode
				}
				if on.Operator == "In" && listed || on.Operator == "NotIn" && !listed {
					return jobpolicy.Match{Rule: i, Action: rule.Action, Container: c.Name, ExitCode: c.State.Terminated.ExitCode}
				}
			}
			continue
		}
		for _, c := range pod.Status.Conditions {
			for _, o := range rule.OnPodConditions {
				wanted := o.Status
				if wanted == "" {
					wanted = "True"
				}
				if o.Type == c.Type && wanted == c.Status {
					return jobpolicy.Match{Rule: i, Action: rule.Action, Condition: string(c.Type)}
				}
			}
		}
	}
	return jobpolicy.Match{Rule: -1}
}

// genMatchCase draws a policy and a pod that share a few codes, names and conditions.
func genMatchCase(t *rapid.T) (*batch.PodFailurePolicy, *batch.Pod) {
	code := rapid.OneOf(
		rapid.SampledFrom([]int32{0, 1, 2, 63, 64, 137, 255, 256, 257, 1024, 1025, 2049, -1, -1023, 1 << 30}),
		rapid.Int32Range(0, 40),
	)
	values := rapid.SliceOfN(code, 0, 8)
	name := rapid.SampledFrom([]string{"a", "b", ""})
	condition := rapid.SampledFrom([]batch.PodConditionType{batch.DisruptionTarget, "X"})
	status := rapid.SampledFrom([]batch.ConditionStatus{"True", "False", "Unknown", ""})
	p := &batch.PodFailurePolicy{}
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		rule := batch.PodFailurePolicyRule{Action: rapid.SampledFrom([]batch.Action{"FailJob", "FailIndex", "Ignore", "Count", "", "count"}).Draw(t, "action")}
		if rapid.Bool().Draw(t, "codes") {
			rule.OnExitCodes = &batch.OnExitCodes{
				Operator: rapid.SampledFrom([]batch.Operator{"In", "NotIn", "", "in"}).Draw(t, "operator"),
				Values:   values.Draw(t, "values"),
			}
			if rapid.Bool().Draw(t, "named") {
				rule.OnExitCodes.ContainerName = pointerTo(name.Draw(t, "container"))
			}
		}
		if rapid.Bool().Draw(t, "conditions") {
			for range rapid.IntRange(0, 2).Draw(t, "patterns") {
				rule.OnPodConditions = append(rule.OnPodConditions, batch.OnPodCondition{Type: condition.Draw(t, "type"), Status: status.Draw(t, "status")})
			}
		}
		p.Rules = append(p.Rules, rule)
	}
	pod := &batch.Pod{ObjectMeta: batch.ObjectMeta{Name: "p", Namespace: "ns"}}
	containers := func(label string) (all []batch.ContainerStatus) {
		for range rapid.SampledFrom([]int{0, 1, 2, 3, 9, 20}).Draw(t, label) {
			c := batch.ContainerStatus{Name: name.Draw(t, "name")}
			if rapid.IntRange(0, 4).Draw(t, "ended") > 0 {
				c.State.Terminated = &batch.ContainerStateTerminated{ExitCode: code.Draw(t, "exit code")}
			}
			all = append(all, c)
		}
		return all
	}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = containers("containers"), containers("init containers")
	for range rapid.IntRange(0, 2).Draw(t, "pod conditions") {
		pod.Status.Conditions = append(pod.Status.Conditions, batch.PodCondition{Type: condition.Draw(t, "type"), Status: status.Draw(t, "status")})
	}
	return p, pod
}

func TestMatchAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, pod := genMatchCase(t)
		got, want := jobpolicy.MatchPod(p, pod), slowMatch(p, pod)
		if got != want {
			t.Fatalf("Match = %+v, model %+v", got, want)
		}
		steps := jobpolicy.Explain(p, pod)
		if len(steps) != len(p.Rules) {
			t.Fatalf("%d steps for %d rules", len(steps), len(p.Rules))
		}
		for i, s := range steps {
			if s.Rule != i || s.Matched != (i == want.Rule) || s.Why == "" {
				t.Fatalf("step %d is %+v, rule %d decided", i, s, want.Rule)
			}
		}
	})
}

// MatchExit returns MatchPod's result for a pod with only that container.
func TestMatchExitAgreesWithMatchPod(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		p, pod := genMatchCase(t)
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Terminated == nil {
				continue
			}
			one := &batch.Pod{Status: batch.PodStatus{ContainerStatuses: []batch.ContainerStatus{c}}}
			got, want := jobpolicy.MatchExit(p, c.Name, c.State.Terminated.ExitCode), jobpolicy.MatchPod(p, one)
			if got != want {
				t.Fatalf("MatchExit = %+v, Match %+v", got, want)
			}
			if got.Rule >= 0 {
				matched++
			}
		}
	})
	if matched == 0 && rapidseed.Fixed() {
		t.Error("no exit was matched")
	}
	if got := jobpolicy.MatchExit((*batch.PodFailurePolicy)(nil), "a", 1); got != (jobpolicy.Match{Rule: -1}) {
		t.Errorf("a nil policy: %+v", got)
	}
}

func TestMatchNil(t *testing.T) {
	var p *batch.PodFailurePolicy
	if m := jobpolicy.MatchPod(p, &batch.Pod{}); m.Rule != -1 || !m.Counted() || m.Message(&batch.Pod{}) != "" {
		t.Errorf("a nil policy: %+v", m)
	}
	if m := jobpolicy.MatchPod((&batch.PodFailurePolicy{}), nil); m.Rule != -1 {
		t.Errorf("a nil pod: %+v", m)
	}
	if steps := jobpolicy.Explain(p, &batch.Pod{}); steps != nil {
		t.Errorf("a nil policy explains itself: %v", steps)
	}
}

// bigPolicy returns the largest valid policy and a pod that it does not match.
func bigPolicy() (*batch.PodFailurePolicy, *batch.Pod) {
	p, pod := &batch.PodFailurePolicy{}, &batch.Pod{}
	for range 20 {
		on := &batch.OnExitCodes{Operator: batch.OpIn}
		for v := range int32(255) {
			on.Values = append(on.Values, 1+v)
		}
		p.Rules = append(p.Rules, batch.PodFailurePolicyRule{Action: batch.ActionFailJob, OnExitCodes: on})
	}
	for i := range int32(10) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, batch.ContainerStatus{
			Name: "c", State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: 256 + i*11}},
		})
	}
	return p, pod
}

func TestMatchAllocatesNothing(t *testing.T) {
	p, pod := bigPolicy()
	if n := testing.AllocsPerRun(100, func() { jobpolicy.MatchPod(p, pod) }); n != 0 {
		t.Errorf("Match without a hit: %v allocations", n)
	}
	p.Rules[19].OnExitCodes.Values[254] = 256
	if n := testing.AllocsPerRun(100, func() { jobpolicy.MatchPod(p, pod) }); n != 0 {
		t.Errorf("Match with a hit: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { jobpolicy.MatchExit(p, "c", 256) }); n != 0 {
		t.Errorf("MatchExit: %v allocations", n)
	}
}

// MatchPod compares a thousand pairs of conditions and patterns without allocating.
func TestMatchOfConditionsAllocatesNothing(t *testing.T) {
	policy, p := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionCount}}}, &batch.Pod{}
	for range 20 {
		policy.Rules[0].OnPodConditions = append(policy.Rules[0].OnPodConditions, batch.OnPodCondition{Type: "A"})
	}
	for range 50 {
		p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: "B", Status: batch.ConditionTrue})
	}
	if n := testing.AllocsPerRun(100, func() { jobpolicy.MatchPod(policy, p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMatch(b *testing.B) {
	p, pod := bigPolicy()
	for b.Loop() {
		jobpolicy.MatchPod(p, pod)
	}
}

// Every result gives the match, or why the rule does not match.
func TestExplainGivesReasons(t *testing.T) {
	in, notIn := batch.OpIn, batch.OpNotIn
	codes := func(o batch.Operator, container *string, values ...int32) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: o, ContainerName: container, Values: values}}
	}
	conditions := func(patterns ...batch.OnPodCondition) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionIgnore, OnPodConditions: patterns}
	}
	ended := func(name string, code int32) batch.ContainerStatus {
		return batch.ContainerStatus{Name: name, State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}}}
	}
	p := &batch.Pod{Status: batch.PodStatus{
		ContainerStatuses:     []batch.ContainerStatus{ended("a", 3), ended("b", 0), {Name: "c"}},
		InitContainerStatuses: []batch.ContainerStatus{ended("", 4)},
		Conditions:            []batch.PodCondition{{Type: "A", Status: batch.ConditionFalse}, {Type: "B", Status: batch.ConditionTrue}},
	}}
	unknown := codes(in, nil, 3)
	unknown.Action = "Later"
	policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		codes(in, nil, 1, 2),
		codes(notIn, nil, 3, 4),
		codes(in, pointerTo("b"), 3),
		codes(in, pointerTo(""), 3),
		codes("Between", nil, 1, 9),
		{Action: batch.ActionCount},
		{},
		unknown,
		conditions(batch.OnPodCondition{Type: "A"}, batch.OnPodCondition{Type: "B", Status: batch.ConditionUnknown}, batch.OnPodCondition{Type: "C"}),
		conditions(batch.OnPodCondition{Type: "C"}, batch.OnPodCondition{Type: "B"}),
		codes(in, nil, 3),
	}}
	want := []string{
		"rule 0 (Count): no match: container a ended with exit code 3, not in [1 2]; container b ended with exit code 0; container c has not ended; container \"\" ended with exit code 4, not in [1 2]",
		"rule 1 (Count): no match: container a ended with exit code 3, in [3 4]; container b ended with exit code 0; container c has not ended; container \"\" ended with exit code 4, in [3 4]",
		"rule 2 (Count): no match: container a is not b; container b ended with exit code 0; container c is not b; container \"\" is not b",
		"rule 3 (Count): no match: container a is not \"\"; container b is not \"\"; container c is not \"\"; container \"\" ended with exit code 4, not in [3]",
		"rule 4 (Count): no match: unknown operator \"Between\"",
		"rule 5 (Count): no match: the rule has no requirement",
		"rule 6 (\"\"): no match: unknown action, the rule is skipped (the rule has no requirement)",
		"rule 7 (Later): no match: unknown action, the rule is skipped (container a ended with exit code 3, in [3])",
		"rule 8 (Ignore): no match: condition A is False, wanted True; condition B is True, wanted Unknown; condition C is absent, wanted True",
		"rule 9 (Ignore): matched: the pod has condition B=True",
		"rule 10 (Count): no match: not reached, rule 9 decided",
	}
	var got []string
	for _, s := range jobpolicy.Explain(policy, p) {
		got = append(got, s.String())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	policy.Rules = policy.Rules[9:]
	if got, want := jobpolicy.Explain(policy, &batch.Pod{})[1].Why, "the pod has no container status"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := jobpolicy.Explain(policy, p)[1].Why, "not reached, rule 0 decided"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Status.Conditions = nil
	if got, want := jobpolicy.Explain(policy, p)[1].String(), "rule 1 (Count): matched: container a ended with exit code 3, in [3]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	policy.Rules[1] = codes(notIn, pointerTo(""), 3)
	if got, want := jobpolicy.Explain(policy, p)[1].Why, "container \"\" ended with exit code 4, not in [3]"; got != want {
		t.Errorf("%q, want %q", got, want)
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
