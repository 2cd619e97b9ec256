package lint_test

import (
	"encoding/json"
	"math"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// genSpec draws a specification that is likely to have findings, with rules of the
// small model and unreachable ones, numbers at the limits, conflicting modes and
// limits, deadlines, sidecars and other init containers.
func genSpec(t *rapid.T) *batch.JobSpec {
	number := func(label string, more ...int32) *int32 {
		n := rapid.SampledFrom(append([]int32{math.MinInt32, -1, 0, 1, 3, 12, 12, 100_000, math.MaxInt32}, more...)).Draw(t, label)
		if n == math.MinInt32 {
			return nil
		}
		return &n
	}
	s := &batch.JobSpec{
		Parallelism:          number("parallelism", math.MinInt32, math.MinInt32, 1, 1, 1),
		Completions:          number("completions", 12, 12, 12, math.MaxInt32),
		BackoffLimit:         number("backoffLimit", math.MinInt32, math.MinInt32, 6, 6, 6),
		BackoffLimitPerIndex: number("backoffLimitPerIndex", math.MinInt32, math.MinInt32, math.MinInt32, 1, 1),
		MaxFailedIndexes:     number("maxFailedIndexes", math.MinInt32, math.MinInt32, math.MinInt32, 1),
		CompletionMode:       rapid.SampledFrom([]batch.CompletionMode{"", batch.NonIndexedCompletion, batch.IndexedCompletion, batch.IndexedCompletion, batch.IndexedCompletion, "x"}).Draw(t, "mode"),
	}
	s.PodReplacementPolicy = rapid.SampledFrom([]batch.PodReplacementPolicy{"", "", batch.PodReplacementFailed, batch.PodReplacementTerminatingOrFailed, "x"}).Draw(t, "replacement")
	s.TTLSecondsAfterFinished = number("ttl", math.MinInt32, math.MinInt32)
	s.Suspend = rapid.Bool().Draw(t, "suspend")
	if deadline := number("deadline", math.MinInt32, math.MinInt32); deadline != nil {
		s.ActiveDeadlineSeconds = pointerTo(int64(*deadline))
	}
	s.Template.Spec.RestartPolicy = rapid.SampledFrom([]batch.RestartPolicy{batch.RestartPolicyNever, batch.RestartPolicyOnFailure}).Draw(t, "restart policy")
	for _, name := range []string{"a", "b", ""}[:rapid.IntRange(0, 3).Draw(t, "containers")] {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, batch.Container{Name: name})
	}
	for _, name := range []string{"i", "b"}[:rapid.IntRange(0, 2).Draw(t, "init containers")] {
		c := batch.Container{Name: name}
		if rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = batch.RestartPolicyAlways
		}
		s.Template.Spec.InitContainers = append(s.Template.Spec.InitContainers, c)
	}
	if rapid.Bool().Draw(t, "policy") {
		s.PodFailurePolicy = &batch.PodFailurePolicy{Rules: rapid.SliceOfN(rapid.Custom(genRule), 0, 22).Draw(t, "rules")}
	}
	if rapid.Bool().Draw(t, "success policy") {
		s.SuccessPolicy = &batch.SuccessPolicy{}
		for range rapid.SampledFrom([]int{0, 1, 2, 21}).Draw(t, "success rules") {
			rule := batch.SuccessPolicyRule{SucceededCount: number("count")}
			if rapid.Bool().Draw(t, "with indexes") {
				rule.SucceededIndexes = pointerTo(rapid.SampledFrom([]string{"", "0", "1-3", "7,3", "x", "20-30"}).Draw(t, "indexes"))
			}
			s.SuccessPolicy.Rules = append(s.SuccessPolicy.Rules, rule)
		}
	}
	return s
}

// genRule draws a rule of the small model, or one with codes outside it.
func genRule(t *rapid.T) batch.PodFailurePolicyRule {
	rule := rapid.SampledFrom(worldRules()).Draw(t, "rule")
	rule.Action = rapid.SampledFrom([]batch.Action{batch.ActionFailJob, batch.ActionFailJob,
		batch.ActionFailIndex, batch.ActionIgnore, batch.ActionCount, "Other"}).Draw(t, "action")
	if rule.OnExitCodes != nil && rapid.Bool().Draw(t, "other codes") {
		on := *rule.OnExitCodes
		on.Values = rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, 143, 255, 256, 257, -1, math.MaxInt32, math.MinInt32}), 0, 9).Draw(t, "codes")
		if rapid.IntRange(1, 8).Draw(t, "long list") == 1 {
			n := rapid.SampledFrom([]int32{32, 33, 254, 255, 256, 257}).Draw(t, "length")
			for code := range n {
				on.Values = append(on.Values, code+1)
			}
		}
		rule.OnExitCodes = &on
	}
	return rule
}

func pointerTo[T any](v T) *T { return &v }

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
