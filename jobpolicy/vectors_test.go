package jobpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The conformance vectors are inputs and outcomes recorded from Kubernetes as
// JSON files. A file holds cases of one or several kinds; a case's wanted
// outcome is whatever it has under names that begin with "want". For each kind
// there is a function that computes our outcome in the same shape, and every
// field of the wanted one is compared with it.
//
// VECTORS_DIR names another folder with files of the same names.

// vectorFiles lists the files that this package answers for.
func vectorFiles() []vectorFile {
	return []vectorFile{
		{name: "podfailurepolicy", kinds: map[string]vectorKind{"": {run: podFailurePolicyVector}}},
		{name: "finishtime", kinds: map[string]vectorKind{"": {run: finishTimeVector}}},
		{name: "backoffrecord", kinds: map[string]vectorKind{"": {run: backoffRecordVector}}},
		{name: "remaining", kinds: map[string]vectorKind{
			"global":        {run: remainingVector},
			"per_index":     {run: remainingPerIndexVector},
			"ready_indexes": {run: readyIndexesVector},
		}},
		{name: "successpolicy", kinds: map[string]vectorKind{
			"policy": {run: successPolicyVector},
			"rule":   {run: successRuleVector},
		}},
		{name: "validation", kinds: map[string]vectorKind{
			"create": {run: createVector},
			"update": {run: updateVector},
		}},
		{name: "indexset_ops", kinds: opsKinds()},
		{name: "jobsync", kinds: map[string]vectorKind{"": {run: jobSyncVector, normal: passOutcome}}},
	}
}

type vectorFile struct {
	name  string
	kinds map[string]vectorKind // by the cases' kind, "" if the file's cases have none
}

type vectorKind struct {
	// run returns our outcome in the shape of want; it may call the case's
	// exclude or deviate.
	run func(c *vectorCase) (any, error)
	// normal rewrites a wanted outcome before anything is compared with it, for
	// what means the same: lists without order, texts of errors. nil: as it is.
	normal func(c *vectorCase, want any) (any, error)
}

// vectorCase is one case of a file.
type vectorCase struct {
	ID, Kind string

	raw       json.RawMessage
	want      any    // what is under "want", or an object of all want_… fields
	exclusion string // why the case is not compared
	deviation string // why ours is another outcome …
	ours      any    // … and which, by other means than the code under test
}

// decode reads the case's input into dst.
func (c *vectorCase) decode(dst any) error { return json.Unmarshal(c.raw, dst) }

// exclude takes the case out, by a property of its input.
func (c *vectorCase) exclude(property string) { c.exclusion = property }

// deviate says that by a property of the input the outcome differs from
// Kubernetes', and what it must be. The expectation must not come from the code
// under test.
func (c *vectorCase) deviate(property string, expected any) {
	c.deviation, c.ours = property, expected
}

// vectorReport is what running one file showed.
type vectorReport struct {
	file       string
	cases      int
	compared   int            // fields of want
	deviations map[string]int // cases by reason
	exclusions map[string]int
	failures   map[string][]string // by case id
}

func (r *vectorReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d cases, %d fields compared, %d failed", r.file, r.cases, r.compared, len(r.failures))
	for _, reason := range slices.Sorted(maps.Keys(r.deviations)) {
		fmt.Fprintf(&b, "\n  deviation, %d cases: %s", r.deviations[reason], reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.exclusions)) {
		fmt.Fprintf(&b, "\n  excluded, %d cases: %s", r.exclusions[reason], reason)
	}
	return b.String()
}

func (r *vectorReport) fail(id, format string, args ...any) {
	r.failures[id] = append(r.failures[id], fmt.Sprintf(format, args...))
}

// vectorsDir is the folder that the vectors are read from.
func vectorsDir() string {
	if dir := os.Getenv("VECTORS_DIR"); dir != "" {
		return dir
	}
	return filepath.Join("testdata", "vectors")
}

func TestVectors(t *testing.T) {
	for _, f := range vectorFiles() {
		t.Run(f.name, func(t *testing.T) {
			cases, err := f.read(vectorsDir())
			if err != nil {
				t.Fatal(err)
			}
			r := f.check(cases)
			t.Log(r)
			for _, id := range slices.Sorted(maps.Keys(r.failures)) {
				t.Errorf("%s:\n\t%s", id, strings.Join(r.failures[id], "\n\t"))
			}
		})
	}
}

// read loads the file's cases from a folder.
func (f vectorFile) read(dir string) ([]*vectorCase, error) {
	path := filepath.Join(dir, f.name+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Count *int              `json:"count"`
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case len(doc.Cases) == 0:
		return nil, fmt.Errorf("%s: no cases", path)
	case doc.Count != nil && *doc.Count != len(doc.Cases):
		return nil, fmt.Errorf("%s: %d cases, but it says it has %d", path, len(doc.Cases), *doc.Count)
	}
	cases := make([]*vectorCase, len(doc.Cases))
	seen := map[string]bool{}
	for i, raw := range doc.Cases {
		c, err := f.readCase(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: case %d: %w", path, i, err)
		}
		if seen[c.ID] {
			return nil, fmt.Errorf("%s: case %d: id %q is there twice", path, i, c.ID)
		}
		seen[c.ID] = true
		cases[i] = c
	}
	return cases, nil
}

