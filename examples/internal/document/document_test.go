package document

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What counts as one document, and what it holds.
func TestParse(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, err string }{
		"plain":              {"a: 1\nb: [x, null]\n", `{"a":1,"b":["x",null]}`, ""},
		"byte order mark":    {"\ufeffa: 1\n", `{"a":1}`, ""},
		"line ends of DOS":   {"a: 1\r\nb: 2\r\n", `{"a":1,"b":2}`, ""},
		"markers":            {"# comment\n---\na: 1\n---\n# nothing\n---\n", `{"a":1}`, ""},
		"marker with text":   {"--- # the document\na: 1\n", `{"a":1}`, ""},
		"end marker":         {"a: 1\n...\n", `{"a":1}`, ""},
		"JSON":               {`{"a": [1, {"b": "x"}], "b": 1e400}`, `{"a":[1,{"b":"x"}],"b":1e400}`, ""},
		"JSON with tabs":     {"{\n\t\"a\": 12345678901234567890\n}\n", `{"a":12345678901234567890}`, ""},
		"flow with comment":  {"{a: 1} # YAML", `{"a":1}`, ""},
		"dashes in a value":  {`a: "--- no marker"`, `{"a":"--- no marker"}`, ""},
		"dashes in a string": {"a: |\n  ---\n", `{"a":"---\n"}`, ""},
		"null":               {"null", "null", ""},
		"two":                {"a: 1\n---\na: 2\n", "", "2 documents, must be one"},
		"two JSON values":    {"{} {}", "", "2 documents, must be one"},
		"text behind":        {"a: 1\n...\nmore", "", "2 documents, must be one"},
		"nothing":            {" \n\n", "", ErrEmpty.Error()},
		"line numbers":       {"# a\n---\n# b\n---\na: 1\n b: 2\n", "", "not a YAML or JSON document: line 6: mapping values are not allowed in this context"},
		"keys twice":         {"a: {b: 1,\n b: 2}\nc: 1\nc: 2\n", "", `not a YAML or JSON document: line 2: key "b" already set in map, line 4: key "c" already set in map`},
		"JSON key twice":     {"[{\"a\": {}, \"b\": 1,\n\"b\": 2}]", "", `not a YAML or JSON document: line 2: key "b" already set in map`},
		"unfinished JSON":    {`{"a": [`, "", "not a YAML or JSON document: line 1: did not find expected node content"},
		"many aliases":       {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n", "", "not a YAML or JSON document: document contains excessive aliasing"},
	} {
		found, err := Parse([]byte(tt.text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.err {
			t.Errorf("%s: error %q, want %q", name, got, tt.err)
		}
		if text, _ := json.Marshal(found); err == nil && string(text) != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
}

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(file, []byte(strings.Repeat("#", largest)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err != ErrEmpty {
		t.Errorf("%d bytes: %v", largest, err)
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("#", largest+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || err.Error() != "larger than 3145728 bytes" {
		t.Errorf("one byte more: %v", err)
	}
	if _, err := Read(file + "/missing"); err == nil || err.Error() != "not a directory" {
		t.Errorf("no such file: %v", err)
	}
}

// Every value of a wrong type is told with its path; what fits is stored.
func TestFit(t *testing.T) {
	type part struct {
		Name  string   `json:"name"`
		Share *float64 `json:"share"`
	}
	type whole struct {
		part
		Count *int32            `json:"count"`
		Wait  Duration          `json:"wait"`
		At    time.Time         `json:"at"`
		Live  bool              `json:"live"`
		Parts []part            `json:"parts"`
		Names map[string]string `json:"names"`
	}
	for _, tt := range []struct{ text, stored, said string }{
		{`{name: x, share: 1.5, count: 3, wait: 4s, at: "2006-01-02T15:04:05Z", live: true, parts: [{name: a}], names: {k: v}}`,
			`{"name":"x","share":1.5,"count":3,"wait":4000000000,"at":"2006-01-02T15:04:05Z","live":true,"parts":[{"name":"a","share":null}],"names":{"k":"v"}}`, ""},
		{`{Name: n, other: {a: 1}, name: null, parts: [{x: 1}]}`,
			`{"name":"","share":null,"count":null,"wait":0,"at":"0001-01-01T00:00:00Z","live":false,"parts":[{"name":"","share":null}],"names":null}`,
			`[] [Name other parts[0].x]`},
		{`{name: 1, share: x, count: 9999999999, wait: 4, at: noon, live: 1, parts: [3, null, {name: "a\0b"}], names: {a: {}}}`,
			`{"name":"","share":null,"count":null,"wait":0,"at":"0001-01-01T00:00:00Z","live":false,"parts":[{"name":"","share":null},{"name":"","share":null},{"name":"","share":null}],"names":{"a":""}}`,
			`[at: is "noon", must be a time such as 2006-01-02T15:04:05Z count: is 9999999999, must be an integer of 32 bits live: is 1, must be true or false name: is 1, must be a string: put it in quotes ` +
				`names[a]: must be a string, not an object parts[0]: is 3, must be an object parts[1]: must be a value, not null ` +
				`parts[2].name: must not have a NUL character share: is "x", must be a number wait: is 4, must be a duration such as 4s] []`},
		{`[]`, `{"name":"","share":null,"count":null,"wait":0,"at":"0001-01-01T00:00:00Z","live":false,"parts":null,"names":null}`, `[must be an object, not a list] []`},
	} {
		found, err := Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		var into whole
		mistakes, unknown, err := Fit(found, &into)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		said := ""
		if len(mistakes)+len(unknown) > 0 {
			said = fmt.Sprint(mistakes, unknown)
		}
		stored, _ := json.Marshal(into)
		if said != tt.said || string(stored) != tt.stored {
			t.Errorf("%s:\nsaid   %s\nwant   %s\nstored %s\nwant   %s", tt.text, said, tt.said, stored, tt.stored)
		}
	}
}

func TestCovers(t *testing.T) {
	for path, want := range map[string]bool{"a.b": true, "a.b.c": true, "a.b[0].d": true, "a": false, "a.bc": false, "x": false} {
		if got := (Mistake{Path: "a.b"}).Covers(path); got != want {
			t.Errorf("a.b covers %s: %v", path, got)
		}
	}
	if !(Mistake{}).Covers("a") {
		t.Error("the whole does not cover a part")
	}
}
