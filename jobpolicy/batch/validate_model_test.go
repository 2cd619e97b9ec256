package batch_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

// The model of validation states each rule once, plainly and without regard to speed.
// It returns types and fields, but no details.

type validationModel struct {
	spec *batch.JobSpec
	errs field.Errors
}

func (m *validationModel) check(ok bool, t field.Type, path string) {
	if !ok {
		m.errs = append(m.errs, field.Error{Field: "spec." + path, Type: t})
	}
}

func modelValidate(s *batch.JobSpec) field.Errors {
	m := &validationModel{spec: s}
	m.numbers()
	m.completionMode()
	if s.PodFailurePolicy != nil {
		m.podFailurePolicy()
	}
	if s.SuccessPolicy != nil {
		m.check(s.CompletionMode == "Indexed", field.Invalid, "successPolicy")
		if s.CompletionMode == "Indexed" {
			m.successPolicy()
		}
	}
	allowed := []batch.PodReplacementPolicy{"", "Failed", "TerminatingOrFailed"}
	if s.PodFailurePolicy != nil {
		allowed = allowed[:2]
	}
	m.check(slices.Contains(allowed, s.PodReplacementPolicy), field.NotSupported, "podReplacementPolicy")
	m.restartPolicy()
	return m.errs
}

func modelValidateUpdate(s, old *batch.JobSpec) field.Errors {
	m := &validationModel{spec: s, errs: modelValidate(s)}
	same := vectors.Text(s.Completions) == vectors.Text(old.Completions)
	if s.CompletionMode != "Indexed" {
		m.check(same, field.Invalid, "completions")
	} else if s.Completions != nil && !same {
		m.check(*s.Completions == numberOr(s.Parallelism, 1), field.Invalid, "completions")
	}
	m.check(s.CompletionMode == old.CompletionMode, field.Invalid, "completionMode")
	m.check(vectors.Text(normalPolicy(s.PodFailurePolicy)) == vectors.Text(normalPolicy(old.PodFailurePolicy)), field.Invalid, "podFailurePolicy")
	m.check(vectors.Text(s.BackoffLimitPerIndex) == vectors.Text(old.BackoffLimitPerIndex), field.Invalid, "backoffLimitPerIndex")
	m.check(vectors.Text(normalSuccess(s.SuccessPolicy)) == vectors.Text(normalSuccess(old.SuccessPolicy)), field.Invalid, "successPolicy")
	return m.errs
}

func (m *validationModel) numbers() {
	s := m.spec
	for _, n := range []struct {
		field string
		value int64
	}{
		{"parallelism", int64(numberOr(s.Parallelism, 0))},
		{"completions", int64(numberOr(s.Completions, 0))},
		{"activeDeadlineSeconds", numberOr(s.ActiveDeadlineSeconds, 0)},
		{"backoffLimit", int64(numberOr(s.BackoffLimit, 0))},
		{"ttlSecondsAfterFinished", int64(numberOr(s.TTLSecondsAfterFinished, 0))},
		{"backoffLimitPerIndex", int64(numberOr(s.BackoffLimitPerIndex, 0))},
		{"maxFailedIndexes", int64(numberOr(s.MaxFailedIndexes, 0))},
	} {
		m.check(n.value >= 0, field.Invalid, n.field)
	}
	m.check(s.MaxFailedIndexes == nil || s.BackoffLimitPerIndex != nil, field.Required, "backoffLimitPerIndex")
}

func (m *validationModel) completionMode() {
	s := m.spec
	parallelism, maxFailed := numberOr(s.Parallelism, 0), numberOr(s.MaxFailedIndexes, 0)
	m.check(slices.Contains([]batch.CompletionMode{"", "NonIndexed", "Indexed"}, s.CompletionMode), field.NotSupported, "completionMode")
	if s.CompletionMode == "Indexed" {
		m.check(s.Completions != nil, field.Required, "completions")
		m.check(parallelism <= 100000, field.Invalid, "parallelism")
		m.check(s.MaxFailedIndexes == nil || maxFailed <= numberOr(s.Completions, math.MaxInt32), field.Invalid, "maxFailedIndexes")
		m.check(maxFailed <= 100000, field.Invalid, "maxFailedIndexes")
		if numberOr(s.Completions, 0) > 100000 && s.BackoffLimitPerIndex != nil {
			m.check(s.MaxFailedIndexes != nil, field.Required, "maxFailedIndexes")
			m.check(parallelism <= 10000, field.Invalid, "parallelism")
			m.check(maxFailed <= 10000, field.Invalid, "maxFailedIndexes")
		}
	}
	if s.CompletionMode == "" || s.CompletionMode == "NonIndexed" {
		m.check(s.BackoffLimitPerIndex == nil, field.Invalid, "backoffLimitPerIndex")
		m.check(s.MaxFailedIndexes == nil, field.Invalid, "maxFailedIndexes")
	}
}

func (m *validationModel) podFailurePolicy() {
	rules := m.spec.PodFailurePolicy.Rules
	m.check(len(rules) <= 20, field.TooMany, "podFailurePolicy.rules")
	for i, r := range rules {
		path := fmt.Sprintf("podFailurePolicy.rules[%d]", i)
		m.oneOf(string(r.Action), path+".action", "Count", "FailIndex", "FailJob", "Ignore")
		m.check(r.Action != "FailIndex" || m.spec.BackoffLimitPerIndex != nil, field.Invalid, path+".action")
		if r.OnExitCodes != nil {
			m.exitCodes(path+".onExitCodes", r.OnExitCodes)
		}
		m.check(len(r.OnPodConditions) <= 20, field.TooMany, path+".onPodConditions")
		for k, c := range r.OnPodConditions {
			path := fmt.Sprintf("%s.onPodConditions[%d]", path, k)
			for range modelNameMistakes(string(c.Type)) {
				m.check(false, field.Invalid, path+".type")
			}
			m.oneOf(string(c.Status), path+".status", "False", "True", "Unknown")
		}
		m.check((r.OnExitCodes != nil) != (len(r.OnPodConditions) > 0), field.Invalid, path)
	}
}

