// Package jobfile reads the Job of a Kubernetes manifest. It reports all mistakes at
// once, with their lines.
package jobfile

import (
	"slices"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/jobfields"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Manifest is a valid Job with defaults.
type Manifest struct {
	Job       *batch.Job
	Generated string     // prefix of a generated name; "" if the file has a name
	Sources   EnvSources // of variables without plain values
	Config    []Object   // Secrets and ConfigMaps
	Warnings  []string   // mistakes refused only by strict validation
	Ignored   []string   // unused objects and fields
	Written   []byte     // the Job as JSON, without defaults

	at template
}

// Reading configures Decode.
type Reading struct {
	Job       string // name of the Job to read; "" if the file has only one
	Validate  Validation
	Set       Overrides
	Processes bool // pods run as processes of this machine; refuse unsupported fields
}

// Decode returns the Job of a file. Mistakes in the Job are returned together as
// document.Mistakes without Paths.
func Decode(documents []*document.Node, how Reading) (*Manifest, error) {
	all := objects(documents)
	chosen, err := chooseJob(all, how)
	if err != nil {
		return nil, err
	}
	types, err := jobfields.Types()
	if err != nil {
		return nil, err
	}
	d := decoder{template: templateOf(chosen), how: how, types: types}
	if err := how.Set.apply(d.job); err != nil {
		return nil, err
	}
	m, err := d.decode()
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		switch {
		case o.Node == chosen.Node:
		case o.isConfig():
			m.Config = append(m.Config, o)
		default:
			m.Ignored = append(m.Ignored, o.String())
		}
	}
	return m, nil
}

// Line returns the line of a field of the Job, such as spec.podFailurePolicy.rules[0],
// or else of the innermost enclosing field in the file.
func (m *Manifest) Line(field string) int { return m.at.job.LineOf(field) }

// adopt gives the Job a namespace and removes the fields set by another cluster, as for
// a new Job.
func (m *Manifest) adopt() {
	from := m.Job.ObjectMeta
	m.Job.ObjectMeta = batch.ObjectMeta{Name: from.Name, Namespace: from.Namespace, Labels: from.Labels, Annotations: from.Annotations}
	m.Job.Status = batch.JobStatus{}
	if m.Job.Namespace == "" {
		m.Job.Namespace = "default"
	}
	for _, list := range [][]batch.Container{m.Job.Spec.Template.Spec.InitContainers, m.Job.Spec.Template.Spec.Containers} {
		for _, c := range list {
			if image := "image " + c.Image; c.Image != "" && !slices.Contains(m.Ignored, image) {
				m.Ignored = append(m.Ignored, image)
			}
		}
	}
}
