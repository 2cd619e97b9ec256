package indexset_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/vectors"
)

// vectorFiles lists the recorded cases of Kubernetes tested here; package jobpolicy
// tests the rest of indexset_ops.
func vectorFiles() []vectors.File {
	kind := func(judge func(vector) (answer, error)) vectors.Kind {
		return vectors.Kind{Run: func(c *vectors.Case) (any, error) { return judgeVector(c, judge) }, Normal: normalWant}
	}
	ops := map[string]vectors.Kind{"has": kind(hasVector), "union": kind(unionVector)}
	for _, name := range []string{
		"succeeded", "failed", "index_failed", "kept_pods", "next_counts", "pending",
		"duplicates", "generate_name", "failure_count", "overlap", "finished_counts",
	} {
		ops[name] = vectors.Kind{}
	}
	lenient := kind(lenientVector)
	lenient.Ignored = []string{"intervals"} // as Kubernetes holds them: out of order, not joined
	return []vectors.File{
		{Name: "indexset_parse", Kinds: map[string]vectors.Kind{
			"strict": kind(strictVector), "lenient": lenient, "format": kind(formatVector),
		}},
		{Name: "indexset_ops", Kinds: ops},
	}
}

func TestVectors(t *testing.T) { vectors.Run(t, vectorFiles()) }

func TestSetVectorsTurnRed(t *testing.T) { vectors.TurnRed(t, vectorFiles()) }

// A vector is the input of a recorded case. Pointers tell absent inputs from empty
// ones.
type vector struct {
	Text        *string     `json:"text"`
	Completions *int64      `json:"completions"`
	Intervals   *[][2]int64 `json:"intervals"`
	Index       *int64      `json:"index"`
	A           *string     `json:"a"`
	B           *string     `json:"b"`
}

// An outcome has the fields of want: int64, bool or string.
type outcome map[string]any

// An answer is the expected result of a case.
type answer struct {
	excluded string   // why the case says nothing about a Set; the rest is empty then
	reasons  []string // in which ways ours may differ from Kubernetes, by properties of the input
	theirs   outcome  // Kubernetes' by its rules
	rule     outcome  // ours by our rules
	ours     outcome  // ours
}

// judgeVector tells the runner the expected result of a case. If the two rules differ
// in a wanted field, the case deviates and needs a known reason.
func judgeVector(c *vectors.Case, judge func(vector) (answer, error)) (any, error) {
	var v vector
	if err := c.Decode(&v); err != nil {
		return nil, err
	}
	a, err := judge(v)
	if err != nil || a.excluded != "" {
		c.Exclude(a.excluded)
		return nil, err
	}
	if fields, ok := c.Want.(map[string]any); ok {
		unwanted := func(name string, _ any) bool { _, ok := fields[name]; return !ok }
		maps.DeleteFunc(a.theirs, unwanted)
		maps.DeleteFunc(a.rule, unwanted)
	}
	if !maps.Equal(a.theirs, a.rule) {
		if len(a.reasons) == 0 {
			return nil, fmt.Errorf("our rules and Kubernetes' differ for no known reason: %v and %v", a.rule, a.theirs)
		}
		slices.Sort(a.reasons)
		c.Deviate(strings.Join(a.reasons, "; "), bare(c, saturated(a.rule)))
	}
	c.Model(bare(c, saturated(a.theirs)))
	return bare(c, a.ours), nil
}

// bare returns the only field of an outcome wanted without a name.
func bare(c *vectors.Case, o outcome) any {
	if _, isBool := c.Want.(bool); isBool {
		return o["has"]
	}
	return o
}

// saturated counts as Len does on 32-bit platforms.
func saturated(o outcome) outcome {
	if n, ok := o["total"].(int64); ok {
		o["total"] = min(n, math.MaxInt)
	}
	return o
}

// normalWant converts a wanted outcome to ours. Texts of errors differ.
func normalWant(_ *vectors.Case, want any) (any, error) {
	fields, ok := want.(map[string]any)
	if !ok {
		return want, nil
	}
	fields = maps.Clone(fields)
	if text, ok := fields["error"]; ok {
		fields["error"] = text != nil && text != false
	}
	if n, ok := fields["total"].(json.Number); ok {
		total, err := n.Int64()
		if err != nil {
			return nil, err
		}
		fields["total"] = min(total, math.MaxInt)
	}
	return fields, nil
}

func strictVector(v vector) (answer, error) {
	if v.Text == nil || v.Completions == nil {
		return answer{}, fmt.Errorf("no text or completions")
	}
	count, ok := kubernetesStrict(*v.Text, *v.Completions)
	a := answer{theirs: outcome{"error": !ok, "total": count}}
	if ok {
		a.reasons = append(a.reasons, "strict: Kubernetes takes plus signs and leading zeros")
	}

	spans, ok := strictByRule(*v.Text)
	if n := len(spans); n > 0 && spans[n-1].last >= *v.Completions {
		spans, ok = nil, false
	}
	a.rule = outcome{"error": !ok, "total": total(spans)}

	s, err := indexset.Parse(*v.Text)
	if highest, ok := s.Max(); ok && int64(highest) >= *v.Completions {
		s, err = indexset.Set{}, fmt.Errorf("too large index")
	}
	a.ours = outcome{"error": err != nil, "total": int64(s.Len())}
	return a, nil
}

