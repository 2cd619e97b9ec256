package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// Job is the report on a manifest. With Mistakes, only the Summary is set as well.
type Job struct {
	Summary    string      `json:"summary"`            // in one sentence
	Mistakes   []Remark    `json:"mistakes,omitempty"` // or notices, if the file may be valid
	Findings   []Remark    `json:"findings,omitempty"` // valid but surely not intended
	Worst      [][2]string `json:"worst,omitempty"`    // name and text
	Filled     [][2]string `json:"filled,omitempty"`   // field and default
	Spec       string      `json:"spec,omitempty"`     // with defaults, as YAML
	Unused     []string    `json:"unused,omitempty"`   // without effect on decisions
	Containers []string    `json:"containers,omitempty"`
	Trials     []Tried     `json:"trials,omitempty"`
}

// Remark is a remark on a line of the manifest.
type Remark struct {
	Line int    `json:"line"` // 0 for the whole manifest
	Kind string `json:"kind"` // mistake, warning or notice
	Text string `json:"text"`
}

const (
	largestManifest = 256 << 10 // a browser reads this in about a second
	mostParts       = 30_000    // lines and values, for the same reason
	deepestManifest = 200       // a browser has a small stack
	largestSpec     = 100_000   // bytes shown
	mostUnused      = 100
	mostContainers  = 8 // with a column of their own
	mostTrials      = 50
	mostFilled      = 200
)

// unread explains why a manifest is not shown.
type unread struct {
	summary string
	remarks []Remark
}

// read returns the Job of a manifest, or the reason why it is not shown.
func read(manifest, name string) (*jobfile.Manifest, *unread) {
	var limit string
	switch {
	case len(manifest) > largestManifest:
		limit = fmt.Sprintf("the manifest is too long: this page reads at most %d bytes", largestManifest)
	case depth(manifest) > deepestManifest:
		limit = fmt.Sprintf("objects and lists are nested too deeply: this page reads at most %d levels", deepestManifest)
	case parts(manifest) > mostParts:
		limit = fmt.Sprintf("the manifest has too many lines and values: this page reads at most %d", mostParts)
	}
	if limit != "" {
		return nil, &unread{"This file is not shown, though it may be valid.", []Remark{{0, "notice", limit}}}
	}
	documents, err := document.ParseAll([]byte(manifest))
	if err != nil {
		line, text := lineOf(err.Error())
		return nil, &unread{"This file cannot be read: 1 mistake.", []Remark{{line, "mistake", clean(text)}}}
	}
	m, err := jobfile.Decode(documents, jobfile.Reading{Job: name, Validate: jobfile.Strict})
	if err == nil {
		return m, nil
	}
	return nil, refused(documents, err)
}

// refused explains why jobfile found no Job in documents. The remarks are mistakes only
// if Kubernetes would refuse the objects, too.
func refused(documents []*document.Node, err error) *unread {
	var wrong document.Mistakes
	kind := ""
	if len(documents) == 1 {
		kind = documents[0].Field("kind").Text()
	}
	switch {
	case errors.As(err, &wrong) && kind != "" && kind != "Job" && kind != "CronJob" && !strings.HasSuffix(kind, "List"):
		return &unread{fmt.Sprintf("This is a %s. The page shows Jobs and CronJobs.", clean(kind)), remarks("notice", wrong)}
	case wrong != nil:
		return &unread{"Kubernetes would refuse this: " + count(len(wrong), "mistake") + ".", remarks("mistake", wrong)}
	}
	line, text := lineOf(err.Error())
	if len(documents) == 1 && kind == "" {
		return &unread{"This is not a Kubernetes object: 1 mistake.", []Remark{{line, "mistake", clean(text)}}}
	}
	return &unread{"No Job of this file is shown.", []Remark{{line, "notice", clean(text)}}} // the file does not tell which Job is meant
}

func remarks(kind string, wrong document.Mistakes) (all []Remark) {
	for _, one := range wrong {
		all = append(all, Remark{one.Line, kind, clean(one.Detail)})
	}
	return all
}

// parts returns an upper bound of the fields and elements of a text, without parsing
// it. Each begins a line or follows one of the separators.
func parts(text string) (n int) {
	for _, begin := range []string{"\n", ",", "[", "{", "- ", "? "} {
		n += strings.Count(text, begin)
	}
	return n
}

