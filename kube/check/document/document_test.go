package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// only returns the value of the only document of a text, or the error that is in it.
func only(text string) (*Node, error) {
	documents, err := Parse([]byte(text))
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		return nil, errors.New("no document")
	case documents[0].Err != nil:
		return nil, documents[0].Err
	case len(documents) > 1:
		return nil, fmt.Errorf("%d documents", len(documents))
	}
	return documents[0].Root, nil
}

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
		"merged":             {"a: &a {x: 1, u: 2}\nb: {<<: *a, u: 3}\nc: {<<: [*a, {x: 4, z: 5}]}\n", `{"a":{"u":2,"x":1},"b":{"u":3,"x":1},"c":{"u":2,"x":1,"z":5}}`, ""},
		"numbers as names":   {"{1: a, no: b, 'no': c, 1.50: d}", `{"1":"a","1.5":"d","false":"b","no":"c"}`, ""},
		"the last of a name": {"{a: 1, a: 2}", `{"a":2}`, ""},
		"merged in between":  {"a: &a {x: 1}\nb: {x: 2, <<: *a, x: 3}\nc: {x: 2, <<: *a}\n", `{"a":{"x":1},"b":{"x":3},"c":{"x":1}}`, ""},
		"null as a name":     {"{~: a}", "", "line 1: the name of a field must be a text, not null"},
		"two":                {"a: 1\n---\na: 2\n", "", "2 documents"},
		"two JSON values":    {"{} {}", "", "2 documents"},
		"text behind":        {"a: 1\n...\nmore", "", "line 3: did not find expected <document start>"},
		"nothing":            {" \n\n", "", "no document"},
		"null":               {"null", "", "no document"},
		"a tab":              {"a: 1\nb:\n\tc: 2\n", "", "line 3: a tab cannot indent a line of YAML: use spaces"},
		"line numbers":       {"# a\n---\n# b\n---\na: 1\n b: 2\n", "", "line 6: mapping values are not allowed in this context"},
		"unfinished JSON":    {`{"a": [`, "", "line 1: did not find expected node content, and the text ends"},
		"unfinished text":    {"a: 1\nb: \"x\nc: 2\n", "", "line 2: found unexpected end of stream"},
		"no colon":           {"a: 1\nb\nc: 2\n", "", "line 2: could not find expected ':'"},
		"a character":        {"a: 1\nb: \x01\n", "", "line 2: control characters are not allowed"},
		"a character after":  {"a: 1\n b: 2\nc: \x01\n", "", "line 2: mapping values are not allowed in this context"},
		"a character before": {"\ufffd: 1\nb: \xff", "", "line 2: not UTF-8"},
		"no number in JSON":  {"a:\n- .inf", "", "line 2: .inf is not a number in JSON"},
		"no integer":         {"a: !!int x", "", "line 1: x is not of the type !!int"},
		"a list as a name":   {"a: 1\n[b]: 2", "", "line 2: the name of a field must be a text"},
		"bytes of no text":   {"a: !!binary 0000", "", "line 1: text in JSON must be UTF-8"},
		"a text merged":      {"a: 1\n<<: b", "", "line 2: only an object can be merged"},
		"a list merged":      {"a: &a [{b: 1}]\nc:\n  <<: *a", "", "line 3: only an object can be merged"},
		"not UTF-8":          {"a: 1\nb: \xff", "", "line 2: not UTF-8"},
		"JSON not in UTF-8":  {"{\"a\":\n\"\xff\"}", "", "line 2: not UTF-8"},
		"many aliases":       {bomb(9), "", "line 2: aliases stand for more than 100000 values"},
		"an endless alias":   {"a: &a [*a]", "", "line 1: objects and lists are nested too deeply"},
		"a deep list":        {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "", "line 1: objects and lists are nested too deeply"},
		"a deeper list":      {strings.Repeat("[", 100_000), "", "line 1: exceeded max depth of 10000"},
	} {
		found, err := only(tt.text)
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
		text, _ := json.Marshal(plain(found))
		if string(text) != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
		if strings.HasPrefix(tt.text, "{\"") || strings.Contains(tt.text, "---\n") {
			continue // JSON, or several documents
		}
		if theirs, err := yaml.YAMLToJSON([]byte(tt.text)); err != nil || string(theirs) != tt.want {
			t.Errorf("%s: kubectl reads %s, %v", name, theirs, err)
		}
	}
}

