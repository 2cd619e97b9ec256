package batch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

// specGen draws random specifications, with numbers and texts at the limits of the
// rules. Half of them are tame, with mostly valid values, because otherwise hardly any
// would be valid.
type specGen struct {
	*rapid.T
	tame bool
}

func genSpec(t *rapid.T) *batch.JobSpec {
	return specGen{t, rapid.Bool().Draw(t, "tame")}.spec()
}

// pick draws a good value or, unless the generator is tame, one time in four a
// bad one.
func pick[T any](g specGen, label string, good, bad []T) T {
	if !g.tame && rapid.IntRange(0, 3).Draw(g.T, "bad "+label) == 3 {
		return rapid.SampledFrom(bad).Draw(g.T, label)
	}
	return rapid.SampledFrom(good).Draw(g.T, label)
}

func (g specGen) chance(label string, oneIn int) bool {
	return rapid.IntRange(1, oneIn).Draw(g.T, label) == 1
}

func (g specGen) number(label string) *int32 {
	if g.chance("no "+label, 2) {
		return nil
	}
	return ptr(pick(g, label,
		[]int32{0, 1, 2, 3, 5, 9, 10, 12},
		[]int32{-1, math.MinInt32, 9_999, 10_000, 10_001, 99_999, 100_000, 100_001, math.MaxInt32}))
}

func (g specGen) spec() *batch.JobSpec {
	s := &batch.JobSpec{
		Parallelism:             g.number("parallelism"),
		Completions:             g.number("completions"),
		BackoffLimit:            g.number("backoffLimit"),
		BackoffLimitPerIndex:    g.number("backoffLimitPerIndex"),
		MaxFailedIndexes:        g.number("maxFailedIndexes"),
		TTLSecondsAfterFinished: g.number("ttl"),
		CompletionMode:          pick(g, "mode", []batch.CompletionMode{batch.IndexedCompletion, batch.NonIndexedCompletion, ""}, []batch.CompletionMode{"indexed", "x"}),
		PodReplacementPolicy:    pick(g, "replacement", []batch.PodReplacementPolicy{"", batch.PodReplacementFailed}, []batch.PodReplacementPolicy{batch.PodReplacementTerminatingOrFailed, "failed"}),
		Suspend:                 rapid.Bool().Draw(g.T, "suspend"),
	}
	if deadline := g.number("deadline"); deadline != nil {
		s.ActiveDeadlineSeconds = ptr(int64(*deadline))
	}
	s.Template.Spec.RestartPolicy = pick(g, "restartPolicy", []batch.RestartPolicy{batch.RestartPolicyNever}, []batch.RestartPolicy{batch.RestartPolicyOnFailure, batch.RestartPolicyAlways, "", "never"})
	for _, name := range []string{"a", "b", ""}[:rapid.IntRange(1, 3).Draw(g.T, "containers")] {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, batch.Container{Name: name})
	}
	for _, name := range []string{"i", "b"}[:rapid.IntRange(0, 2).Draw(g.T, "init containers")] {
		s.Template.Spec.InitContainers = append(s.Template.Spec.InitContainers, batch.Container{Name: name})
	}
	if g.chance("policy", 2) {
		s.PodFailurePolicy = g.policy()
	}
	if g.chance("success policy", 3) {
		s.SuccessPolicy = g.successPolicy()
	}
	if g.tame && s.CompletionMode == batch.IndexedCompletion {
		s.Completions = ptr[int32](12)
	} else if g.tame {
		s.BackoffLimitPerIndex, s.MaxFailedIndexes, s.SuccessPolicy = nil, nil, nil
	}
	return s
}