// depth returns an upper bound of the nesting of a text, without parsing it. It counts
// open brackets and the indentation of lines. Brackets between quotes count as well,
// but close only brackets between the same quotes, so they cannot hide the depth of the
// text.
func depth(text string) (deepest int) {
	open, least := 0, 0 // least is the value of open at the opening quote
	var quote byte      // 0 outside of quotes
	before := byte(' ')
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " -?\t")
		deepest = max(deepest, len(line)-len(rest))
		for i := 0; i < len(rest); i++ {
			c := rest[i]
			switch {
			case c == '[' || c == '{':
				open++
				deepest = max(deepest, open)
			case c == ']' || c == '}':
				open = max(open-1, least)
			case quote == '"' && c == '\\':
				i++ // the escaped character
			case quote == '\'' && strings.HasPrefix(rest[i:], "''"):
				i++ // a quote in the string
			case c == quote:
				quote, least = 0, 0
			case quote == 0 && (c == '"' || c == '\'') && strings.IndexByte(" \t\n[]{},:", before) >= 0:
				quote, least = c, open
			}
			before = c
		}
	}
	return deepest
}

// lineOf splits the line number off an error of package document. It returns 0 if the
// error names no line.
func lineOf(text string) (int, string) {
	before, rest, found := strings.Cut(text, "line ")
	digits, after, colon := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(digits)
	if !found || !colon || err != nil {
		return 0, text
	}
	return line, before + after
}

// examine builds the Job tab.
func examine(s State) *Job {
	m, why := read(s.Manifest, s.Name)
	if why != nil {
		return &Job{Summary: why.summary, Mistakes: why.remarks}
	}
	j := &Job{}
	for _, warning := range m.Warnings {
		line, text := lineOf(warning)
		j.Findings = append(j.Findings, Remark{line, "warning", clean(text)})
	}
	for _, f := range lint.Check(&m.Job.Spec) {
		j.Findings = append(j.Findings, Remark{m.Line(f.Field), string(f.Severity), clean(f.String())})
	}
	facts, err := jobfile.WorstCase(engine, &m.Job.Spec)
	if err != nil {
		facts = []jobfile.Fact{{Name: "unknown", Text: clean(err.Error())}}
	}
	for _, f := range facts {
		j.Worst = append(j.Worst, [2]string{f.Name, f.Text})
	}
	j.Summary = fmt.Sprintf("Job %s/%s is valid, %s.", clean(m.Job.Namespace), clean(m.Job.Name), count(len(j.Findings), "finding"))
	j.Filled, j.Spec = filledIn(m)
	for i, path := range m.Ignored {
		if i == mostUnused {
			j.Unused = append(j.Unused, fmt.Sprintf("and %d more", len(m.Ignored)-i))
			break
		}
		j.Unused = append(j.Unused, clean(path))
	}
	j.Containers = containers(m.Job)
	trials := s.Trials
	if trials == nil {
		trials = suggested(m.Job)
	}
	for _, t := range trials {
		j.Trials = append(j.Trials, try(m.Job, t))
	}
	return j
}

// containers returns the names of the first containers, app containers before init
// containers.
func containers(job *batch.Job) []string {
	pod := &job.Spec.Template.Spec
	var names []string
	for _, c := range slices.Concat(pod.Containers, pod.InitContainers) {
		if len(names) < mostContainers {
			names = append(names, c.Name)
		}
	}
	return names
}

// filledIn returns the fields set by defaults, and the specification with them.
func filledIn(m *jobfile.Manifest) (filled [][2]string, spec string) {
	var before, after struct {
		Spec any `json:"spec"`
	}
	text, err := json.Marshal(m.Job)
	if err == nil {
		err = json.Unmarshal(text, &after)
	}
	if err == nil {
		err = json.Unmarshal(m.Written, &before)
	}
	if err != nil {
		return nil, ""
	}
	compare(before.Spec, after.Spec, "spec", &filled)
	spec = YAML(map[string]any{"spec": after.Spec})
	if len(spec) > largestSpec {
		spec = strings.ToValidUTF8(spec[:largestSpec], "") + "\n… and more: the specification is too long for this page\n"
	}
	return filled, spec
}

// compare appends the fields of after that are missing in before.
func compare(before, after any, path string, filled *[][2]string) {
	switch after := after.(type) {
	case map[string]any:
		old, _ := before.(map[string]any)
		for _, name := range sortedKeys(after) {
			compare(old[name], after[name], path+"."+name, filled)
		}
	case []any:
		old, _ := before.([]any)
		for i := range after {
			if i < len(old) {
				compare(old[i], after[i], fmt.Sprintf("%s[%d]", path, i), filled)
			}
		}
	default:
		if before == nil && after != nil && len(*filled) < mostFilled {
			*filled = append(*filled, [2]string{clean(path), clean(scalar(after))})
		}
	}
}

// fieldErrors returns the mistakes in settings.
func fieldErrors(err error) (all field.Errors) {
	errors.As(err, &all)
	return all
}
