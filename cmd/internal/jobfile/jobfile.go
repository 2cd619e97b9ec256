// Package jobfile reads the Job of a Kubernetes manifest, and reports every mistake
// in it with its line.
package jobfile

import (
	"slices"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/jobfields"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Manifest is a valid Job of a file, with defaults.
type Manifest struct {
	Job       *batch.Job
	Generated string     // the prefix of a generated name, "" if the file has a name
	Sources   EnvSources // of variables, beside their plain values
	Config    []Object   // Secrets and ConfigMaps of the file
	Warnings  []string   // mistakes only under strict validation
	Ignored   []string   // objects and fields that are not used
	Written   []byte     // the Job as JSON, without defaults

	at template
}

// Reading are the options of reading a manifest.
type Reading struct {
	Job       string // name of the one to read; "": the only one
	Validate  Validation
	Set       Overrides
	Processes bool // the pods are to be processes of this machine, and what these cannot do is a mistake
}

// Decode returns the Job of a file, or all its mistakes. Errors in the Job itself are
// document.Mistakes, each without a Path.
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
// or of the innermost one around it that is in the file.
func (m *Manifest) Line(field string) int { return m.at.job.LineOf(field) }

// adopt gives the Job a namespace and removes the fields that another cluster has set,
// as for a new Job.
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
