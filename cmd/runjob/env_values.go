package main

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// config holds the values that variables take from Secrets and ConfigMaps. The value of
// a key is the first one found in
//
//  1. the lines of -env-file, by the variable's name and then by the key,
//  2. the object in the manifest's file,
//  3. the environment of this program, by the variable's name.
//
// An object as a whole has the keys in the manifest's file and the lines of -env-file.
type config struct {
	namespace string
	lines     map[string]string            // of -env-file; nil without the flag
	objects   map[string]map[string]string // by kind and name
	machine   func(name string) (string, bool)
}

func newConfig(namespace string, files envFiles) config {
	return config{namespace, files.lines, make(map[string]map[string]string), os.LookupEnv}
}

// configData has the fields read from a Secret or ConfigMap.
type configData struct {
	Data       map[string]string `json:"data"`
	StringData map[string]string `json:"stringData"` // of a Secret
}

// add adds the values of a Secret or ConfigMap.
func (c *config) add(o jobfile.Object) error {
	var found configData
	_, wrong, err := document.Decode(o.Node, document.TypeFor[configData](), &found)
	if err != nil {
		return err
	}
	var all document.Mistakes
	for _, one := range wrong {
		if !one.Strict() { // unknown fields, such as metadata, are not errors
			at := field.Error{Field: o.String() + ": " + one.Path, Type: field.Invalid, Value: one.Value, Detail: one.Detail}
			all = append(all, document.Mistake{Line: one.Line, Detail: at.Error()})
		}
	}
	values := found.Data
	if o.Kind == "Secret" {
		values = make(map[string]string)
		for _, key := range slices.Sorted(maps.Keys(found.Data)) {
			value, err := base64.StdEncoding.DecodeString(found.Data[key])
			if err != nil {
				at := field.Error{Field: fmt.Sprintf("%v: data[%s]", o, key), Type: field.Invalid, Detail: "must be in base64"}
				all = append(all, document.Mistake{Line: o.Node.LineOf("data[" + key + "]"), Detail: at.Error()})
			}
			values[key] = string(value)
		}
		maps.Copy(values, found.StringData)
	}
	if len(all) > 0 {
		return all.Report(0)
	}
	c.objects[o.Kind+" "+o.Name()] = values
	return nil
}

// missingValues lists the values a container waits for.
type missingValues []string

func (m missingValues) Error() string { return strings.Join(m, "; ") }

// add adds the message of err, if any.
func (m *missingValues) add(err error) {
	if err != nil {
		*m = append(*m, err.Error())
	}
}

// err returns m sorted and without duplicates, or nil if m is empty.
func (m missingValues) err() error {
	if len(m) == 0 {
		return nil
	}
	slices.Sort(m)
	return slices.Compact(m)
}

// environment returns a container's command line and the environment of its process. If
// a kubelet could not create the container, the error lists all missing values, where a
// kubelet names only the first.
func (c *config) environment(machine []string, pod *batch.Pod, container batch.Container, sources jobfile.ContainerSources) (argv, env []string, err error) {
	own := expander{variables: variables(pod)}
	var missing missingValues
	for _, from := range sources.From {
		values, err := c.all(from)
		missing.add(err)
		for key, value := range values {
			own.variables[from.Prefix+key] = value
		}
	}
	for i, v := range container.Env {
		source, isSourced := sources.Value[i]
		if !isSourced {
			if own.variables[v.Name], err = own.expand(v.Value); err != nil {
				return nil, nil, err
			}
			continue
		}
		value, found, err := c.value(pod, v.Name, source)
		missing.add(err)
		if found {
			own.variables[v.Name] = value
		}
	}
	if err := missing.err(); err != nil {
		return nil, nil, err
	}
	return resolve(machine, &own, container)
}

// value looks up the value of a variable.
func (c *config) value(pod *batch.Pod, variable string, source jobfile.ValueSource) (value string, found bool, err error) {
	kind, ref := "Secret", source.SecretKeyRef
	switch {
	case source.FieldRef != nil:
		value, found = jobfile.Field(pod, source.FieldRef.FieldPath)
		return value, found, nil
	case ref == nil:
		kind, ref = "ConfigMap", source.ConfigMapKeyRef
	}
	if value, found = c.lines[variable]; found {
		return value, true, nil
	}
	if value, found = c.lines[ref.Key]; found {
		return value, true, nil
	}
	object, known := c.objects[kind+" "+ref.Name]
	if value, found = object[ref.Key]; found {
		return value, true, nil
	}
	if value, found = c.machine(variable); found || ref.Optional {
		return value, found, nil
	}
	missing := fmt.Sprintf("%s %q not found", lower(kind), ref.Name)
	if known {
		missing = fmt.Sprintf("couldn't find key %s in %s %s/%s", ref.Key, kind, c.namespace, ref.Name)
	}
	return "", false, fmt.Errorf("%s: export %s, or write it or %s into a file for -env-file", missing, variable, ref.Key)
}

// all returns all values of an object.
func (c *config) all(from jobfile.FromSource) (map[string]string, error) {
	kind, ref := "Secret", from.SecretRef
	if ref == nil {
		kind, ref = "ConfigMap", from.ConfigMapRef
	}
	object, known := c.objects[kind+" "+ref.Name]
	if !known && c.lines == nil && !ref.Optional {
		return nil, fmt.Errorf("%s %q not found: write its keys into a file for -env-file", lower(kind), ref.Name)
	}
	all := make(map[string]string, len(object)+len(c.lines))
	maps.Copy(all, object)
	maps.Copy(all, c.lines)
	return all, nil
}

// lower spells a kind as the kubelet does in messages.
func lower(kind string) string {
	if kind == "Secret" {
		return "secret"
	}
	return "configmap"
}

// missing returns the reasons why containers of the Job could not be created.
func (m *manifest) missing() (reasons []string) {
	pod := &m.Job.Spec.Template.Spec
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if _, _, err := m.config.environment(nil, &batch.Pod{}, c, m.Sources[c.Name]); err != nil {
			reasons = append(reasons, fmt.Sprintf("container %s: %v", c.Name, err))
		}
	}
	return reasons
}
