package jobpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A runner that compares too little is green too. So every kind of field that a
// file's cases want is corrupted once, and the runner must notice.
func TestVectorsTurnRed(t *testing.T) {
	for _, f := range vectorFiles() {
		t.Run(f.name, func(t *testing.T) {
			cases, err := f.read(vectorsDir())
			if err != nil {
				t.Fatal(err)
			}
			noticed := map[string]bool{} // by kind of field
			for _, c := range cases {
				f.corruptEach(c, noticed)
			}
			if len(noticed) == 0 {
				t.Error("no field was corrupted")
			}
			for _, field := range slices.Sorted(maps.Keys(noticed)) {
				if !noticed[field] {
					t.Errorf("a wrong %s goes unnoticed", field)
				}
			}
			t.Logf("%d kinds of fields corrupted", len(noticed))
		})
	}
}

// corruptEach corrupts those fields of the case whose kind no earlier case has
// shown to be compared.
func (f vectorFile) corruptEach(c *vectorCase, noticed map[string]bool) {
	if _, _, err := f.outcomes(c); err != nil || c.exclusion != "" || c.deviation != "" {
		return // its wanted outcome is not what is compared
	}
	index := regexp.MustCompile(`\[\d+\]`)
	for path, corrupted := range corruptions("want", c.want) {
		field := strings.TrimSpace(c.Kind + " " + index.ReplaceAllString(path, "[]"))
		if noticed[field] {
			continue
		}
		bad := *c
		bad.want = corrupted
		r := f.check([]*vectorCase{&bad})
		noticed[field] = len(r.failures[c.ID]) > 0
	}
}

// corruptions yields copies of a wanted outcome, each with one field changed,
// under the field's path. A field is changed in more than one way if one of them
// may mean the same, as another text of an error does.
func corruptions(path string, want any) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		switch v := want.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				for p, corrupted := range corruptions(path+"."+name, v[name]) {
					w := maps.Clone(v)
					w[name] = corrupted
					if !yield(p, w) {
						return
					}
				}
			}
			return
		case []any:
			for i := range v {
				for p, corrupted := range corruptions(fmt.Sprintf("%s[%d]", path, i), v[i]) {
					w := slices.Clone(v)
					w[i] = corrupted
					if !yield(p, w) {
						return
					}
				}
			}
			yield(path+" (length)", append(slices.Clone(v), v...)[:len(v)+min(len(v), 1)])
			if len(v) == 0 {
				yield(path+" (length)", []any{map[string]any{}})
			}
			return
		case string:
			_ = yield(path, v+"x") && yield(path, nil)
		case json.Number:
			n, _ := v.Int64()
			_ = yield(path, json.Number(fmt.Sprint(n+1))) && yield(path, json.Number(fmt.Sprint(n-1)))
		case bool:
			yield(path, !v)
		case nil:
			_ = yield(path, "x") && yield(path, json.Number("12345"))
		}
	}
}

