package page

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/jobfile"
)

// manifests returns the Jobs of testdata, by name.
func manifests(t testing.TB, pattern string, least int) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/" + pattern)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if least > 20 || strings.Contains(string(text), "kind: Job\n") {
			all[filepath.Base(file)] = string(text)
		}
	}
	if len(all) < least {
		t.Fatalf("%d manifests", len(all))
	}
	return all
}

// plain is a Job of one container, with more fields of its specification.
func plain(more string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: plain}\nspec:\n  template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}\n" + more
}

func view(t testing.TB, s State) View {
	t.Helper()
	request, err := json.Marshal(Request{State: s, Width: 800})
	if err != nil {
		t.Fatal(err)
	}
	var v View
	if err := json.Unmarshal(new(Page).Answer(request), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEveryExampleIsValidAndRuns(t *testing.T) {
	for name, text := range manifests(t, "*.yaml", 15) {
		j := view(t, State{Tab: TabJob, Manifest: text}).Job
		if len(j.Mistakes) > 0 || len(j.Worst) < 2 || len(j.Trials) < 2 || j.Spec == "" || len(j.Filled) == 0 {
			t.Errorf("%s: %+v", name, j)
		}
		for _, tried := range j.Trials {
			if tried.Mistake != "" || tried.Next == "" {
				t.Errorf("%s: %+v", name, tried)
			}
		}
		s := view(t, State{Tab: TabSimulate, Manifest: text}).Simulate
		if len(s.Mistakes)+len(s.Wrong) > 0 || s.Steps < 3 || s.Picture == nil {
			t.Errorf("%s: %+v", name, s)
		}
		if !strings.Contains(s.Status, "type: Complete") && !strings.Contains(s.Status, "type: Failed") {
			t.Errorf("%s does not end:\n%s", name, s.Status)
		}
	}
}

// Every mistake that runjob finds is found here too, on the same line, unless only a
// process would make it.
func TestMistakesAreThoseOfTheProgram(t *testing.T) {
	processes := 0
	for name, text := range manifests(t, "bad/*.[yj]*", 21) {
		documents, err := document.ParseAll([]byte(text))
		if err == nil {
			_, err = jobfile.Decode(documents, jobfile.Reading{Validate: jobfile.Strict, Processes: true})
		}
		var want []Remark
		var wrong document.Mistakes
		switch {
		case errors.As(err, &wrong):
			for _, one := range wrong {
				if onlyProcesses(one.Detail) {
					processes++
					continue
				}
				want = append(want, Remark{one.Line, "mistake", clean(one.Detail)})
			}
		default:
			line, said := lineOf(err.Error())
			want = []Remark{{line, "mistake", clean(strings.ReplaceAll(said, "-job", "the name"))}}
		}
		got := view(t, State{Manifest: text}).Job.Mistakes
		if name == "pod.yaml" || name == "two-documents.yaml" { // valid, but no Job to show
			want[0].Kind = "notice"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if processes == 0 {
		t.Error("no mistake that only a process would make")
	}
}

// The summary of a file that is not shown is true. It calls only Kubernetes' own
// refusals so.
func TestSummaryOfAFileThatIsNotShownIsTrue(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n"
	padding := "# " + strings.Repeat("x", largestManifest) + "\n"
	for _, tt := range []struct{ manifest, name, summary, kind string }{
		{plain(""), "", "Job default/plain is valid, 0 findings.", ""},
		{padding + plain(""), "", "This file is not shown, though it may be valid.", "notice"},
		{strings.Repeat("[", 201) + strings.Repeat("]", 201), "", "This file is not shown, though it may be valid.", "notice"},
		{deployment, "", "This is a Deployment. The page shows Jobs and CronJobs.", "notice"},
		{plain("") + "---\n" + plain(""), "", "No Job of this file is shown.", "notice"},
		{plain("") + "---\n" + deployment, "other", "No Job of this file is shown.", "notice"},
		{deployment + "---\n" + deployment, "", "No Job of this file is shown.", "notice"},
		{plain("") + "---\n" + deployment, "plain", "Job default/plain is valid, 0 findings.", ""},
		{plain("  parallelism: -1\n"), "", "Kubernetes would refuse this: 1 mistake.", "mistake"},
		{"kind: Job\n", "", "Kubernetes would refuse this: 4 mistakes.", "mistake"},
		{"a: 1\n", "", "Kubernetes would refuse this: 1 mistake.", "mistake"},
		{"[1]\n", "", "This is not a Kubernetes object: 1 mistake.", "mistake"},
		{"a: [\n", "", "This file cannot be read: 1 mistake.", "mistake"},
	} {
		for _, tab := range []string{TabJob, TabSimulate} {
			v := view(t, State{Tab: tab, Manifest: tt.manifest, Name: tt.name})
			summary, list := "", []Remark(nil)
			if v.Job != nil {
				summary, list = v.Job.Summary, v.Job.Mistakes
			} else {
				summary, list = v.Simulate.Summary, v.Simulate.Mistakes
			}
			if tab == TabSimulate && tt.kind == "" {
				continue
			}
			kind := ""
			for _, r := range list {
				kind = r.Kind
			}
			if summary != tt.summary || kind != tt.kind {
				t.Errorf("%.60q, %s: %s (%s), want %s (%s)", tt.manifest, tab, summary, kind, tt.summary, tt.kind)
			}
		}
	}
}

// onlyProcesses reports whether a mistake is about what processes cannot do.
func onlyProcesses(text string) bool {
	for _, part := range []string{"images are ignored", "nothing would ever run", "must name a program", "only the pod's restartPolicy is used", "another controller runs this Job", "a process has none", "must be metadata.name, .namespace"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func TestLinesOfFindingsAreThoseOfTheirFields(t *testing.T) {
	text := plain("  podFailurePolicy:\n    rules:\n    - action: FailJob\n      onExitCodes: {operator: In, values: [137]}\n    - action: Ignore\n      onExitCodes: {operator: In, values: [137]}\n")
	found := view(t, State{Manifest: text}).Job.Findings
	if len(found) != 2 || found[0].Line != 9 || found[1].Line != 10 || found[0].Kind != "warning" {
		t.Errorf("%+v", found)
	}
}

func TestDefaultsAreThoseThatAreNotWritten(t *testing.T) {
	j := view(t, State{Manifest: plain("  backoffLimit: 3\n  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}\n")}).Job
	want := [][2]string{
		{"spec.completionMode", "NonIndexed"}, {"spec.completions", "1"}, {"spec.parallelism", "1"},
		{"spec.podFailurePolicy.rules[0].onPodConditions[0].status", `"True"`}, {"spec.podReplacementPolicy", "Failed"},
	}
	if diff := cmp.Diff(want, j.Filled); diff != "" {
		t.Error(diff)
	}
}

func TestLargeManifestIsRefusedAtOnce(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 5<<20), strings.Repeat("a: {", 5<<16)} {
		j := view(t, State{Manifest: text}).Job
		if len(j.Mistakes) != 1 || !strings.Contains(j.Mistakes[0].Text, "reads at most 262144") {
			t.Errorf("%.200s", j.Mistakes[0].Text)
		}
	}
}

// Many short values take longer to read than a long text.
func TestManifestOfManyValuesIsRefusedAtOnce(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("a: 1\n", 52_000):                               "at most 30000",
		"[" + strings.Repeat("1,", 30_000) + "1]":                      "at most 30000",
		strings.Repeat("- - - - a\n", 10_000):                          "at most 30000",
		strings.Repeat("- [[[]]]\n", 10_000):                           "at most 30000",
		strings.Repeat("a: 1\n", mostParts):                            "kind: required",
		"# " + strings.Repeat("x", largestManifest-10) + "\na: 1":      "kind: required",
		strings.Repeat("a: "+strings.Repeat("x", 50)+"\n", 256<<10/54): "kind: required",
	} {
		j := view(t, State{Manifest: text}).Job
		if len(j.Mistakes) != 1 || !strings.Contains(j.Mistakes[0].Text, want) {
			t.Errorf("%.20q: %.200v, want %s", text, j.Mistakes, want)
		}
	}
}

// The script cuts texts to one character more than the page reads, so the page still
// finds them too long.
func TestPageCutsTextsToOurLimits(t *testing.T) {
	script, err := os.ReadFile("../static/playground.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("largestManifest = %d;", largestManifest), fmt.Sprintf("largestScript = %d;", largestScript)} {
		if !bytes.Contains(script, []byte(want)) {
			t.Errorf("the script has no %q", want)
		}
	}
}

// A manifest nested too deeply for a browser's stack is refused unread.
func TestDeepManifestIsRefused(t *testing.T) {
	for _, text := range []string{strings.Repeat("[", 100_000), strings.Repeat("- ", 100_000), strings.Repeat("? ", 500), "a: " + strings.Repeat("{a: ", 300), strings.Repeat(" ", 300) + "a: 1",
		strings.Repeat(`["]", `, 300), strings.Repeat(`[']''"]', `, 300), strings.Repeat(`["\"]\\", `, 300), strings.Repeat("[\"\n]\", ", 300)} {
		if j := view(t, State{Manifest: text}).Job; len(j.Mistakes) != 1 || !strings.Contains(j.Mistakes[0].Text, "nested too deeply") {
			t.Errorf("%.20q: %+v", text, j.Mistakes)
		}
	}
}

// Brackets and quotes that are no nesting do not add up.
func TestFlatTextIsNotDeep(t *testing.T) {
	for _, line := range []string{"- {a: [x]}\n", "# it's [1] and {2}\n", "- awk '{print $1}'\n", "- \"it's {a: 1}\"\n", "- 'don''t [x]'\n", "- echo \"\\\"[a]\\\"\"\n", "\"a\": {\"b\": [\"c\"]},\n"} {
		if got := depth(strings.Repeat(line, 1000)); got > 4 {
			t.Errorf("%q: %d", line, got)
		}
	}
	for name, text := range manifests(t, "*.yaml", 15) {
		if got := depth(text); got > 60 {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// A link shows what one saw, and any other text shows something.
func TestLinkShowsTheSame(t *testing.T) {
	script := "*: 1, 0\n"
	s := State{Tab: TabSimulate, Manifest: plain("  backoffLimit: 2\n"), Script: &script, Step: 2, Trials: []Trial{{Failures: 2, Exits: map[string]string{"main": "3"}}}}
	first := view(t, s)
	first.State.Manifest = s.Manifest
	link, err := json.Marshal(first.State)
	if err != nil {
		t.Fatal(err)
	}
	text := string(link)
	for _, other := range []string{text, "", "null", "[", "<script>alert(1)</script>", `{"tab": 3}`, `{"tab":"x","step":-4,"curves":{"pods":-1,"policies":[{},{},{},{},{},{}]}}`} {
		request, _ := json.Marshal(Request{Link: &other, Width: 800})
		var again View
		if err := json.Unmarshal(new(Page).Answer(request), &again); err != nil {
			t.Fatal(err)
		}
		if other == text {
			if diff := cmp.Diff(first, again); diff != "" {
				t.Error(diff)
			}
			continue
		}
		damaged := other != "null" && !strings.HasPrefix(other, `{"tab":"x"`)
		if (again.Notice != "") != damaged || again.Job == nil {
			t.Errorf("%s: %+v", other, again.Notice)
		}
	}
}

// With any names, a picture has only the elements and attributes that the page admits.
func TestPicturesHoldOnlyWhatThePageAdmits(t *testing.T) {
	script, err := os.ReadFile("../static/playground.js")
	if err != nil {
		t.Fatal(err)
	}
	list := func(name string) map[string]bool {
		_, rest, found := strings.Cut(string(script), "const "+name+" = new Set([")
		words, _, _ := strings.Cut(rest, "]")
		if !found {
			t.Fatal(name)
		}
		all := make(map[string]bool)
		for word := range strings.SplitSeq(words, ", ") {
			all[strings.Trim(word, "'")] = true
		}
		return all
	}
	elements, attributes := list("drawn"), list("drawnAs")
	hostile := `</title><script>alert(1)</script>" onload="x`
	s := State{Tab: TabCurves, Curves: Settings{Policies: []Policy{{Name: hostile, Initial: "1s", Max: "1m"}}}}
	pictures := view(t, s).Curves.Pictures
	for _, text := range manifests(t, "*.yaml", 15) {
		pictures = append(pictures, view(t, State{Tab: TabSimulate, Manifest: text}).Simulate.Picture, view(t, State{Tab: TabSimulate, Manifest: text, Step: 2}).Simulate.Picture)
	}
	seen := 0
	for _, p := range pictures {
		if strings.Contains(p.CSS, "<") || strings.Contains(p.CSS, "@import") || strings.Contains(p.CSS, "http") {
			t.Errorf("style %s", p.CSS)
		}
		for d := xml.NewDecoder(strings.NewReader(p.SVG)); ; seen++ {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if !elements[start.Name.Local] {
				t.Errorf("element %s", start.Name.Local)
			}
			for _, a := range start.Attr {
				if !attributes[a.Name.Local] {
					t.Errorf("attribute %s", a.Name.Local)
				}
			}
		}
	}
	if seen < 1000 {
		t.Errorf("%d tokens", seen)
	}
}

// anyJSON generates values of encoding/json.
func anyJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth > 0 {
			kinds = 7
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return float64(rapid.Int32().Draw(t, "number"))
		case 3:
			return rapid.SampledFrom([]string{"", "yes", "0-3", "1,2", "12", "1e3", "2001-01-01", "a: b", "a #b", "- x", "{a", "Container main failed", " x", "x ", "a\nb", "null", "~", "1-", "<script>", "é"}).Draw(t, "text")
		case 4:
			return rapid.String().Draw(t, "any text")
		case 5:
			all := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				all = append(all, anyJSON(depth-1).Draw(t, "element"))
			}
			return all
		}
		all := make(map[string]any)
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			all[rapid.StringMatching(`[a-z<"]{0,4}`).Draw(t, "name")] = anyJSON(depth-1).Draw(t, "value")
		}
		return all
	})
}

// YAML is read again as the same, by the reader of kubectl.
func TestYAMLIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{"x": anyJSON(3).Draw(t, "value")}
		text := YAML(value)
		var again any
		if err := yaml.Unmarshal([]byte(text), &again); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(again, any(value)) {
			t.Fatalf("%#v became %#v\n%s", value, again, text)
		}
	})
}

// FuzzAnswer: any request has an answer.
func FuzzAnswer(f *testing.F) {
	for _, tab := range []string{TabJob, TabSimulate, TabCurves} {
		request, _ := json.Marshal(Request{State: State{Tab: tab, Manifest: plain("")}, Width: 500})
		f.Add(request)
	}
	f.Add([]byte(`{"link": "{}", "width": -1e300}`))
	f.Add([]byte(`{"state": {"tab": "curves", "curves": {"run": "1ns", "window": "87600h", "policies": [{"initial": "1ms", "max": "1ms", "factor": 1.01, "jitter": 0.99}]}}}`))
	f.Fuzz(func(t *testing.T, request []byte) {
		var v View
		if err := json.Unmarshal(new(Page).Answer(request), &v); err != nil {
			t.Fatal(err)
		}
		if v.Job == nil && v.Simulate == nil && v.Curves == nil {
			t.Errorf("nothing is shown: %+v", v)
		}
	})
}
