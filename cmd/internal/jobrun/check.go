package jobrun

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/field"
)

// Check returns the reasons why this machine cannot run a Job that a cluster would: a
// container without a command, a value that comes from a Secret, another controller. The
// field paths begin at the Job.
func Check(job *batchv1.Job, values map[string]string) field.Errors {
	var errs field.Errors
	if by := job.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
		errs.Add(field.NotSupported, "spec.managedBy", *by, "another controller runs this Job")
	}
	if n := job.Spec.Parallelism; n != nil && *n == 0 {
		errs.Add(field.NotSupported, "spec.parallelism", 0, "nothing would ever run: --set parallelism=1")
	}
	pod := &job.Spec.Template.Spec
	const path = "spec.template.spec."
	for i := range pod.InitContainers {
		checkContainer(&errs, fmt.Sprintf("%sinitContainers[%d]", path, i), &pod.InitContainers[i], values)
	}
	for i := range pod.Containers {
		checkContainer(&errs, fmt.Sprintf("%scontainers[%d]", path, i), &pod.Containers[i], values)
	}
	return errs
}

func checkContainer(errs *field.Errors, at string, c *corev1.Container, values map[string]string) {
	switch {
	case len(c.Command) == 0:
		errs.Add(field.Required, at+".command", nil, fmt.Sprintf("images are not run here, so it must name a program: --command %s=PROGRAM", c.Name))
	case c.Command[0] == "":
		errs.Add(field.Invalid, at+".command[0]", "", "must name a program")
	}
	if l := c.Lifecycle; l != nil && l.StopSignal != nil && stopSignal(c) == 0 {
		errs.Add(field.NotSupported, at+".lifecycle.stopSignal", string(*l.StopSignal), "this machine has no such signal")
	}
	for i := range c.Env {
		switch name := c.Env[i].Name; {
		case name == "":
			errs.Add(field.Required, fmt.Sprintf("%s.env[%d].name", at, i), nil, "a variable needs a name")
		case strings.ContainsAny(name, "=\x00"):
			errs.Add(field.Invalid, fmt.Sprintf("%s.env[%d].name", at, i), name, "must not contain =")
		}
		if c.Env[i].ValueFrom == nil {
			continue
		}
		if missing := missingValue(&c.Env[i], values); missing != "" {
			errs.Add(field.NotSupported, fmt.Sprintf("%s.env[%d].valueFrom", at, i), nil, missing)
		}
	}
	for i := range c.EnvFrom {
		kind, name, optional := "", "", (*bool)(nil)
		switch from := &c.EnvFrom[i]; {
		case from.SecretRef != nil:
			kind, name, optional = "Secret", from.SecretRef.Name, from.SecretRef.Optional
		case from.ConfigMapRef != nil:
			kind, name, optional = "ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional
		}
		if kind != "" && values == nil && (optional == nil || !*optional) {
			errs.Add(field.NotSupported, fmt.Sprintf("%s.envFrom[%d]", at, i), nil,
				fmt.Sprintf("the %s %s is not known here: write its keys into a file for --env-file", kind, name))
		}
	}
}