// What is wrong with a file is an error of reading, never a case less.
func TestVectorsMustBeReadable(t *testing.T) {
	f := vectorFile{name: "f", kinds: map[string]vectorKind{"k": {}}}
	for text, want := range map[string]string{
		``:              "unexpected end",
		`{"cases":[}`:   "invalid character",
		`{}`:            "no cases",
		`{"cases":[]}`:  "no cases",
		`{"cases":[1]}`: "no id",
		`{"count":2,"cases":[{"id":"a","kind":"k","want":1}]}`:                                  "1 cases, but it says it has 2",
		`{"cases":[{"id":"a","kind":"other","want":1}]}`:                                        `unknown kind "other"`,
		`{"cases":[{"id":"a","want":1}]}`:                                                       `unknown kind ""`,
		`{"cases":[{"id":"a","kind":"k"}]}`:                                                     "nothing wanted",
		`{"cases":[{"id":"a","kind":"k","want":1},{"id":"a","kind":"k","want":1}]}`:             "twice",
		`{"count":2,"cases":[{"id":"a","kind":"k","want":1},{"id":"b","kind":"k","want_x":1}]}`: "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := f.read(dir)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one about %q", text, err, want)
		}
	}
	if _, err := f.read(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// What can go wrong with a case is a failure of that case.
func TestVectorsNoticeTheCase(t *testing.T) {
	is := func(v any) func(*vectorCase) (any, error) {
		return func(*vectorCase) (any, error) { return v, nil }
	}
	for _, tt := range []struct {
		name string
		kind vectorKind
		want string // JSON
		fail string // part of the only failure, "" for none
	}{
		{"same", vectorKind{run: is(map[string]any{"a": []int{1}, "more": 2})}, `{"a":[1]}`, ""},
		{"other", vectorKind{run: is(map[string]any{"a": []int{2}})}, `{"a":[1]}`, "want.a[0]: got 2, want 1"},
		{"not ours", vectorKind{run: is(map[string]any{"b": 1})}, `{"a":1}`, "not among ours"},
		{"shorter", vectorKind{run: is([]int{1})}, `[1,2]`, "got [1], want [1,2]"},
		{"null", vectorKind{run: is(0)}, `null`, "got 0, want null"},
		{"no object", vectorKind{run: is(1)}, `{"a":1}`, "want {"},
		{"nothing compared", vectorKind{run: is(map[string]any{})}, `{}`, "nothing was compared"},
		{"error", vectorKind{run: func(*vectorCase) (any, error) { return nil, errors.New("oops") }}, `1`, "oops"},
		{"panic", vectorKind{run: func(*vectorCase) (any, error) { panic("oops") }}, `1`, "panic: oops"},
		{"excluded", vectorKind{run: func(c *vectorCase) (any, error) { c.exclude("property"); return 2, nil }}, `1`, ""},
		{"deviation", vectorKind{run: func(c *vectorCase) (any, error) { c.deviate("property", 2); return 2, nil }}, `1`, ""},
		{"other deviation", vectorKind{run: func(c *vectorCase) (any, error) { c.deviate("property", 2); return 3, nil }}, `1`, "got 3, want 2"},
		{"no deviation", vectorKind{run: func(c *vectorCase) (any, error) { c.deviate("property", 1); return 1, nil }}, `1`, "no deviation: property"},
		{"normal", vectorKind{run: is(true), normal: func(_ *vectorCase, want any) (any, error) { return want != nil, nil }}, `"text"`, ""},
		{"not normal", vectorKind{run: is(true), normal: func(*vectorCase, any) (any, error) { return nil, errors.New("oops") }}, `1`, "oops"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := vectorFile{name: "f", kinds: map[string]vectorKind{"": tt.kind}}
			c, err := f.readCase(json.RawMessage(`{"id":"x","want":` + tt.want + `}`))
			if err != nil {
				t.Fatal(err)
			}
			failures := f.check([]*vectorCase{c}).failures["x"]
			if tt.fail == "" && len(failures) > 0 || tt.fail != "" && (len(failures) != 1 || !strings.Contains(failures[0], tt.fail)) {
				t.Errorf("failures %q, want %q", failures, tt.fail)
			}
		})
	}
}