// kubectl reads each plain text as this package does.
func TestScalarsAreThoseOfKubectl(t *testing.T) {
	for _, text := range []string{
		"y", "Y", "yes", "YES", "yEs", "on", "ON", "true", "True", "TRUE", "tRue", "n", "N", "no", "off", "Off", "false",
		"~", "null", "Null", "NULL", "nUll", "", "1", "-1", "+1", "0", "00", "007", "08", "0o17", "0x1F", "0b101", "-0b11", "0B1", "1_000", "_1",
		"1e3", "1E3", "1e+3", "1.", ".5", "-.5", "+.5", "1.5e-3", "1e", "1.2.3", "12e03", "1:30", "190:20:30", "9223372036854775807", "9223372036854775808",
		"18446744073709551615", "18446744073709551616", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "0x", "0.1", "-", "+", ".", "..", "...x", "<<", "=",
		"!!str 1", "!!str yes", "!!int 1", "!!float 1", "!!bool yes", "!!bool true", "!!null ''", "'1'", "\"yes\"", "a b", "a#b", "é",
	} {
		theirs, err := yaml.YAMLToJSON([]byte("a: " + text + "\n"))
		ours, failure := only("a: " + text + "\n")
		if err != nil || failure != nil {
			if (err != nil) != (failure != nil) {
				t.Errorf("%q: %v, kubectl: %v", text, failure, err)
			}
			continue
		}
		if got, _ := json.Marshal(plain(ours)); string(got) != string(theirs) {
			t.Errorf("%q: %s, kubectl: %s", text, got, theirs)
		}
	}
}

