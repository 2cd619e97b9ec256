package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/examples/internal/jobfields"
	"github.com/restartkit/restart/jobpolicy"
)

// manifest is a Job as its file describes it, with defaults and found valid.
type manifest struct {
	job       *jobpolicy.Job
	generated string     // what the name was made from, "" if it was given
	sources   envSources // of variables, beside their plain values
	config    config     // values for them
	warnings  []string   // what strict validation would refuse
	ignored   []string   // what is there but not used
}

// reading is how a manifest is read.
type reading struct {
	job      string // name of the one to run; "": the only one
	validate validation
	set      overrides
	envFiles envFiles
}

// mistake is one thing that is wrong with a manifest.
type mistake struct {
	line int // 0: it is not from a line
	text string
}

// mistakes are all that is wrong with a manifest, in the order of the file.
type mistakes []mistake

func (m mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// String returns the mistake with its line.
func (m mistake) String() string {
	if m.line > 0 {
		return fmt.Sprintf("line %d: %s", m.line, m.text)
	}
	return m.text
}

// readManifest reads the Job of a file, or of standard input if the name is -.
// What is wrong with the Job itself comes as mistakes.
func readManifest(name string, how reading) (*manifest, error) {
	documents, err := document.ReadAll(name)
	if err != nil {
		return nil, err
	}
	return decodeManifest(documents, how)
}

// decodeManifest turns the Job of a file into one that can be run, or says
// everything that is wrong with it.
func decodeManifest(documents []*document.Node, how reading) (*manifest, error) {
	all := objects(documents)
	chosen, err := chooseJob(all, how.job)
	if err != nil {
		return nil, err
	}
	types, err := jobfields.Types()
	if err != nil {
		return nil, err
	}
	d := decoder{template: templateOf(chosen), how: how, types: types}
	if err := how.set.apply(d.job); err != nil {
		return nil, err
	}
	m, err := d.decode()
	if err != nil {
		return nil, err
	}
	m.config = newConfig(m.job.Namespace, how.envFiles)
	for _, o := range all {
		switch {
		case o.node == chosen.node:
		case o.isConfig():
			if err := m.config.add(o); err != nil {
				return nil, err
			}
		default:
			m.ignored = append(m.ignored, o.String())
		}
	}
	return m, nil
}

// decoder reads one Job.
type decoder struct {
	template
	how   reading
	types map[string]*document.Type
}

// decode returns the Job if nothing is wrong with it.
func (d *decoder) decode() (*manifest, error) {
	fitted, found := document.Fit(d.job, d.types["Job"])
	m := &manifest{job: new(jobpolicy.Job)}
	text, err := json.Marshal(fitted)
	if err == nil {
		err = json.Unmarshal(text, m.job)
	}
	if err == nil {
		m.sources, err = readEnvSources(text)
	}
	if err != nil {
		return nil, err
	}
	var wrong jobpolicy.FieldErrors
	var strict []document.Mistake
	for _, one := range found {
		if one.Strict {
			strict = append(strict, one)
		} else {
			wrong = append(wrong, jobpolicy.FieldError{Field: one.Path, Type: jobpolicy.Invalid, Value: one.Value, Detail: one.Detail})
		}
	}
	unused := d.unused(strict)
	m.job.Spec.Default()
	m.takeName()
	errs := m.check(wrong)
	errs = append(errs, d.how.set.unused(unused)...)
	if d.how.validate != strictly {
		for _, one := range strict {
			errs = append(errs, d.how.set.unused([]string{one.Path})...)
		}
	}
	wrongAround, strictAround := d.foundAround()
	all := append(d.located(errs, strict), wrongAround...)
	lenient := append(d.unknown(strict), strictAround...)
	switch d.how.validate {
	case strictly:
		all = append(all, lenient...)
	case warn:
		for _, one := range lenient {
			m.warnings = append(m.warnings, one.String())
		}
	}
	if len(all) > 0 {
		for _, warning := range m.warnings {
			all = append(all, mistake{text: "warning: " + warning})
		}
		slices.SortStableFunc(all, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
		return nil, all
	}
	for _, path := range unused {
		m.ignored = append(m.ignored, d.path(path))
	}
	m.adopt()
	return m, nil
}

// located names the lines of mistakes. A field that is required is not missed
// where an unknown one may have been meant to be it.
func (d *decoder) located(errs jobpolicy.FieldErrors, strict []document.Mistake) (all mistakes) {
	for _, e := range errs {
		if e.Type == jobpolicy.Required && slices.ContainsFunc(strict, func(m document.Mistake) bool {
			around := document.Mistake{Path: m.Path[:max(strings.LastIndexByte(m.Path, '.'), 0)]}
			return d.how.validate == strictly && strings.Contains(m.Detail, "did you mean") && around.Covers(e.Field)
		}) {
			continue
		}
		line := d.line(e.Field)
		e.Field = d.path(e.Field)
		all = append(all, mistake{line, e.Error()})
	}
	return all
}

// unknown returns what only strict validation minds.
func (d *decoder) unknown(strict []document.Mistake) (all mistakes) {
	for _, one := range strict {
		all = append(all, mistake{d.line(one.Path), d.path(one.Path) + ": " + one.Detail})
	}
	return all
}

// foundAround returns what is wrong with a CronJob outside of its Job, and what
// only strict validation minds.
func (d *decoder) foundAround() (wrong, strict mistakes) {
	if d.around == nil {
		return nil, nil
	}
	_, found := document.Fit(d.around, d.types["CronJob"])
	for _, one := range found {
		switch text := d.at + one.Path + ": "; {
		case d.inJob(one.Path):
		case one.Strict:
			strict = append(strict, mistake{one.Line, text + one.Detail})
		default:
			e := jobpolicy.FieldError{Field: d.at + one.Path, Type: jobpolicy.Invalid, Value: one.Value, Detail: one.Detail}
			wrong = append(wrong, mistake{one.Line, e.Error()})
		}
	}
	return wrong, strict
}

// line returns the line of a value of the Job, 0 for one that a flag has given.
func (d *decoder) line(path string) int {
	if d.how.set.cover(path) {
		return 0
	}
	return d.job.LineOf(path)
}

// unused returns the paths of what is known, but has no meaning for processes.
func (d *decoder) unused(strict []document.Mistake) (paths []string) {
	_, found := document.Fit(d.job, document.TypeFor[jobpolicy.Job]())
	for _, one := range found {
		isEnv := strings.HasSuffix(one.Path, ".valueFrom") || strings.HasSuffix(one.Path, ".envFrom")
		unknown := slices.ContainsFunc(strict, func(m document.Mistake) bool { return m.Path == one.Path })
		if one.Strict && !isEnv && !unknown {
			paths = append(paths, one.Path)
		}
	}
	for _, path := range []string{"status", "spec.ttlSecondsAfterFinished", "spec.template.spec.nodeName"} {
		at := d.job
		for name := range strings.SplitSeq(path, ".") {
			at = at.Field(name)
		}
		if at != nil && at.Value != nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// adopt gives the Job what an API server would: a namespace, and no trace of
// another cluster's.
func (m *manifest) adopt() {
	from := m.job.ObjectMeta
	m.job.ObjectMeta = jobpolicy.ObjectMeta{Name: from.Name, Namespace: from.Namespace, Labels: from.Labels, Annotations: from.Annotations}
	m.job.Status = jobpolicy.JobStatus{}
	if m.job.Namespace == "" {
		m.job.Namespace = "default"
	}
	for _, list := range [][]jobpolicy.Container{m.job.Spec.Template.Spec.InitContainers, m.job.Spec.Template.Spec.Containers} {
		for _, c := range list {
			if image := "image " + c.Image; c.Image != "" && !slices.Contains(m.ignored, image) {
				m.ignored = append(m.ignored, image)
			}
		}
	}
}

// validation is what becomes of fields that are not known or given twice.
type validation string

const (
	strictly validation = "strict" // they are mistakes
	warn     validation = "warn"
	ignore   validation = "ignore"
)

func (v *validation) String() string { return string(*v) }

// Set takes what kubectl's --validate does.
func (v *validation) Set(text string) error {
	switch strings.ToLower(text) {
	case "strict", "true":
		*v = strictly
	case "warn":
		*v = warn
	case "ignore", "false":
		*v = ignore
	default:
		return errors.New("must be strict, warn or ignore")
	}
	return nil
}
