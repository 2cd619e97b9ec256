package jobfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// checker collects the reasons why a Job cannot run.
type checker struct {
	errs      field.Errors
	processes bool // fields that processes cannot support are mistakes too
}

func (c *checker) add(kind field.Type, path string, value any, detail string) {
	c.errs = append(c.errs, field.Error{Field: path, Type: kind, Value: value, Detail: detail})
}

// check returns the mistakes of a Job with defaults. found lists the values of wrong
// types. Parts of the Job with such values are not checked, to avoid follow-up errors.
func (m *Manifest) check(found document.Mistakes, processes bool) field.Errors {
	sound := func(part string) bool {
		return !slices.ContainsFunc(found, func(e document.Mistake) bool {
			return !e.Strict() && document.Within(e.Path, part)
		})
	}
	c := checker{processes: processes}
	if sound("apiVersion") {
		c.version(m.Job.APIVersion)
	}
	if sound("metadata") {
		c.name(m.Job.Name, m.Generated)
	}
	if sound("spec") {
		c.spec(&m.Job.Spec, m.Sources)
	}
	if sound("metadata") && sound("spec") {
		c.hostName(m.Job)
	}
	return c.errs
}

func (c *checker) version(v string) {
	const want = "batch/v1"
	switch {
	case v == "":
		c.add(field.Required, "apiVersion", nil, "must be "+want)
	case v != want:
		c.add(field.NotSupported, "apiVersion", v, "must be "+want)
	}
}

func (c *checker) spec(spec *batch.JobSpec, sources EnvSources) {
	var invalid field.Errors
	if errors.As(spec.Validate(), &invalid) {
		c.errs = append(c.errs, invalid...)
	}
	if c.processes {
		c.idle(spec)
	}
	c.pod(&spec.Template.Spec, sources)
}

// idle refuses a Job that would never run.
func (c *checker) idle(spec *batch.JobSpec) {
	if spec.ManagedBy != "" && spec.ManagedBy != "kubernetes.io/job-controller" {
		c.add(field.NotSupported, "spec.managedBy", spec.ManagedBy, "another controller runs this Job")
	}
	const idle = "nothing would ever run"
	if spec.Suspend {
		c.add(field.NotSupported, "spec.suspend", true, idle)
	}
	if *spec.Parallelism == 0 {
		c.add(field.NotSupported, "spec.parallelism", 0, idle)
	}
}

// pod checks the used part of the pod template.
func (c *checker) pod(pod *batch.PodSpec, sources EnvSources) {
	const path = "spec.template.spec."
	if grace := pod.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		c.add(field.Invalid, path+"terminationGracePeriodSeconds", *grace, "must be 0 or more")
	}
	names := make(map[string]bool)
	for i, container := range pod.InitContainers {
		at := fmt.Sprintf("%sinitContainers[%d]", path, i)
		c.container(at, container, names, sources)
		if p := container.RestartPolicy; p != "" && p != batch.RestartPolicyAlways {
			c.add(field.NotSupported, at+".restartPolicy", string(p), "must be Always, which makes it a sidecar, or absent")
		}
	}
	if len(pod.Containers) == 0 {
		c.add(field.Required, path+"containers", nil, "a pod needs a container")
	}
	for i, container := range pod.Containers {
		at := fmt.Sprintf("%scontainers[%d]", path, i)
		c.container(at, container, names, sources)
		if p := container.RestartPolicy; p != "" && c.processes {
			c.add(field.NotSupported, at+".restartPolicy", string(p), "only the pod's restartPolicy is used")
		}
	}
}

func (c *checker) container(at string, container batch.Container, names map[string]bool, sources EnvSources) {
	switch {
	case container.Name == "":
		c.add(field.Required, at+".name", nil, "a container needs a name")
	case !validLabel(container.Name):
		c.add(field.Invalid, at+".name", container.Name, nameRule)
	case names[container.Name]:
		c.add(field.Duplicate, at+".name", container.Name, "")
	}
	names[container.Name] = true
	switch {
	case !c.processes: // the image has a command
	case len(container.Command) == 0:
		c.add(field.Required, at+".command", nil, "images are ignored, so it must name a program")
	case container.Command[0] == "":
		c.add(field.Invalid, at+".command[0]", "", "must name a program")
	}
	for i, v := range container.Env {
		at := fmt.Sprintf("%s.env[%d]", at, i)
		switch {
		case v.Name == "":
			c.add(field.Required, at+".name", nil, "a variable needs a name")
		case strings.ContainsAny(v.Name, "=\x00"):
			c.add(field.Invalid, at+".name", v.Name, "must not contain =")
		}
	}
	c.sources(at, container, sources[container.Name])
}