// The properties by which cases deviate or are excluded, also those that no case
// at hand has: what Kubernetes does there is given, and the case must pass for
// the reason given.
func TestVectorsKnowTheDifferences(t *testing.T) {
	for _, tt := range []struct{ file, kase, reason string }{
		{"remaining", `{"id":"x","kind":"global","failures":2,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":25000}`, futureFailure},
		{"remaining", `{"id":"x","kind":"global","failures":0,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":0}`, ""},
		{"remaining", `{"id":"x","kind":"global","failures":2000000000,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":0,"max_ms":600000,"want_ms":5000}`, futureFailure},
		{"remaining", `{"id":"x","kind":"global","failures":-1,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":15000}`, futureFailure},
		{"remaining", `{"id":"x","kind":"per_index","pod":{"deleted_at":"2009-11-10T23:00:05Z","deleting":true,"index_failures":"1","index_ignored_failures":"1"},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":45000}`, futureFailure},
		{"remaining", `{"id":"x","kind":"per_index","pod":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true},"now":"2009-11-10T23:00:00Z","base_ms":0,"max_ms":600000,"want_ms":0}`, noSuchEngine},
		{"remaining", `{"id":"x","kind":"ready_indexes","indexes":[1,3],"last_failed":{"1":{"deleted_at":"2009-11-10T23:00:05Z","deleting":true},"3":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true,"index_failures":"1"}},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want":{"ready":[],"wait_ms":15000}}`, futureFailure},
		{"remaining", `{"id":"x","kind":"ready_indexes","indexes":[1,3],"last_failed":{"1":{"deleted_at":"2009-11-10T23:00:05Z","deleting":true},"3":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true}},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want":{"ready":[],"wait_ms":10000}}`, ""},
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":true,"policy":{"rules":[{"action":"Ignore","conditions":[{"type":"A","status":""}]}]},"pod":{"name":"p","conditions":[{"type":"A","status":"True"}]},"want":{"matched":false}}`,
			"a condition pattern without status, which the API server would have set to True"},
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":true,"policy":{"rules":[{"action":"Ignore","conditions":[{"type":"A","status":""}]}]},"pod":{"name":"p","conditions":[{"type":"A","status":"False"}]},"want":{"matched":false}}`, ""},
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":false,"policy":{"rules":[{"action":"FailIndex","exit_codes":{"op":"In","values":[1]}}]},"pod":{"containers":[{"state":"terminated","exit_code":1}]},"want":{"matched":false}}`,
			"FailIndex rules with the feature switched off: there is no such switch"},
		// "3,1" names 1 and 3; walked as written, the 3 is passed before the 1 is looked for.
		{"successpolicy", `{"id":"x","kind":"policy","enabled":true,"policy":{"rules":[{"indexes":"3,1"}]},"completions":5,"succeeded":[[1,1],[3,3]],"want":{"met":false,"message":""}}`, refusedIndexes},
		{"successpolicy", `{"id":"x","kind":"policy","enabled":true,"policy":{"rules":[{"indexes":"9,1"}]},"completions":5,"succeeded":[[1,1]],"want":{"met":false,"message":""}}`, refusedIndexes},
		{"successpolicy", `{"id":"x","kind":"policy","enabled":true,"policy":{"rules":[{"indexes":"3,1"}]},"completions":5,"succeeded":[[1,1]],"want":{"met":false,"message":""}}`, ""},
		{"successpolicy", `{"id":"x","kind":"rule","rule_indexes":"3,1","succeeded":[[1,1],[3,3]],"count":null,"want":false}`, refusedIndexes},
		{"successpolicy", `{"id":"x","kind":"rule","rule_indexes":"","succeeded":[[1,1]],"count":null,"want":true}`, "a rule whose indexes name none, which a policy never asks"},
		{"successpolicy", `{"id":"x","kind":"rule","rule_indexes":"1","succeeded":[[3,3],[1,1]],"count":null,"want":false}`, notASet},
		{"validation", `{"id":"x","kind":"create","spec":{"mode":"","restart_policy":"Never"},"want":[{"type":"FieldValueNotSupported","field":"spec.completionMode"}]}`, emptyTextIsAbsent},
		{"validation", `{"id":"x","kind":"update","old":{"mode":"","restart_policy":"Never"},"new":{"restart_policy":"Never"},"want":[{"type":"FieldValueInvalid","field":"spec.completionMode"}]}`, emptyTextIsAbsent},
		// An index that ends twice in a pass is one index, and index 0 has not ended.
		{"indexset_ops", `{"id":"x","kind":"succeeded","completions":5,"pods":[{"uid":"a","phase":"Succeeded","index":"2","tracked":true},{"uid":"b","phase":"Succeeded","index":"2","tracked":true}],"want":{"previous":"","now":"2"}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"failed","completions":5,"limit":0,"previous":"","pods":[{"uid":"a","phase":"Failed","index":"2","tracked":true},{"uid":"b","phase":"Failed","index":"2","tracked":true}],"want":"2"}`, ""},
		// No pod: nothing has failed, matches or makes anything wait.
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":true,"policy":{"rules":[{"action":"Ignore","conditions":[{"type":"A","status":""}]}]},"pod":null,"want":{"matched":false,"message":null}}`, ""},
		{"finishtime", `{"id":"x","pod":null,"want":"0001-01-01T00:00:00Z"}`, ""},
		{"remaining", `{"id":"x","kind":"per_index","pod":null,"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":0}`, ""},
		{"remaining", `{"id":"x","kind":"ready_indexes","indexes":[1,3],"last_failed":{"1":null,"3":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true}},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want":{"ready":[1],"wait_ms":0}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"index_failed","limit":0,"pod":null,"want":{"pod_failed":false,"index_failed":false}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"succeeded","completions":5,"pods":[null,{"uid":"a","phase":"Succeeded","index":"2","tracked":true}],"want":{"previous":"","now":"2"}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"failed","completions":5,"limit":0,"pods":[null,{"uid":"a","phase":"Failed","index":"2","tracked":true}],"want":"2"}`, ""},
		{"indexset_ops", `{"id":"x","kind":"kept_pods","completions":5,"limit":1,"pods":[null,{"uid":"a","phase":"Failed","index":"2","tracked":true}],"want":["a"]}`, ""},
		{"indexset_ops", `{"id":"x","kind":"duplicates","completions":5,"pods":[null,{"uid":"a","phase":"Running","index":"2","tracked":true}],"want":{"keep":["a"],"remove":[]}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"finished_counts","pods":[null,{"uid":"a","phase":"Failed","tracked":true}],"want":{"succeeded":0,"failed":1}}`, ""},
		{"jobsync", `{"id":"x","input":{"name":"j","spec":{"parallelism":1,"completions":1,"backoff_limit_per_index":1,"mode":"Indexed"},"pods":[null,{"uid":"a","phase":"Running","index":"0","tracked":true}]},"want":{"creates":0,"status":{"active":1}}}`, ""},
	} {
		i := slices.IndexFunc(vectorFiles(), func(f vectorFile) bool { return f.name == tt.file })
		f := vectorFiles()[i]
		c, err := f.readCase(json.RawMessage(tt.kase))
		if err != nil {
			t.Fatal(err)
		}
		r := f.check([]*vectorCase{c})
		if len(r.failures) > 0 || c.deviation+c.exclusion != tt.reason {
			t.Errorf("%s\npasses for the reason %q, want %q; failures %v", tt.kase, c.deviation+c.exclusion, tt.reason, r.failures)
		}
	}
}
