package jobpolicy_test

import (
	"slices"
	"testing"

	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
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
		rapid.SampledFrom([]int32{0, 1, 2, 63, 64, 137, 255, 256, 257, 1024, 1025, 2049, -1, -1023, 1 << 30}), // some alike by 256 or 1024
		rapid.Int32Range(0, 40),
	)
	values := rapid.OneOf(rapid.SliceOfN(code, 0, 4), rapid.SliceOfN(code, 7, 26)) // three long lists are worth a table
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
		if got := jobpolicy.MatchInPlan(p)(pod); got != want {
			t.Fatalf("with a table: %+v, model %+v", got, want)
		}
		for _, pad := range []int{jobpolicy.Tabled - len(p.Rules), jobpolicy.Tabled} { // as many rules as a table holds, and more
			shifted := want
			if want.Rule >= 0 {
				shifted.Rule += pad
			}
			padded := &batch.PodFailurePolicy{Rules: append(make([]batch.PodFailurePolicyRule, pad), p.Rules...)}
			if got := jobpolicy.MatchInPlan(padded)(pod); got != shifted {
				t.Fatalf("behind %d rules that do nothing: %+v, model %+v", pad, got, shifted)
			}
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

// A code at every position of a long list, and unlisted codes that differ from it by a
// power of two or do not occur on Linux.
func TestMatchLongLists(t *testing.T) {
	for place := range 40 {
		values := make([]int32, 40)
		for i := range values {
			values[i] = int32(100 + i)
		}
		values[place] = 7
		for _, outside := range []int32{0, 1 << 8, 1 << 10, -1 << 10} { // of the values
			for _, tt := range []struct {
				op      batch.Operator
				codes   []int32
				matched bool
			}{
				{batch.OpIn, []int32{7 + outside}, true},
				{batch.OpIn, []int32{138 + outside}, place != 38}, // the highest, or the one below
				{batch.OpIn, []int32{7 + outside + 1<<10}, false},
				{batch.OpIn, []int32{7 + outside + 1<<10, 7 + outside}, true},
				{batch.OpNotIn, []int32{7 + outside}, false},
				{batch.OpNotIn, []int32{7 + outside + 1<<10}, true},
				{batch.OpNotIn, []int32{7 + outside, 7 + outside - 1<<10}, true},
			} {
				on := &batch.OnExitCodes{Operator: tt.op, Values: slices.Clone(values)}
				for i := range on.Values {
					on.Values[i] += outside
				}
				p := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionCount, OnExitCodes: on}}}
				for _, idle := range []int{0, 3} { // containers that have not ended: more of them are worth a table
					pod := &batch.Pod{}
					for _, code := range tt.codes {
						pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, batch.ContainerStatus{
							State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}},
						})
					}
					pod.Status.InitContainerStatuses = make([]batch.ContainerStatus, idle)
					if m := jobpolicy.MatchPod(p, pod); (m.Rule == 0) != tt.matched {
						t.Errorf("%v %s %v: matched %v", tt.codes, tt.op, on.Values, !tt.matched)
					}
					if m := jobpolicy.MatchInPlan(p)(pod); (m.Rule == 0) != tt.matched {
						t.Errorf("%v %s %v, among many pods: matched %v", tt.codes, tt.op, on.Values, !tt.matched)
					}
				}
			}
		}
	}
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

// MatchPod handles any number of distinct exit codes.
func TestMatchPodWithManyExitCodes(t *testing.T) {
	for n := 15; n <= 18; n++ {
		p := &batch.Pod{}
		on := &batch.OnExitCodes{}
		for code := range int32(n) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, batch.ContainerStatus{State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code + 1}}})
			if code < 16 {
				on.Values = append(on.Values, code+1)
			}
		}
		policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionIgnore, OnExitCodes: on}}}
		on.Operator = batch.OpIn
		if m := jobpolicy.MatchPod(policy, p); m.Rule != 0 || m.ExitCode != 1 {
			t.Errorf("%d codes, In: %+v", n, m)
		}
		on.Operator = batch.OpNotIn
		if m := jobpolicy.MatchPod(policy, p); (m.Rule == 0) != (n > 16) || n > 16 && m.ExitCode != 17 {
			t.Errorf("%d codes, NotIn: %+v", n, m)
		}
		on.Values = on.Values[:1]
		if m := jobpolicy.MatchPod(policy, p); m.Rule != 0 || m.ExitCode != 2 {
			t.Errorf("%d codes, NotIn the first: %+v", n, m)
		}
	}
}

// With a codeTable, MatchPod tries a rule if the code of any container may meet it.
func TestMatchPodTriesEveryContainer(t *testing.T) {
	for at := range 4 {
		p := &batch.Pod{}
		for i := range 4 {
			code := int32(1)
			if i == at {
				code = 200
			}
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, batch.ContainerStatus{State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}}})
		}
		on := &batch.OnExitCodes{Operator: batch.OpIn}
		for code := range int32(40) {
			on.Values = append(on.Values, 200+code)
		}
		policy := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionIgnore, OnExitCodes: on}}}
		if m := jobpolicy.MatchPod(policy, p); m.Rule != 0 || m.ExitCode != 200 {
			t.Errorf("container %d of 4: %+v", at, m)
		}
	}
}

// Rules beyond those in a codeTable decide, too.
func TestMatchPodReadsMoreThan32Rules(t *testing.T) {
	for n := 30; n <= 35; n++ {
		policy := &batch.PodFailurePolicy{}
		for i := range int32(n) {
			policy.Rules = append(policy.Rules, batch.PodFailurePolicyRule{
				Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{i + 1}},
			})
		}
		job := plainJob(1)
		job.Spec.PodFailurePolicy = policy
		for _, rule := range []int{0, n - 1} {
			p := pod("a", 0, batch.PodFailed, int32(rule+1), t0)
			got := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Pods: []*batch.Pod{p}, Now: t0}).Decisions[0].Match.Rule
			if got != rule || jobpolicy.MatchPod(policy, p).Rule != rule {
				t.Errorf("%d rules: a plan has rule %d, Match %d, want %d", n, got, jobpolicy.MatchPod(policy, p).Rule, rule)
			}
		}
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
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			jobpolicy.MatchPod(p, pod)
		}
	})
	b.Run("in a pass", func(b *testing.B) {
		match := jobpolicy.MatchInPlan(p)
		for b.Loop() {
			match(pod)
		}
	})
}
