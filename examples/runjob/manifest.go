package main

import (
	"slices"

	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/examples/internal/jobfields"
	"github.com/restartkit/restart/jobpolicy"
)

// manifest is a valid Job of a file, with defaults.
type manifest struct {
	job       *jobpolicy.Job
	generated string     // the prefix of a generated name, "" if the file has a name
	sources   envSources // of variables, beside their plain values
	config    config     // values for them
	warnings  []string   // mistakes only under strict validation
	ignored   []string   // objects and fields that are not used
}

// reading are the options of reading a manifest.
type reading struct {
	job      string // name of the one to run; "": the only one
	validate validation
	set      overrides
	envFiles envFiles
}

// readManifest reads the Job of a file, or of standard input if the name is -. Errors
// in the Job itself are mistakes.
func readManifest(name string, how reading) (*manifest, error) {
	documents, err := document.ReadAll(name)
	if err != nil {
		return nil, err
	}
	return decodeManifest(documents, how)
}

// decodeManifest returns the Job of a file, ready to run, or all its mistakes.
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

// adopt gives the Job a namespace and removes the fields that another cluster has set,
// as for a new Job.
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
