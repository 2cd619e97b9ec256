package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/jobpolicy"
)

// fieldRefs holds the path of a field of the pod for each variable that takes
// its value from there (env[].valueFrom.fieldRef), by container and variable.
// This is how a program learns how often its index has failed.
type fieldRefs map[string]map[string]string

// readFieldRefs finds them in a Job's document, and returns what is left of the
// paths of unused fields.
func readFieldRefs(document map[string]any, ignored []string) (fieldRefs, []string) {
	type container struct {
		Name string `json:"name"`
		Env  []struct {
			Name      string `json:"name"`
			ValueFrom struct {
				FieldRef struct {
					FieldPath string `json:"fieldPath"`
				} `json:"fieldRef"`
			} `json:"valueFrom"`
		} `json:"env"`
	}
	var job struct {
		Spec struct {
			Template struct {
				Spec struct {
					InitContainers []container `json:"initContainers"`
					Containers     []container `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	text, err := json.Marshal(document)
	if err == nil {
		err = json.Unmarshal(text, &job)
	}
	if err != nil {
		return nil, ignored // the fields named here are of other types: they stay unused
	}
	refs := make(fieldRefs)
	read := func(list string, containers []container) {
		for i, c := range containers {
			for j, v := range c.Env {
				path := v.ValueFrom.FieldRef.FieldPath
				if path == "" {
					continue
				}
				if refs[c.Name] == nil {
					refs[c.Name] = make(map[string]string)
				}
				refs[c.Name][v.Name] = path
				at := fmt.Sprintf("spec.template.spec.%s[%d].env[%d].valueFrom", list, i, j)
				ignored = slices.DeleteFunc(ignored, func(path string) bool { return path == at })
			}
		}
	}
	read("initContainers", job.Spec.Template.Spec.InitContainers)
	read("containers", job.Spec.Template.Spec.Containers)
	return refs, ignored
}

const supportedFields = "must be metadata.name, .namespace, .uid, .annotations['name'] or .labels['name']"

// supported reports whether field knows the path.
func supported(path string) bool {
	_, ok := field(&jobpolicy.Pod{}, path)
	return ok
}

// values returns the variables of a container that name fields of the pod.
func (f fieldRefs) values(pod *jobpolicy.Pod, container string) map[string]string {
	values := make(map[string]string, len(f[container]))
	for name, path := range f[container] {
		values[name], _ = field(pod, path)
	}
	return values
}

// field returns the value of a pod's field, "" if it is not set.
func field(pod *jobpolicy.Pod, path string) (value string, ok bool) {
	switch path {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return pod.UID, true
	}
	for prefix, values := range map[string]map[string]string{
		"metadata.annotations['": pod.Annotations,
		"metadata.labels['":      pod.Labels,
	} {
		if key, found := strings.CutPrefix(path, prefix); found {
			if key, found = strings.CutSuffix(key, "']"); found {
				return values[key], true
			}
		}
	}
	return "", false
}
