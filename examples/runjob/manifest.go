package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/jobpolicy"
)

// manifest is a Job as its file describes it, with defaults and found valid.
type manifest struct {
	job     *jobpolicy.Job
	fields  fieldRefs
	ignored []string // paths of what is there but not used
}

// readManifest reads the Job of a file, or of standard input if the name is -.
// What is wrong with the Job itself comes as jobpolicy.FieldErrors.
func readManifest(name string, set overrides) (*manifest, error) {
	found, err := document.Read(name)
	if err != nil {
		return nil, err
	}
	return decodeManifest(found, set)
}

// decodeManifest turns a document, with overrides, into a Job, or says everything
// that is wrong with it.
func decodeManifest(found any, set overrides) (*manifest, error) {
	object, ok := found.(map[string]any)
	if !ok {
		return nil, errors.New("not a Job: must be an object with apiVersion, kind, metadata and spec")
	}
	if object["kind"] != "Job" {
		return nil, jobpolicy.FieldErrors{wrongKind(object["kind"])}
	}
	if err := set.apply(object); err != nil {
		return nil, err
	}
	var unused []string
	if object["status"] != nil {
		unused = append(unused, "status")
		delete(object, "status")
	}
	m := &manifest{job: new(jobpolicy.Job)}
	mistakes, unknown, err := document.Fit(object, m.job)
	if err != nil {
		return nil, err
	}
	var errs jobpolicy.FieldErrors
	for _, e := range mistakes {
		errs = append(errs, jobpolicy.FieldError{Field: e.Path, Type: jobpolicy.Invalid, Value: e.Value, Detail: e.Detail})
	}
	unused = append(unused, unknown...)
	m.fields, m.ignored = readFieldRefs(object, unused)
	m.job.Spec.Default()
	if errs := m.check(slices.Concat(errs, set.unused(unused))); len(errs) > 0 {
		return nil, errs
	}
	m.adopt()
	return m, nil
}

func wrongKind(kind any) jobpolicy.FieldError {
	e := jobpolicy.FieldError{Field: "kind", Type: jobpolicy.NotSupported, Value: kind, Detail: `must be "Job"`}
	text, isText := kind.(string)
	switch {
	case kind == nil:
		e.Type = jobpolicy.Required
	case !isText:
		e.Type, e.Value = jobpolicy.Invalid, nil
	case strings.HasSuffix(text, "List"):
		e.Detail = "only one Job can be run at a time"
	}
	return e
}

// adopt gives the Job what an API server would: a namespace, and no trace of
// another cluster's.
func (m *manifest) adopt() {
	from := m.job.ObjectMeta
	m.job.ObjectMeta = jobpolicy.ObjectMeta{Name: from.Name, Namespace: from.Namespace, Labels: from.Labels, Annotations: from.Annotations}
	if m.job.Namespace == "" {
		m.job.Namespace = "default"
	}
	for _, list := range [][]jobpolicy.Container{m.job.Spec.Template.Spec.InitContainers, m.job.Spec.Template.Spec.Containers} {
		for _, c := range list {
			if c.Image != "" {
				m.ignored = append(m.ignored, "image "+c.Image)
			}
		}
	}
}