func (f vectorFile) readCase(raw json.RawMessage) (*vectorCase, error) {
	c := &vectorCase{raw: raw}
	tree, err := jsonTree(raw)
	if err != nil {
		return nil, err
	}
	fields, _ := tree.(map[string]any)
	c.ID, _ = fields["id"].(string)
	c.Kind, _ = fields["kind"].(string)
	if c.ID == "" {
		return nil, fmt.Errorf("no id: %s", raw)
	}
	if _, ok := f.kinds[c.Kind]; !ok {
		return nil, fmt.Errorf("%s: unknown kind %q", c.ID, c.Kind)
	}
	wants := map[string]any{}
	for name, value := range fields {
		if strings.HasPrefix(name, "want") {
			wants[name] = value
		}
	}
	if len(wants) == 0 {
		return nil, fmt.Errorf("%s: nothing wanted", c.ID)
	}
	c.want = wants
	if want, ok := wants["want"]; ok && len(wants) == 1 {
		c.want = want
	}
	return c, nil
}

// check runs the cases and compares.
func (f vectorFile) check(cases []*vectorCase) *vectorReport {
	r := &vectorReport{
		file: f.name, cases: len(cases),
		deviations: map[string]int{}, exclusions: map[string]int{}, failures: map[string][]string{},
	}
	for _, c := range cases {
		f.checkCase(c, r)
	}
	return r
}

func (f vectorFile) checkCase(c *vectorCase, r *vectorReport) {
	defer func() {
		if p := recover(); p != nil {
			r.fail(c.ID, "panic: %v", p)
		}
	}()
	got, want, err := f.outcomes(c)
	switch {
	case err != nil:
		r.fail(c.ID, "%v", err)
		return
	case c.exclusion != "":
		r.exclusions[c.exclusion]++
		return
	case c.deviation != "":
		r.deviations[c.deviation]++
		ours, err := jsonValue(c.ours)
		if err != nil {
			r.fail(c.ID, "%v", err)
			return
		}
		if n := 0; len(differences("", want, ours, &n)) == 0 {
			r.fail(c.ID, "Kubernetes does the same, so this is no deviation: %s", c.deviation)
		}
		want = ours
	}
	before := r.compared
	for _, d := range differences("", want, got, &r.compared) {
		r.fail(c.ID, "%s", d)
	}
	if r.compared == before {
		r.fail(c.ID, "nothing was compared")
	}
}

// outcomes returns our outcome and the wanted one, both as JSON trees.
func (f vectorFile) outcomes(c *vectorCase) (got, want any, err error) {
	kind := f.kinds[c.Kind]
	c.exclusion, c.deviation, c.ours = "", "", nil
	if got, err = kind.run(c); err != nil {
		return nil, nil, err
	}
	if got, err = jsonValue(got); err != nil {
		return nil, nil, err
	}
	want = c.want
	if kind.normal != nil && c.exclusion == "" {
		if want, err = kind.normal(c, want); err != nil {
			return nil, nil, err
		}
		want, err = jsonValue(want)
	}
	return got, want, err
}

// differences compares every field of want with got and counts them. A field
// that got does not have is a difference; one that only got has is not compared.
func differences(path string, want, got any, compared *int) []string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok && len(want) > 0 {
			*compared++
			return []string{fmt.Sprintf("%s: got %s, want %s", at(path), jsonText(got), jsonText(want))}
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			g, ok := fields[name]
			if !ok {
				*compared++
				all = append(all, fmt.Sprintf("%s: not among ours, want %s", at(path+"."+name), jsonText(want[name])))
				continue
			}
			all = append(all, differences(path+"."+name, want[name], g, compared)...)
		}
		return all
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) || len(want) == 0 {
			*compared++
			if ok && len(items) == len(want) {
				return nil
			}
			return []string{fmt.Sprintf("%s: got %s, want %s", at(path), jsonText(got), jsonText(want))}
		}
		var all []string
		for i := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), want[i], items[i], compared)...)
		}
		return all
	}
	*compared++
	if want != got {
		return []string{fmt.Sprintf("%s: got %s, want %s", at(path), jsonText(got), jsonText(want))}
	}
	return nil
}

func at(path string) string { return "want" + path }

// jsonTree decodes JSON into maps, lists and scalars; numbers stay text.
func jsonTree(data []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// jsonValue is a Go value as jsonTree would return it.
func jsonValue(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonTree(data)
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