// A document that cannot be read leaves the others alone.
func TestParseGoesOnAfterAMistake(t *testing.T) {
	documents, err := Parse([]byte("a: 1\n---\n# one\nb: [\n---\nc: 3\n--- d\n---\n{\"e\": 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range documents {
		text := fmt.Sprint(d.Line, " ")
		if d.Err != nil {
			text += d.Err.Error()
		} else {
			written, _ := json.Marshal(plain(d.Root))
			text += string(written) + fmt.Sprint(" ", d.Root.Line)
		}
		got = append(got, text)
	}
	want := []string{`1 {"a":1} 1`, "3 line 4: did not find expected node content, and the text ends", `6 {"c":3} 6`, `7 line 7: only a comment may follow the dashes, not "d"`, `9 {"e":1} 9`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestParseRefusesWhatIsNoText(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"\x7fELF\x00\x01\x02\xff", "not a text file"},
		{"a: 1\nb: \x00\n", "not a text file"},
		{"\xfe\xff\x00a\x00\x00", "not a text file"},
		{strings.Repeat("[", MaxValues+1), "more than 2000000 values"},
	} {
		if _, err := Parse([]byte(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("%.20q: %v, want %s", tt.text, err, tt.want)
		}
	}
	if documents, err := Parse([]byte("a: " + strings.Repeat("-:-", MaxValues/3+1))); err != nil || len(documents) != 1 {
		t.Errorf("a long text: %v", err)
	}
}

// The types of Kubernetes read their own JSON.
func TestDecodeIntoTypesOfKubernetes(t *testing.T) {
	n, err := only(`
metadata: {creationTimestamp: null, deletionTimestamp: yesterday, managedFields: [{fieldsV1: {"f:spec": {}}, time: 2024-01-02T03:04:05Z}]}
spec:
  terminationGracePeriodSeconds: 30.0
  activeDeadlineSeconds: 1.5
  containers:
  - name: a
    resources: {limits: {cpu: 0.5, memory: lots, other: [1]}}
    livenessProbe: {httpGet: {port: http, scheme: 1}, tcpSocket: {port: 1.5}}
  - {name: b, lifecycle: {preStop: {sleep: {seconds: "1"}}}, args: [a, null, 3]}
`)
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	want := []string{
		`line 2: metadata.deletionTimestamp: is "yesterday", must be a time such as 2006-01-02T15:04:05Z`,
		`line 5: spec.activeDeadlineSeconds: is 1.5, must be an integer`,
		`line 8: spec.containers[0].resources.limits[memory]: is "lots", must be a quantity such as 500m or 2Gi`,
		`line 8: spec.containers[0].resources.limits[other]: must be a quantity such as 500m or 2Gi, not a list`,
		`line 9: spec.containers[0].livenessProbe.httpGet.scheme: is 1, must be a string: put it in quotes`,
		`line 9: spec.containers[0].livenessProbe.tcpSocket.port: is 1.5, must be an integer or a string`,
		`line 10: spec.containers[1].lifecycle.preStop.sleep.seconds: is "1", must be an integer`,
		`line 10: spec.containers[1].args[2]: is 3, must be a string: put it in quotes`,
	}
	if got := Decode(n, &pod).Error(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if *pod.Spec.TerminationGracePeriodSeconds != 30 || pod.Spec.Containers[0].Resources.Limits.Cpu().String() != "500m" ||
		pod.ManagedFields[0].Time.Year() != 2024 || !slices.Equal(pod.Spec.Containers[1].Args, []string{"a", "", ""}) {
		t.Errorf("%+v", pod)
	}
}

type part struct {
	Name  string   `json:"name"`
	Share *float64 `json:"share"`
}

type whole struct {
	part
	Count *int32            `json:"count"`
	Wait  metav1.Duration   `json:"wait"`
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
		{`{name: 1, share: x, count: 9999999999, wait: 4, at: noon, live: 1, parts: [3, null, {name: a}], names: {a: {}}}`,
			`{"at":null,"count":null,"live":null,"name":null,"names":{"a":null},"parts":[null,null,{"name":"a"}],"share":null,"wait":null}`,
			[]string{
				"line 1: name: is 1, must be a string: put it in quotes",
				`line 1: share: is "x", must be a number`,
				"line 1: count: is 9999999999, must be an integer of 32 bits",
				"line 1: wait: is 4, must be a duration such as 4s",
				`line 1: at: is "noon", must be a time such as 2006-01-02T15:04:05Z`,
				"line 1: live: is 1, must be true or false",
				"line 1: parts[0]: is 3, must be an object",
				"line 1: names[a]: must be a string, not an object",
			}},
		{`{"": 1, parts: [{"": 2}]}`, `{"parts":[{}]}`, []string{`line 1: "": unknown field`, `line 1: parts[0]."": unknown field`}},
		{`[]`, `null`, []string{"line 1: must be an object, not a list"}},
	} {
		found, err := only(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		fitted, mistakes := fit(found, typeOf(reflect.TypeFor[whole]()))
		text, err := json.Marshal(fitted)
		if err != nil {
			t.Fatal(err)
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

func TestLineOfFindsTheInnermost(t *testing.T) {
	n, err := only("# comment\na:\n  b:\n  - c: 1\n    d: 2\n  e.f:\n    g: 3\n")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"": 2, "a": 2, "a.b": 3, "a.b[0]": 4, "a.b[0].d": 5, "a.b[0].missing": 4, "a.b[7]": 3, "a.e.f.g": 7, "a[e.f].g": 7, "x": 2} {
		if got := n.LineOf(path); got != want {
			t.Errorf("%s: line %d, want %d", path, got, want)
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
		documents, err := Parse(text)
		if err != nil && len(documents) > 0 {
			t.Error("documents beside an error")
		}
		for _, one := range documents {
			if (one.Err == nil) != (one.Root != nil) {
				t.Errorf("%+v", one)
			}
			if one.Err != nil {
				continue
			}
			Decode(one.Root, new(whole))
			written, err := json.Marshal(plain(one.Root))
			if err != nil {
				t.Fatal(err)
			}
			again, ok := parseJSON(written)
			if !ok {
				t.Fatalf("%s is not JSON", written)
			}
			if rewritten, _ := json.Marshal(plain(again[0].Root)); string(rewritten) != string(written) {
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
	_, err := only("# YAML\n" + text)
	if err == nil || !strings.Contains(err.Error(), "line 12: ") {
		t.Errorf("YAML: %v", err)
	}
	if _, err := only(text); err == nil || !strings.Contains(err.Error(), "line 11: ") && !strings.Contains(err.Error(), "line 10: ") {
		t.Errorf("JSON: %v", err)
	}
}
