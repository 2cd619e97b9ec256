package jobfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// decoder reads one Job.
type decoder struct {
	template
	how     Reading
	types   map[string]*document.Type
	omitted int // number of mistakes beyond the reported ones
}

// decode returns the Job, or an error with its mistakes.
func (d *decoder) decode() (*Manifest, error) {
	m := &Manifest{Job: new(batch.Job), at: d.template}
	var sourced sourcedJob
	text, found, err := document.Decode(d.job, d.types["Job"], m.Job, &sourced)
	if err != nil {
		return nil, err
	}
	m.Written, m.Sources = text, sourced.sources()
	m.Job.Spec.Default()
	m.takeName()
	unused := d.unused(found)
	errs := append(m.check(found, d.how.Processes), d.how.Set.unused(d.withoutEffect(unused, found))...)
	wrong := d.located(errs, found)
	var lenient document.Mistakes
	for _, one := range slices.Concat(d.inFile(found), d.cronMistakes()) {
		if one.Strict() {
			lenient = append(lenient, newMistake(one.Line, one.Path+": "+one.Detail))
		} else {
			e := field.Error{Field: one.Path, Type: field.Invalid, Value: one.Value, Detail: one.Detail}
			wrong = append(wrong, newMistake(one.Line, e.Error()))
		}
	}
	if wrong = m.validated(d.how.Validate, wrong, lenient); len(wrong) > 0 {
		return nil, wrong.Report(d.omitted)
	}
	if d.how.Validate != Ignore {
		m.warnOfRuleNames()
	}
	for _, path := range unused {
		m.Ignored = append(m.Ignored, d.path(path))
	}
	m.adopt()
	return m, nil
}

// warnOfRuleNames warns of rules with a name, a field of jobpolicy unknown to clusters.
func (m *Manifest) warnOfRuleNames() {
	if m.Job.Spec.PodFailurePolicy == nil {
		return
	}
	for i, rule := range m.Job.Spec.PodFailurePolicy.Rules {
		if rule.Name != "" {
			path := fmt.Sprintf("spec.podFailurePolicy.rules[%d].name", i)
			warning := newMistake(m.Line(path), m.at.path(path)+": no Kubernetes up to 1.38 knows this field; kubectl refuses it unless --validate=warn")
			m.Warnings = append(m.Warnings, warning.String())
		}
	}
}

// newMistake returns a mistake on a line, or in a value of -set if line is 0.
func newMistake(line int, text string) document.Mistake {
	if line == 0 {
		text = "-set " + text
	}
	return document.Mistake{Line: line, Detail: text}
}

// inFile returns mistakes with their paths and lines in the file. Values set by flags
// get line 0.
func (d *decoder) inFile(found document.Mistakes) document.Mistakes {
	found = slices.Clone(found)
	for i := range found {
		one := &found[i]
		if d.how.Set.cover(one.Path) {
			one.Line = 0
		}
		one.Path = d.path(one.Path)
	}
	return found
}

// cronMistakes returns the mistakes in a CronJob outside its Job.
func (d *decoder) cronMistakes() document.Mistakes {
	if d.around == nil {
		return nil
	}
	_, found := document.Fit(d.around, d.types["CronJob"])
	found = slices.DeleteFunc(found, func(m document.Mistake) bool { return isJobs(m.Path) })
	for i := range found {
		found[i].Path = d.at + found[i].Path
	}
	return found
}

// located returns the errors with their lines. It omits a missing field if an unknown
// field may be a misspelling of it. Among consecutive errors about one missing field or
// one unsupported value, it keeps only the last, which is the most specific.
func (d *decoder) located(errs field.Errors, found document.Mistakes) (all document.Mistakes) {
	typos := make(document.Paths) // the objects with possible misspellings
	for _, one := range found {
		if d.how.Validate == Strict && one.Meant != "" {
			typos[one.Path[:max(strings.LastIndexByte(one.Path, '.'), 0)]] = true
		}
	}
	for i, e := range errs {
		if e.Type == field.Required && typos.Cover(e.Field) || i+1 < len(errs) && sameMistake(e, errs[i+1]) {
			continue
		}
		if len(all) == document.MaxReported {
			d.omitted++
			continue
		}
		line := d.job.LineOf(e.Field)
		if d.how.Set.cover(e.Field) {
			line = 0
		}
		e.Field = d.path(e.Field)
		all = append(all, newMistake(line, e.Error()))
	}
	return all
}

// sameMistake reports whether two errors concern one missing field or one unsupported
// value.
func sameMistake(a, b field.Error) bool {
	return a.Type == b.Type && a.Field == b.Field && (a.Type == field.Required || a.Type == field.NotSupported)
}

// withoutEffect returns the paths that a flag should not set, which are the unused
// fields and any unknown fields not reported otherwise.
func (d *decoder) withoutEffect(unused []string, found document.Mistakes) []string {
	unused = slices.Clone(unused)
	for _, one := range found {
		if one.Strict() && d.how.Validate != Strict {
			unused = append(unused, one.Path)
		}
	}
	return unused
}

// withoutUse lists fields of jobpolicy that processes do not use.
var withoutUse = []string{
	"status", "spec.ttlSecondsAfterFinished", "spec.template.spec.nodeName",
	"spec.template.spec.containers.restartPolicyRules", "spec.template.spec.initContainers.restartPolicyRules",
}

// unused returns the paths of known fields without meaning for processes.
func (d *decoder) unused(found document.Mistakes) (paths []string) {
	unknown := make(map[string]bool)
	for _, one := range found {
		unknown[one.Path] = one.Strict()
	}
	used := document.TypeFor[batch.Job]()
	for _, path := range withoutUse {
		used.Remove(path)
	}
	_, missing := document.Fit(d.job, used)
	for _, one := range missing {
		isEnv := strings.HasSuffix(one.Path, ".valueFrom") || strings.HasSuffix(one.Path, ".envFrom")
		if one.Strict() && !isEnv && !unknown[one.Path] {
			paths = append(paths, one.Path)
		}
	}
	return paths
}