func lenientVector(v vector) (answer, error) {
	if v.Text == nil || v.Completions == nil {
		return answer{}, fmt.Errorf("no text or completions")
	}
	raw := kubernetesLenient(*v.Text, *v.Completions)
	a := answer{theirs: outcome{"format": format(raw), "total": total(raw)}}

	spans, _, reordered := lenientByRule(*v.Text)
	spans = canonical(clip(spans, *v.Completions))
	a.rule = outcome{"format": format(spans), "total": total(spans)}

	items := itemByItem(*v.Text)
	for reason, holds := range map[string]bool{
		"lenient: Kubernetes keeps reversed ranges, ours skips them":                             slices.ContainsFunc(items, func(s span) bool { return s.last < s.first }),
		"lenient: Kubernetes clips numbers above MaxIndex, ours skips their items":               slices.ContainsFunc(items, func(s span) bool { return s.last > indexset.MaxIndex }),
		"lenient: items out of order or overlapping, ours merges them":                           reordered > 0,
		"lenient: Kubernetes stops at the first index out of range, ours reads what is after it": readsOn(*v.Text, *v.Completions),
	} {
		if holds {
			a.reasons = append(a.reasons, reason)
		}
	}

	s, _ := indexset.ParseLenient(*v.Text)
	s = s.Clip(int(max(min(*v.Completions, math.MaxInt), -1)))
	a.ours = outcome{"format": s.String(), "total": int64(s.Len())}
	return a, nil
}

// itemByItem returns the result of Kubernetes for each item of text alone.
func itemByItem(text string) (spans []span) {
	for item := range strings.SplitSeq(text, ",") {
		spans = append(spans, kubernetesLenient(item, math.MaxInt64)...)
	}
	return spans
}

// malformed returns why no Set can have these intervals, or "".
func malformed(spans []span) string {
	before := int64(-1)
	for _, s := range spans {
		switch {
		case s.last < s.first:
			return "reversed intervals cannot be in a Set"
		case s.first < 0 || s.last > indexset.MaxIndex:
			return "intervals outside 0..MaxIndex cannot be in a Set"
		case s.first <= before:
			return "unordered or overlapping intervals cannot be in a Set"
		}
		before = s.last
	}
	return ""
}

func spansOf(v vector) ([]span, error) {
	if v.Intervals == nil {
		return nil, fmt.Errorf("no intervals")
	}
	var out []span
	for _, i := range *v.Intervals {
		out = append(out, span{i[0], i[1]})
	}
	return out, nil
}

func setOf(spans []span) indexset.Set {
	var b indexset.Builder
	for _, s := range spans {
		b.AddRange(int(s.first), int(s.last))
	}
	return b.Set()
}

func formatVector(v vector) (answer, error) {
	spans, err := spansOf(v)
	if reason := malformed(spans); err != nil || reason != "" {
		return answer{excluded: reason}, err
	}
	joined, s := canonical(spans), setOf(spans)
	a := answer{
		theirs: outcome{"text": format(spans), "total": total(spans)},
		rule:   outcome{"text": format(joined), "total": total(joined)},
		ours:   outcome{"text": s.String(), "total": int64(s.Len())},
	}
	if len(joined) < len(spans) {
		a.reasons = append(a.reasons, "format: touching intervals, ours joins them")
	}
	return a, nil
}

func hasVector(v vector) (answer, error) {
	spans, err := spansOf(v)
	if err == nil && v.Index == nil {
		err = fmt.Errorf("no index")
	}
	if reason := malformed(spans); err != nil || reason != "" {
		return answer{excluded: reason}, err
	}
	has := outcome{"has": slices.ContainsFunc(spans, func(s span) bool { return s.first <= *v.Index && *v.Index <= s.last })}
	fits := int64(int(*v.Index)) == *v.Index
	return answer{theirs: has, rule: has, ours: outcome{"has": fits && setOf(spans).Contains(int(*v.Index))}}, nil
}

func unionVector(v vector) (answer, error) {
	if v.A == nil || v.B == nil {
		return answer{}, fmt.Errorf("no a or b")
	}
	a, b := itemByItem(*v.A), itemByItem(*v.B)
	if reason := cmp.Or(malformed(a), malformed(b)); reason != "" {
		return answer{excluded: reason}, nil
	}
	joined := canonical(slices.Concat(a, b))
	want := outcome{"text": format(joined), "total": total(joined)}
	s, _ := indexset.ParseLenient(*v.A)
	t, _ := indexset.ParseLenient(*v.B)
	u := s.Union(t)
	return answer{theirs: want, rule: want, ours: outcome{"text": u.String(), "total": int64(u.Len())}}, nil
}
