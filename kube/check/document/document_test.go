package document

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// plain is a document as encoding/json has it.
func plain(n *Node) any {
	switch value := n.Value.(type) {
	case Object:
		object := make(map[string]any)
		for _, f := range value {
			object[f.Name] = plain(f.Value)
		}
		return object
	case []*Node:
		list := make([]any, len(value))
		for i, element := range value {
			list[i] = plain(element)
		}
		return list
	default:
		return value
	}
}

// bomb is a text of a few lines whose aliases stand for 10^levels values.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

func TestParseHoldsWhatKubectlReads(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, err string }{
		"plain":              {"a: 1\nb: [x, null]\n", `{"a":1,"b":["x",null]}`, ""},
		"byte order mark":    {"\ufeffa: 1\n", `{"a":1}`, ""},
		"UTF-16":             {"\xff\xfea\x00:\x00 \x001\x00\n\x00", `{"a":1}`, ""},
		"line ends of DOS":   {"a: 1\r\nb: 2\r\n", `{"a":1,"b":2}`, ""},
		"markers":            {"# comment\n---\na: 1\n---\n# nothing\n---\n", `{"a":1}`, ""},
		"marker with text":   {"--- # the document\na: 1\n", `{"a":1}`, ""},
		"end marker":         {"a: 1\n...\n", `{"a":1}`, ""},
		"JSON":               {`{"a": [1, {"b": "x"}], "b": 1e400}`, `{"a":[1,{"b":"x"}],"b":1e400}`, ""},
		"JSON with tabs":     {"{\n\t\"a\": 12345678901234567890\n}\n", `{"a":12345678901234567890}`, ""},
		"JSON escapes":       {`{"a\u0062": "\ud83d\ude00\/"}`, `{"ab":"😀/"}`, ""},
		"flow with comment":  {"{a: 1} # YAML", `{"a":1}`, ""},
		"dashes in a value":  {`a: "--- no marker"`, `{"a":"--- no marker"}`, ""},
		"dashes in a string": {"a: |\n  ---\n", `{"a":"---\n"}`, ""},
		"words of YAML 1.1":  {"[yes, off, 'no', N, !!str on, true]", `[true,false,"no",false,"on",true]`, ""},
		"numbers of YAML":    {"[0644, 0x10, 1_000, 1e3, +1.50, 0b11, 18446744073709551615]", `[420,16,1000,1000,1.5,3,18446744073709551615]`, ""},
		"times are texts":    {"2001-12-14", `"2001-12-14"`, ""},
		"bytes":              {"!!binary aGk=", `"hi"`, ""},
		"a tag of one's own": {"!mine 3", `"3"`, ""},
		"anchors":            {"a: &a {x: 1}\nb: *a\n", `{"a":{"x":1},"b":{"x":1}}`, ""},
		"merged":             {"a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {x: 4, z: 5}]}\n", `{"a":{"x":1,"y":2},"b":{"x":1,"y":3},"c":{"x":1,"y":2,"z":5}}`, ""},
		"numbers as names":   {"{1: a, no: b}", `{"1":"a","no":"b"}`, ""},
		"the last of a name": {"{a: 1, a: 2}", `{"a":2}`, ""},
		"two":                {"a: 1\n---\na: 2\n", "", "2 documents, must be one"},
		"two JSON values":    {"{} {}", "", "2 documents, must be one"},
		"text behind":        {"a: 1\n...\nmore", "", "not a YAML or JSON document: line 3: did not find expected <document start>"},
		"nothing":            {" \n\n", "", ErrEmpty.Error()},
		"null":               {"null", "", ErrEmpty.Error()},
		"a tab":              {"a: 1\nb:\n\tc: 2\n", "", "not a YAML or JSON document: line 3: found character that cannot start any token, such as a tab, @ or %"},
		"line numbers":       {"# a\n---\n# b\n---\na: 1\n b: 2\n", "", "not a YAML or JSON document: line 6: mapping values are not allowed in this context"},
		"unfinished JSON":    {`{"a": [`, "", "not a YAML or JSON document: line 1: did not find expected node content"},
		"unfinished text":    {"a: 1\nb: \"x\nc: 2\n", "", "not a YAML or JSON document: line 2: found unexpected end of stream"},
		"no colon":           {"a: 1\nb\nc: 2\n", "", "not a YAML or JSON document: line 2: could not find expected ':'"},
		"a character":        {"a: 1\nb: \x01\n", "", "not a YAML or JSON document: line 2: control characters are not allowed"},
		"a character after":  {"a: 1\n b: 2\nc: \x01\n", "", "not a YAML or JSON document: line 2: mapping values are not allowed in this context"},
		"a character before": {"\ufffd: 1\nb: \xff", "", "not a YAML or JSON document: line 2: not UTF-8"},
		"no number in JSON":  {"a:\n- .inf", "", "not a YAML or JSON document: line 2: .inf is not a number in JSON"},
		"no integer":         {"a: !!int x", "", "not a YAML or JSON document: line 1: x is not of the type !!int"},
		"a list as a name":   {"a: 1\n[b]: 2", "", "not a YAML or JSON document: line 2: the name of a field must be a text"},
		"bytes of no text":   {"a: !!binary 0000", "", "not a YAML or JSON document: line 1: text in JSON must be UTF-8"},
		"a text merged":      {"a: 1\n<<: b", "", "not a YAML or JSON document: line 2: only an object can be merged"},
		"not UTF-8":          {"a: 1\nb: \xff", "", "not a YAML or JSON document: line 2: not UTF-8"},
		"JSON not in UTF-8":  {"{\"a\":\n\"\xff\"}", "", "not a YAML or JSON document: line 2: not UTF-8"},
		"many aliases":       {bomb(9), "", "not a YAML or JSON document: line 2: aliases stand for more than 100000 values"},
		"an endless alias":   {"a: &a [*a]", "", "not a YAML or JSON document: line 1: objects and lists are nested too deeply"},
		"a deep list":        {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "", "not a YAML or JSON document: line 1: objects and lists are nested too deeply"},
		"a deeper list":      {strings.Repeat("[", 100_000), "", "not a YAML or JSON document: line 1: exceeded max depth of 10000"},
	} {
		found, err := Parse([]byte(tt.text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.err {
			t.Errorf("%s: error %q, want %q", name, got, tt.err)
		}
		if err != nil {
			continue
		}
		if text, _ := json.Marshal(plain(found)); string(text) != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large")
	write := func(size int64) {
		t.Helper()
		if err := os.WriteFile(file, []byte("#"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("#", largest)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err != ErrEmpty {
		t.Errorf("%d bytes: %v", largest, err)
	}
	for _, size := range []int64{largest + 1, 300 << 20} {
		write(size)
		if _, err := Read(file); err == nil || err.Error() != "larger than 3145728 bytes" {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if _, err := Read(file + "/missing"); err == nil || err.Error() != "not a directory" {
		t.Errorf("no such file: %v", err)
	}
}

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

// Every value that does not fit is reported with its path and line; what fits is
// stored.
func TestFitFindsEveryMistake(t *testing.T) {
	for _, tt := range []struct {
		text, fitted string
		said         []string
	}{
		{`{name: x, share: 1.5, count: 3, wait: 4s, at: "2006-01-02T15:04:05Z", live: true, parts: [{name: a}], names: {k: v}}`,
			`{"at":"2006-01-02T15:04:05Z","count":3,"live":true,"name":"x","names":{"k":"v"},"parts":[{"name":"a"}],"share":1.5,"wait":"4s"}`, nil},
		{"Name: n\nother: {a: 1}\nname: null\nparts:\n- shares: 1\n", `{"name":null,"parts":[{}]}`,
			[]string{"line 1: Name: unknown field: did you mean name?", "line 2: other: unknown field", "line 5: parts[0].shares: unknown field: did you mean share?"}},
		{"name: a\nnames: {k: v,\n  k: w}\nname: b\nname: c\n", `{"name":"c","names":{"k":"w"}}`,
			[]string{"line 3: names[k]: already given on line 2", "line 5: name: already given on line 1"}},
		{`{name: 1, share: x, count: 9999999999, wait: 4, at: noon, live: 1, parts: [3, null, {name: "a\0b"}], names: {a: {}}}`,
			`{"at":null,"count":null,"live":null,"name":null,"names":{"a":null},"parts":[null,null,{"name":null}],"share":null,"wait":null}`,
			[]string{
				"line 1: name: is 1, must be a string: put it in quotes",
				`line 1: share: is "x", must be a number`,
				"line 1: count: is 9999999999, must be an integer of 32 bits",
				"line 1: wait: is 4, must be a duration such as 4s",
				`line 1: at: is "noon", must be a time such as 2006-01-02T15:04:05Z`,
				"line 1: live: is 1, must be true or false",
				"line 1: parts[0]: is 3, must be an object",
				"line 1: parts[1]: must be a value, not null",
				"line 1: parts[2].name: must not have a NUL character",
				"line 1: names[a]: must be a string, not an object",
			}},
		{`{"": 1, parts: [{"": 2}]}`, `{"parts":[{}]}`, []string{`line 1: "": unknown field`, `line 1: parts[0]."": unknown field`}},
		{`[]`, `null`, []string{"line 1: must be an object, not a list"}},
	} {
		found, err := Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		text, mistakes, err := Decode(found, TypeFor[whole](), new(whole))
		if err != nil {
			t.Errorf("%s: %s does not fit: %v", tt.text, text, err)
		}
		var said []string
		for _, m := range mistakes {
			said = append(said, m.String())
		}
		if !slices.Equal(said, tt.said) || string(text) != tt.fitted {
			t.Errorf("%s:\nsaid   %q\nwant   %q\nfitted %s\nwant   %s", tt.text, said, tt.said, text, tt.fitted)
		}
	}
}

func TestTypesOfATable(t *testing.T) {
	types, err := ParseTypes([]byte(`{
		"A": {"b": "[]B", "size": "quantity", "port": "intstr", "raw": "any"},
		"B": {"a": "A", "labels": "map[string]string"}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	found, err := Parse([]byte("b: [{a: {b: [{labels: {x: 1}}]}, c: 1}]\nsize: 2Gi\nport: []\nraw: {x: [1]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, mistakes := Fit(found, types["A"])
	if got, want := mistakes.Error(), "line 1: b[0].a.b[0].labels[x]: is 1, must be a string: put it in quotes\nline 1: b[0].c: unknown field\nline 3: port: must be an integer or a string, not a list"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	types["A"].Remove("raw")
	types["A"].Remove("b.labels")
	if _, mistakes := Fit(found, types["A"]); len(mistakes) != 4 || !strings.Contains(mistakes.Error(), "b[0].a.b[0].labels: unknown field") {
		t.Errorf("without two fields: %v", mistakes)
	}
	if _, err := ParseTypes([]byte(`{"A": {"b": "B"}}`)); err == nil {
		t.Error("a type that is nowhere")
	}
}

func TestLineOfFindsTheInnermost(t *testing.T) {
	n, err := Parse([]byte("# comment\na:\n  b:\n  - c: 1\n    d: 2\n  e.f:\n    g: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"": 2, "a": 2, "a.b": 3, "a.b[0]": 4, "a.b[0].d": 5, "a.b[0].missing": 4, "a.b[7]": 3, "a.e.f.g": 7, "a[e.f].g": 7, "x": 2} {
		if got := n.LineOf(path); got != want {
			t.Errorf("%s: line %d, want %d", path, got, want)
		}
	}
}

func TestSetKeepsTheOtherFields(t *testing.T) {
	n, err := Parse([]byte("{a: 1, b: 2}"))
	if err != nil {
		t.Fatal(err)
	}
	n.Set("a", &Node{Value: "x"})
	n.Set("b", nil)
	n.Set("c", &Node{Value: "y"})
	n.Set("d", nil)
	if text, _ := json.Marshal(plain(n)); string(text) != `{"a":"x","c":"y"}` {
		t.Errorf("%s", text)
	}
	if n.Field("a").Text() != "x" || n.Field("b") != nil || n.Field("b").Text() != "" || n.Field("a").Field("z") != nil {
		t.Error("Field and Text")
	}
}

func TestPathsCoverWhatIsInThem(t *testing.T) {
	for path, want := range map[string]bool{"a.b": true, "a.b.c": true, "a.b[0].d": true, "a": false, "a.bc": false, "x": false, "": false} {
		if got := Within(path, "a.b"); got != want {
			t.Errorf("%s within a.b: %v", path, got)
		}
		if got := (Paths{"y": true, "a.b": true}).Cover(path); got != want {
			t.Errorf("a.b and y cover %s: %v", path, got)
		}
		if !Within(path, "") || !(Paths{"": true}).Cover(path) {
			t.Errorf("the document does not have %s", path)
		}
	}
}

// FuzzParse: any text is a number of documents or an error, and is read again as
// the same once it is written as JSON.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a: &a [1, yes]\nb: {<<: {c: *a}}\n--- 3", `{"a": [1e3, "x"]}`, bomb(3), "? [a]\n: b", "!!binary x", "a: |\n  x\n...\n", "&a [*a]", "%YAML 1.2\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		documents, err := ParseAll(text)
		if err != nil {
			if len(documents) > 0 {
				t.Error("documents beside an error")
			}
			return
		}
		for _, one := range documents {
			_, _ = Fit(one, TypeFor[whole]())
			written, err := json.Marshal(plain(one))
			if err != nil {
				t.Fatal(err)
			}
			again, ok := parseJSON(written)
			if !ok {
				t.Fatalf("%s is not JSON", written)
			}
			if rewritten, _ := json.Marshal(plain(again[0])); string(rewritten) != string(written) {
				t.Errorf("%s became %s", written, rewritten)
			}
		}
	})
}

// A text that merely ends before the mistake has the same error; that line is not named.
func TestMistakeInNestedFlowHasItsOwnLine(t *testing.T) {
	text := `{
"kind":"Job",
"spec":{
"template":{
"spec":{
"containers":[]
},
"x":1
},
"completions": "3"
"parallelism": 4
}
}
`
	_, err := ParseAll([]byte("# YAML\n" + text))
	if err == nil || !strings.Contains(err.Error(), "line 12: ") {
		t.Errorf("YAML: %v", err)
	}
	if _, err := ParseAll([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 11: ") && !strings.Contains(err.Error(), "line 10: ") {
		t.Errorf("JSON: %v", err)
	}
}
