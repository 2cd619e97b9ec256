package document

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
}
