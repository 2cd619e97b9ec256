package indexset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The conformance runner: recorded inputs and outcomes of Kubernetes 1.36.3.
// VECTORS_DIR names another folder of files in the same format.

const (
	parseFile = "indexset_parse.json"
	opsFile   = "indexset_ops.json"
	otherKind = "read by the jobpolicy runner"
)

// A vector is one recorded case. Pointers tell absent inputs from empty ones.
type vector struct {
	ID          string          `json:"id"`
	Kind        string          `json:"kind"`
	Text        *string         `json:"text"`
	Completions *int64          `json:"completions"`
	Intervals   *[][2]int64     `json:"intervals"`
	Index       *int64          `json:"index"`
	A           *string         `json:"a"`
	B           *string         `json:"b"`
	Want        json.RawMessage `json:"want"`
}

// An outcome has the fields of want: int64, bool or string.
type outcome map[string]any

// An answer is what a case should come to.
type answer struct {
	excluded string   // why the case says nothing about a Set; the rest is empty then
	reasons  []string // in which ways ours may differ from Kubernetes, by properties of the input
	theirs   outcome  // Kubernetes' by its rules
	rule     outcome  // ours by our rules
	ours     outcome  // ours
}

// kinds has the kinds of each file; nil is for another runner.
var kinds = map[string]map[string]func(v vector) (answer, error){
	parseFile: {"strict": strictVector, "lenient": lenientVector, "format": formatVector},
	opsFile: {
		"has": hasVector, "union": unionVector,
		"succeeded": nil, "failed": nil, "index_failed": nil, "kept_pods": nil, "next_counts": nil, "pending": nil,
		"duplicates": nil, "generate_name": nil, "failure_count": nil, "overlap": nil, "finished_counts": nil,
	},
}

// wantFields are the fields that a kind's want may have. The raw intervals of
// a lenient reading are Kubernetes' own and not compared.
var wantFields = map[string][]string{
	"strict": {"total", "error"}, "lenient": {"format", "total"}, "format": {"text", "total"}, "has": {"has"}, "union": {"text", "total"},
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

	s, err := Parse(*v.Text)
	if highest, ok := s.Max(); ok && int64(highest) >= *v.Completions {
		s, err = Set{}, fmt.Errorf("too large index")
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
		"lenient: Kubernetes clips numbers above MaxIndex, ours skips their items":               slices.ContainsFunc(items, func(s span) bool { return s.last > MaxIndex }),
		"lenient: items out of order or overlapping, ours merges them":                           reordered > 0,
		"lenient: Kubernetes stops at the first index out of range, ours reads what is after it": readsOn(*v.Text, *v.Completions),
	} {
		if holds {
			a.reasons = append(a.reasons, reason)
		}
	}

	s, _ := ParseLenient(*v.Text)
	s = s.Clip(int(max(min(*v.Completions, math.MaxInt), -1)))
	a.ours = outcome{"format": s.String(), "total": int64(s.Len())}
	return a, nil
}

// itemByItem is what Kubernetes reads of every item of text, on its own.
func itemByItem(text string) (spans []span) {
	for item := range strings.SplitSeq(text, ",") {
		spans = append(spans, kubernetesLenient(item, math.MaxInt64)...)
	}
	return spans
}

