package main

import (
	"cmp"
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

// newMistake returns a mistake on a line or, if that is 0, in what -set has given.
func newMistake(line int, text string) mistake {
	if line == 0 {
		text = "-set " + text
	}
	return mistake{line, text}
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

// sorted returns the mistakes in the order of their lines.
func (m mistakes) sorted() mistakes {
	return slices.SortedStableFunc(slices.Values(m), func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
}

// shortened returns the first of many mistakes, and how many more there are beside
// those that were left out before.
func (m mistakes) shortened(untold int) mistakes {
	if len(m) > document.MostTold {
		untold += len(m) - document.MostTold
		m = m[:document.MostTold]
	}
	if untold > 0 {
		m = append(slices.Clone(m), mistake{text: fmt.Sprintf("and %d more", untold)})
	}
	return m
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