func (m *validationModel) exitCodes(path string, on *batch.OnExitCodes) {
	m.oneOf(string(on.Operator), path+".operator", "In", "NotIn")
	if on.ContainerName != nil {
		containers := slices.Concat(m.spec.Template.Spec.Containers, m.spec.Template.Spec.InitContainers)
		known := slices.ContainsFunc(containers, func(c batch.Container) bool { return c.Name == *on.ContainerName })
		m.check(known, field.Invalid, path+".containerName")
	}
	m.check(len(on.Values) > 0, field.Invalid, path+".values")
	m.check(len(on.Values) <= 255, field.TooMany, path+".values")
	for k, v := range on.Values {
		path := fmt.Sprintf("%s.values[%d]", path, k)
		m.check(on.Operator != "In" || v != 0, field.Invalid, path)
		m.check(!slices.Contains(on.Values[:k], v), field.Duplicate, path)
	}
	m.check(slices.IsSorted(on.Values), field.Invalid, path+".values")
}

func (m *validationModel) successPolicy() {
	rules := m.spec.SuccessPolicy.Rules
	m.check(len(rules) > 0, field.Required, "successPolicy.rules")
	m.check(len(rules) <= 20, field.TooMany, "successPolicy.rules")
	completions := numberOr(m.spec.Completions, math.MaxInt32)
	for i, r := range rules {
		path := fmt.Sprintf("successPolicy.rules[%d]", i)
		m.check(r.SucceededIndexes != nil || r.SucceededCount != nil, field.Required, path)
		total := math.MaxInt32
		if r.SucceededIndexes != nil {
			m.check(len(*r.SucceededIndexes) <= 65536, field.TooLong, path+".succeededIndexes")
			var ok bool
			total, ok = modelIndexes(*r.SucceededIndexes, int(completions))
			m.check(ok, field.Invalid, path+".succeededIndexes")
		}
		if r.SucceededCount != nil {
			count := *r.SucceededCount
			m.check(count >= 0, field.Invalid, path+".succeededCount")
			m.check(count <= completions, field.Invalid, path+".succeededCount")
			m.check(int(count) <= total, field.Invalid, path+".succeededCount")
		}
	}
}

func (m *validationModel) restartPolicy() {
	const path = "template.spec.restartPolicy"
	policy := string(m.spec.Template.Spec.RestartPolicy)
	m.oneOf(policy, path, "Always", "OnFailure", "Never") // as any pod template …
	if policy == "Always" {
		policy = ""
	}
	m.oneOf(policy, path, "OnFailure", "Never") // … and as a Job's
	m.check(policy != "OnFailure" || m.spec.PodFailurePolicy == nil, field.Invalid, path)
}

// oneOf requires a text to be one of these.
func (m *validationModel) oneOf(text, path string, known ...string) {
	m.check(text != "", field.Required, path)
	m.check(text == "" || slices.Contains(known, text), field.NotSupported, path)
}

// modelIndexes returns the size of the set in a text.
func modelIndexes(text string, completions int) (total int, ok bool) {
	if text == "" {
		return 0, true
	}
	previous := -1
	for part := range strings.SplitSeq(text, ",") {
		var interval []int
		for number := range strings.SplitSeq(part, "-") {
			n, err := strconv.Atoi(number)
			if err != nil || n >= completions {
				return 0, false
			}
			interval = append(interval, n)
		}
		if len(interval) > 2 || interval[0] <= previous {
			return 0, false
		}
		if len(interval) == 1 {
			interval = append(interval, interval[0])
		} else if interval[0] >= interval[1] {
			return 0, false
		}
		previous = interval[1]
		total += interval[1] - interval[0] + 1
	}
	return total, true
}

// modelNameMistakes counts the mistakes in a qualified name.
func modelNameMistakes(text string) (mistakes int) {
	count := func(mistake bool) {
		if mistake {
			mistakes++
		}
	}
	parts := strings.Split(text, "/")
	if len(parts) > 2 {
		return 1
	}
	if len(parts) == 2 {
		domain := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
		count(len(parts[0]) > 253)
		count(!domain.MatchString(parts[0]))
	}
	name := parts[len(parts)-1]
	count(name == "")
	count(len(name) > 63)
	count(!regexp.MustCompile(`^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`).MatchString(name))
	return mistakes
}

func numberOr[T int32 | int64](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// normalPolicy replaces empty lists by absent ones.
func normalPolicy(p *batch.PodFailurePolicy) *batch.PodFailurePolicy {
	if p == nil {
		return nil
	}
	q := &batch.PodFailurePolicy{Rules: append([]batch.PodFailurePolicyRule{}, p.Rules...)}
	for i := range q.Rules {
		if on := q.Rules[i].OnExitCodes; on != nil {
			q.Rules[i].OnExitCodes = &batch.OnExitCodes{on.ContainerName, on.Operator, append([]int32{}, on.Values...)}
		}
	}
	return q
}

func normalSuccess(p *batch.SuccessPolicy) *batch.SuccessPolicy {
	if p == nil {
		return nil
	}
	return &batch.SuccessPolicy{Rules: append([]batch.SuccessPolicyRule{}, p.Rules...)}
}

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