func (g specGen) policy() *batch.PodFailurePolicy {
	p := &batch.PodFailurePolicy{}
	for range pick(g, "rules", []int{0, 1, 2, 3, 20}, []int{21, 25}) {
		r := batch.PodFailurePolicyRule{Action: pick(g, "action",
			[]batch.Action{batch.ActionFailJob, batch.ActionIgnore, batch.ActionCount},
			[]batch.Action{batch.ActionFailIndex, "", "failJob"})}
		kind := pick(g, "requirement", []string{"codes", "conditions"}, []string{"none", "both", "empty"})
		if kind == "codes" || kind == "both" {
			r.OnExitCodes = g.exitCodes()
		}
		if kind == "conditions" || kind == "both" {
			r.OnPodConditions = g.conditions()
		}
		if kind == "empty" {
			r.OnPodConditions = []batch.OnPodCondition{}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

func (g specGen) exitCodes() *batch.OnExitCodes {
	on := &batch.OnExitCodes{Operator: pick(g, "operator", []batch.Operator{batch.OpIn, batch.OpNotIn}, []batch.Operator{"", "in"})}
	if g.chance("named", 2) {
		on.ContainerName = ptr(pick(g, "container", []string{"a"}, []string{"b", "i", "", "x"}))
	}
	code := rapid.Custom(func(t *rapid.T) int32 {
		return pick(specGen{t, g.tame}, "code", []int32{1, 2, 3, 42, 137, 255}, []int32{0, 256, -1, math.MaxInt32, math.MinInt32})
	})
	if g.chance("long", 20) {
		n := pick(g, "codes", []int32{254, 255}, []int32{256, 257})
		for v := range n {
			on.Values = append(on.Values, v+1)
		}
		if !g.tame {
			on.Values[rapid.Int32Range(0, n-1).Draw(g.T, "at")] = code.Draw(g.T, "code")
		}
		return on
	}
	on.Values = rapid.SliceOfN(code, pick(g, "fewest", []int{1}, []int{0}), 5).Draw(g.T, "codes")
	if pick(g, "sort", []bool{true}, []bool{false}) {
		slices.Sort(on.Values)
		on.Values = slices.Compact(on.Values)
	}
	return on
}

func (g specGen) conditions() (patterns []batch.OnPodCondition) {
	for range pick(g, "conditions", []int{1, 2, 3, 20}, []int{21}) {
		patterns = append(patterns, batch.OnPodCondition{
			Type:   batch.PodConditionType(g.name()),
			Status: pick(g, "status", []batch.ConditionStatus{batch.ConditionTrue, batch.ConditionFalse, batch.ConditionUnknown}, []batch.ConditionStatus{"", "true"}),
		})
	}
	return patterns
}

func (g specGen) name() string {
	if !g.tame && g.chance("any name", 8) {
		return rapid.StringOfN(rapid.SampledFrom([]rune("aZ0-_./ é")), 0, 6, -1).Draw(g.T, "name")
	}
	return pick(g, "name",
		[]string{"DisruptionTarget", "Ready", "x.y-z_1", "example.com/Thing", strings.Repeat("a", 63), strings.Repeat("d", 253) + "/x"},
		[]string{"", "/", "/x", "x/", "a/b/c", "-a", "a.", "a b", "ä", "Upper.com/x", "a..b/x", "-a.com/x", strings.Repeat("a", 64), strings.Repeat("d", 254) + "/x"})
}

func (g specGen) successPolicy() *batch.SuccessPolicy {
	p := &batch.SuccessPolicy{}
	for range pick(g, "success rules", []int{1, 2, 3, 20}, []int{0, 21}) {
		r := batch.SuccessPolicyRule{}
		if g.chance("with indexes", 2) {
			r.SucceededIndexes = ptr(g.indexText())
		}
		if r.SucceededIndexes == nil || g.chance("with count too", 4) {
			r.SucceededCount = ptr(pick(g, "succeededCount", []int32{0, 1, 2, 12}, []int32{-1, 13, 100_001}))
		}
		if !g.tame && g.chance("with nothing", 8) {
			r = batch.SuccessPolicyRule{}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

// indexText draws an ascending list of intervals and, unless the generator is tame,
// sometimes corrupts it.
func (g specGen) indexText() string {
	if !g.tame && g.chance("huge", 30) {
		return strings.Repeat(rapid.SampledFrom([]string{"1", ",", "1,", "0-"}).Draw(g.T, "piece"), 40_000)
	}
	var parts []string
	next := 0
	for range rapid.IntRange(0, 4).Draw(g.T, "intervals") {
		first := next + rapid.IntRange(0, 2).Draw(g.T, "gap")
		length := rapid.IntRange(0, 2).Draw(g.T, "length")
		if next = first + length + 1; g.tame && next > 12 {
			break
		}
		if length == 0 {
			parts = append(parts, fmt.Sprint(first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, first+length))
		}
	}
	text := strings.Join(parts, ",")
	switch pick(g, "spoil", []string{"no"}, []string{"character", "order"}) {
	case "character":
		i := rapid.IntRange(0, len(text)).Draw(g.T, "at")
		piece := rapid.SampledFrom([]string{"-", ",", "+", "0", " ", "x", "99", "9223372036854775808", "2147483648"}).Draw(g.T, "character")
		text = text[:i] + piece + text[i:]
	case "order":
		slices.Reverse(parts)
		text = strings.Join(parts, ",")
	}
	return text
}
