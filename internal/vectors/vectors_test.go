package vectors

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// What is wrong with a file is an error of reading, never a case less.
func TestEveryCaseIsReadOrAnError(t *testing.T) {
	f := File{Name: "f", Kinds: map[string]Kind{"k": {}}}
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
		_, err := f.read(fstest.MapFS{"f.json": {Data: []byte(text)}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one about %q", text, err, want)
		}
	}
	if _, err := f.read(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// What can go wrong with a case is a failure of that case.
func TestWhateverGoesWrongFailsTheCase(t *testing.T) {
	is := func(v any) func(*Case) (any, error) {
		return func(*Case) (any, error) { return v, nil }
	}
	for _, tt := range []struct {
		name string
		kind Kind
		want string // JSON
		fail string // part of the only failure, "" for none
	}{
		{"same", Kind{Run: is(map[string]any{"a": []int{1}, "more": 2})}, `{"a":[1]}`, ""},
		{"other", Kind{Run: is(map[string]any{"a": []int{2}})}, `{"a":[1]}`, "want.a[0]: got 2, want 1"},
		{"not ours", Kind{Run: is(map[string]any{"b": 1})}, `{"a":1}`, "missing, want 1"},
		{"shorter", Kind{Run: is([]int{1})}, `[1,2]`, "got [1], want [1,2]"},
		{"null", Kind{Run: is(0)}, `null`, "got 0, want null"},
		{"no object", Kind{Run: is(1)}, `{"a":1}`, "want {"},
		{"nothing compared", Kind{Run: is(map[string]any{})}, `{}`, "nothing was compared"},
		{"error", Kind{Run: func(*Case) (any, error) { return nil, errors.New("oops") }}, `1`, "oops"},
		{"panic", Kind{Run: func(*Case) (any, error) { panic("oops") }}, `1`, "panic: oops"},
		{"excluded", Kind{Run: func(c *Case) (any, error) { c.Exclude("property"); return 2, nil }}, `1`, ""},
		{"deviation", Kind{Run: func(c *Case) (any, error) { c.Deviate("property", 2); return 2, nil }}, `1`, ""},
		{"deviation from a model", Kind{Run: func(c *Case) (any, error) { c.Model(1); c.Deviate("property", 2); return 2, nil }}, `1`, ""},
		{"a model that Kubernetes is not", Kind{Run: func(c *Case) (any, error) { c.Model(3); c.Deviate("property", 2); return 2, nil }}, `1`, "model of it says: want: got 3, want 1"},
		{"other deviation", Kind{Run: func(c *Case) (any, error) { c.Deviate("property", 2); return 3, nil }}, `1`, "got 3, want 2"},
		{"no deviation", Kind{Run: func(c *Case) (any, error) { c.Deviate("property", 1); return 1, nil }}, `1`, "no deviation: property"},
		{"normal", Kind{Run: is(true), Normal: func(_ *Case, want any) (any, error) { return want != nil, nil }}, `"text"`, ""},
		{"not normal", Kind{Run: is(true), Normal: func(*Case, any) (any, error) { return nil, errors.New("oops") }}, `1`, "oops"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := File{Name: "f", Kinds: map[string]Kind{"": tt.kind}}
			c, err := f.readCase(json.RawMessage(`{"id":"x","want":` + tt.want + `}`))
			if err != nil {
				t.Fatal(err)
			}
			failures := f.check([]*Case{c}).failures["x"]
			if tt.fail == "" && len(failures) > 0 || tt.fail != "" && (len(failures) != 1 || !strings.Contains(failures[0], tt.fail)) {
				t.Errorf("failures %q, want %q", failures, tt.fail)
			}
		})
	}
}
