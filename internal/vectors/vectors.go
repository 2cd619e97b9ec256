package vectors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// File names a JSON file of recorded cases, and defines how the importing package runs
// each kind of case in it.
type File struct {
	Name  string          // without .json
	Kinds map[string]Kind // by the cases' kind, or "" for cases without one
}

// Kind defines how to run cases of one kind. The zero value is a kind that another
// package runs.
type Kind struct {
	// Run returns our outcome in the shape of Want. It may call the case's Exclude, Deviate
	// and Model.
	Run func(c *Case) (any, error)
	// Normal normalizes a wanted outcome before the comparison, such as lists without order
	// and texts of errors. Nil leaves it unchanged.
	Normal func(c *Case, want any) (any, error)
	// Ignored names fields of a wanted outcome to leave out of the comparison.
	Ignored []string
}

// Case is one case of a file.
type Case struct {
	File     string // without .json
	ID, Kind string
	Want     any // the field "want", or an object of all want_… fields

	raw       json.RawMessage
	exclusion string // why the case is not compared
	deviation string // why our outcome differs …
	ours      any    // … and our outcome, not computed by the code under test
	modelled  bool
	theirs    any // Kubernetes' outcome by a model, if modelled
}

// Decode decodes the case's input into dst.
func (c *Case) Decode(dst any) error { return json.Unmarshal(c.raw, dst) }

// Exclude excludes the case because of a property of its input.
func (c *Case) Exclude(property string) { c.exclusion = property }

// Deviate declares our outcome where it differs from Kubernetes' because of a property
// of the input. ours must not come from the code under test.
func (c *Case) Deviate(property string, ours any) { c.deviation, c.ours = property, ours }

// Model declares Kubernetes' outcome by a model of its rules. The wanted outcome must
// equal it, whether or not ours deviates from it.
func (c *Case) Model(theirs any) { c.modelled, c.theirs = true, theirs }

// Run runs all cases of the files, each file in a subtest, which fails if a field
// differs.
func Run(t *testing.T, files []File) {
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			cases, err := f.read(Files())
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

// Reason runs one case, given as JSON, of the named file. It returns why the case is
// excluded or deviates, or "" if it is compared as is, and its failures.
func Reason(files []File, name, text string) (reason string, failures []string, err error) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return "", nil, fmt.Errorf("vectors: Reason(%s): no such file", name)
	}
	c, err := files[i].readCase(json.RawMessage(text))
	if err != nil {
		return "", nil, err
	}
	r := files[i].check([]*Case{c})
	return c.deviation + c.exclusion, r.failures[c.ID], nil
}

// read loads the file's cases from a folder, for the importing package's kinds.
func (f File) read(files fs.FS) ([]*Case, error) {
	cases, err := read(files, f.Name)
	if err != nil {
		return nil, err
	}
	for i, c := range cases {
		if err := f.accept(c); err != nil {
			return nil, fmt.Errorf("%s.json: case %d: %w", f.Name, i, err)
		}
	}
	return cases, nil
}

// accept checks that the case is of a kind of the file, and removes ignored fields.
func (f File) accept(c *Case) error {
	kind, ok := f.Kinds[c.Kind]
	if !ok {
		return fmt.Errorf("%s: unknown kind %q", c.ID, c.Kind)
	}
	if fields, ok := c.Want.(map[string]any); ok {
		maps.DeleteFunc(fields, func(name string, _ any) bool { return slices.Contains(kind.Ignored, name) })
	}
	return nil
}

func (f File) readCase(raw json.RawMessage) (*Case, error) {
	c, err := readCase(f.Name, raw)
	if err != nil {
		return nil, err
	}
	return c, f.accept(c)
}

// A report is the result of running one file.
type report struct {
	file       string
	cases      int
	elsewhere  int            // cases that another package runs
	compared   int            // fields of the wanted outcomes
	deviations map[string]int // cases by reason
	exclusions map[string]int
	failures   map[string][]string // by case id
}

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d cases, %d fields compared, %d failed", r.file, r.cases, r.compared, len(r.failures))
	if r.elsewhere > 0 {
		fmt.Fprintf(&b, "\n  run by another package, %d cases", r.elsewhere)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.deviations)) {
		fmt.Fprintf(&b, "\n  deviation, %d cases: %s", r.deviations[reason], reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.exclusions)) {
		fmt.Fprintf(&b, "\n  excluded, %d cases: %s", r.exclusions[reason], reason)
	}
	return b.String()
}

func (r *report) fail(id, format string, args ...any) {
	r.failures[id] = append(r.failures[id], fmt.Sprintf(format, args...))
}

// check runs the cases of this package's kinds, and compares each outcome with the wanted
// one.
func (f File) check(cases []*Case) *report {
	r := &report{
		file: f.Name, cases: len(cases),
		deviations: map[string]int{}, exclusions: map[string]int{}, failures: map[string][]string{},
	}
	for _, c := range cases {
		if f.Kinds[c.Kind].Run == nil {
			r.elsewhere++
			continue
		}
		f.checkCase(c, r)
	}
	return r
}

func (f File) checkCase(c *Case, r *report) {
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
	}
	if c.modelled {
		theirs, err := Value(c.theirs)
		if err != nil {
			r.fail(c.ID, "%v", err)
			return
		}
		for _, d := range Differences(want, theirs, new(int)) {
			r.fail(c.ID, "Kubernetes' outcome is not what the model of it says: %s", d)
		}
	}
	if c.deviation != "" {
		r.deviations[c.deviation]++
		ours, err := Value(c.ours)
		if err != nil {
			r.fail(c.ID, "%v", err)
			return
		}
		if len(Differences(want, ours, new(int))) == 0 {
			r.fail(c.ID, "Kubernetes does the same, so this is no deviation: %s", c.deviation)
		}
		want = ours
	}
	before := r.compared
	for _, d := range Differences(want, got, &r.compared) {
		r.fail(c.ID, "%s", d)
	}
	if r.compared == before {
		r.fail(c.ID, "nothing was compared")
	}
}

// outcomes returns our outcome and the wanted one, both as JSON trees.
func (f File) outcomes(c *Case) (got, want any, err error) {
	kind := f.Kinds[c.Kind]
	c.exclusion, c.deviation, c.ours = "", "", nil
	c.modelled, c.theirs = false, nil
	if got, err = kind.Run(c); err != nil {
		return nil, nil, err
	}
	if got, err = Value(got); err != nil {
		return nil, nil, err
	}
	want = c.Want
	if kind.Normal != nil && c.exclusion == "" {
		if want, err = kind.Normal(c, want); err != nil {
			return nil, nil, err
		}
		want, err = Value(want)
	}
	return got, want, err
}

// IsError reduces a wanted outcome to whether it is an error, because our texts of errors
// differ from Kubernetes'. It is a function for Kind.Normal.
func IsError(_ *Case, want any) (any, error) { return want != nil && want != false, nil }