// malformed says why no Set has these intervals, if so.
func malformed(spans []span) string {
	before := int64(-1)
	for _, s := range spans {
		switch {
		case s.last < s.first:
			return "reversed intervals cannot be in a Set"
		case s.first < 0 || s.last > MaxIndex:
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

func setOf(spans []span) Set {
	var b Builder
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
	s, _ := ParseLenient(*v.A)
	t, _ := ParseLenient(*v.B)
	u := s.Union(t)
	return answer{theirs: want, rule: want, ours: outcome{"text": u.String(), "total": int64(u.Len())}}, nil
}

// wanted reads the want of a case: the fields to compare.
func wanted(v vector) (outcome, error) {
	var fields map[string]any
	var bare bool
	if v.Kind == "has" && json.Unmarshal(v.Want, &bare) == nil && string(v.Want) != "null" {
		return outcome{"has": bare}, nil
	}
	if err := json.Unmarshal(v.Want, &fields); err != nil || len(fields) == 0 {
		return nil, fmt.Errorf("want has no fields: %s", v.Want)
	}
	want := outcome{}
	for name, value := range fields {
		if v.Kind == "lenient" && name == "intervals" {
			continue
		}
		if !slices.Contains(wantFields[v.Kind], name) {
			return nil, fmt.Errorf("want has unknown field %q", name)
		}
		switch value := value.(type) {
		case float64:
			want[name] = int64(value)
		case string:
			want[name] = value
		case bool:
			want[name] = value
		case nil:
			want[name] = false
		}
		if _, isBool := value.(bool); (name == "error") != (isBool || value == nil) {
			return nil, fmt.Errorf("want.%s is %v", name, value)
		}
	}
	return want, nil
}

// differ returns the fields of want in which got is another.
func differ(want, got outcome) (fields []string) {
	for name, value := range want {
		g, ok := got[name]
		if n, isInt := value.(int64); isInt && n > math.MaxInt {
			value = int64(math.MaxInt) // Len saturates on 32-bit platforms
		}
		if !ok || g != value {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// only returns the fields of o that want has.
func only(want, o outcome) outcome {
	o = maps.Clone(o)
	maps.DeleteFunc(o, func(name string, _ any) bool { _, ok := want[name]; return !ok })
	return o
}

// A tally is what came of one file.
type tally struct {
	cases, fields int
	notes         map[string]int    // cases per deviation and per exclusion
	covered       map[string]string // kind, field and how it was compared: the first such case
	failures      []string
}

func (r *tally) fail(id, form string, args ...any) {
	r.failures = append(r.failures, id+": "+fmt.Sprintf(form, args...))
}

// run compares one case.
func (r *tally) run(v vector, judge func(vector) (answer, error)) {
	a, err := judge(v)
	if err != nil {
		r.fail(v.ID, "%v", err)
		return
	}
	if a.excluded != "" {
		r.notes["excluded: "+a.excluded]++
		return
	}
	want, err := wanted(v)
	if err != nil {
		r.fail(v.ID, "%v", err)
		return
	}
	how, expected := "", want
	if len(differ(only(want, a.rule), a.theirs)) > 0 {
		how, expected = " under a deviation", only(want, a.rule)
		for _, reason := range a.reasons {
			r.notes["deviation: "+reason]++
		}
		if len(a.reasons) == 0 {
			r.fail(v.ID, "our rules and Kubernetes' differ for no known reason: %v and %v", a.rule, a.theirs)
		}
		if len(differ(want, expected)) == 0 {
			r.fail(v.ID, "no deviation: Kubernetes' outcome is ours, %v", want)
		}
		if fields := differ(want, a.theirs); len(fields) > 0 {
			r.fail(v.ID, "Kubernetes' outcome %v is not what the deviation says, %v", want, only(want, a.theirs))
		}
	}
	for name := range expected {
		r.fields++
		key := v.Kind + "." + name + how
		r.covered[key] = cmp.Or(r.covered[key], v.ID)
	}
	if fields := differ(expected, a.ours); len(fields) > 0 {
		r.fail(v.ID, "%v: got %v, want %v%s", fields, only(want, a.ours), expected, how)
	}
}

// runVectorFile compares all cases of a file that are ours.
func runVectorFile(dir, name string) *tally {
	r := &tally{notes: map[string]int{}, covered: map[string]string{}}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		r.fail(name, "%v", err)
		return r
	}
	var file struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		r.fail(name, "%v", err)
		return r
	}
	for k, raw := range file.Cases {
		r.cases++
		// Cases of other runners use the same names for other things.
		var head struct{ ID, Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			r.fail(fmt.Sprintf("case %d", k), "%v", err)
			continue
		}
		head.ID = cmp.Or(head.ID, fmt.Sprintf("case %d", k))
		judge, known := kinds[name][head.Kind]
		switch {
		case !known:
			r.fail(head.ID, "unknown kind %q", head.Kind)
		case judge == nil:
			r.notes[otherKind]++
		default:
			var v vector
			if err := json.Unmarshal(raw, &v); err != nil {
				r.fail(head.ID, "%v", err)
				continue
			}
			v.ID = head.ID
			r.run(v, judge)
		}
	}
	if r.fields == 0 {
		r.fail(name, "nothing to compare in %d cases", r.cases)
	}
	return r
}

func vectorsDir() string { return cmp.Or(os.Getenv("VECTORS_DIR"), "testdata/vectors") }

func TestVectors(t *testing.T) {
	for _, name := range []string{parseFile, opsFile} {
		r := runVectorFile(vectorsDir(), name)
		for _, failure := range r.failures {
			t.Errorf("%s: %s", name, failure)
		}
		var out strings.Builder
		fmt.Fprintf(&out, "%s: %d cases, %d fields compared", name, r.cases, r.fields)
		for _, note := range slices.Sorted(maps.Keys(r.notes)) {
			fmt.Fprintf(&out, "\n%6d cases %s", r.notes[note], note)
		}
		t.Log(out.String())
	}
}

// TestVectorsSelfTest corrupts one want field of each kind, and whole files,
// and sees that the runner notices.
func TestVectorsSelfTest(t *testing.T) {
	corrupt := func(value any) any {
		switch value := value.(type) {
		case nil:
			return true
		case bool:
			return !value
		case float64:
			return value + 1
		case string:
			return value + "0"
		}
		return nil
	}
	for _, name := range []string{parseFile, opsFile} {
		clean := runVectorFile(vectorsDir(), name)
		for kind, fields := range wantFields {
			for _, field := range fields {
				if kinds[name][kind] != nil && clean.covered[kind+"."+field] == "" {
					t.Errorf("%s: no case compares %s.%s", name, kind, field)
				}
			}
		}
		data, err := os.ReadFile(filepath.Join(vectorsDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		// rerun runs the file after change and returns the failures.
		rerun := func(change func(file map[string]any)) string {
			var file map[string]any
			if err := json.Unmarshal(data, &file); err != nil {
				t.Fatal(err)
			}
			change(file)
			changed, err := json.Marshal(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), changed, 0o600); err != nil {
				t.Fatal(err)
			}
			return strings.Join(runVectorFile(dir, name).failures, "\n")
		}
		byID := func(file map[string]any, id string) map[string]any {
			for _, c := range file["cases"].([]any) {
				if c := c.(map[string]any); c["id"] == id {
					return c
				}
			}
			t.Fatalf("no case %s", id)
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(clean.covered)) {
			id := clean.covered[key]
			failures := rerun(func(file map[string]any) {
				c := byID(file, id)
				field := strings.Fields(key[strings.Index(key, ".")+1:])[0]
				if want, ok := c["want"].(map[string]any); !ok {
					c["want"] = corrupt(c["want"])
				} else if field == "error" && want[field] == true {
					want[field] = nil
				} else {
					want[field] = corrupt(want[field])
				}
			})
			if !strings.Contains(failures, id+": ") {
				t.Errorf("%s: corrupted %s of %s, and the runner said %q", name, key, id, failures)
			}
		}
		t.Logf("%s: corrupted %d kinds of fields", name, len(clean.covered))

		some := clean.covered[slices.Min(slices.Collect(maps.Keys(clean.covered)))]
		for what, change := range map[string]func(file map[string]any){
			"an unknown kind":       func(file map[string]any) { byID(file, some)["kind"] = "hsa" },
			"an unknown want field": func(file map[string]any) { byID(file, some)["want"] = map[string]any{"ttoal": 1} },
			"an empty want":         func(file map[string]any) { byID(file, some)["want"] = nil },
			"no cases":              func(file map[string]any) { file["cases"] = []any{} },
		} {
			if rerun(change) == "" {
				t.Errorf("%s: the runner did not notice %s", name, what)
			}
		}
		dir := t.TempDir()
		for what, content := range map[string]string{"an empty file": "", "half a file": string(data[:len(data)/2])} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if len(runVectorFile(dir, name).failures) == 0 {
				t.Errorf("%s: the runner did not notice %s", name, what)
			}
		}
		if len(runVectorFile(filepath.Join(dir, "missing"), name).failures) == 0 {
			t.Errorf("%s: the runner did not notice a missing file", name)
		}
	}
}
