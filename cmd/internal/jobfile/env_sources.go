package jobfile

import (
	"strings"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// EnvSources are the sources of variables other than plain values, by container name.
type EnvSources map[string]ContainerSources

// ContainerSources are the sources of one container.
type ContainerSources struct {
	From  []FromSource        `json:"from,omitempty"`  // envFrom
	Value map[int]ValueSource `json:"value,omitempty"` // valueFrom, by index in env
}

// ValueSource is the source of one variable. Exactly one field is set.
type ValueSource struct {
	FieldRef *struct {
		FieldPath string `json:"fieldPath"`
	} `json:"fieldRef,omitempty"`
	SecretKeyRef     *KeyRef   `json:"secretKeyRef,omitempty"`
	ConfigMapKeyRef  *KeyRef   `json:"configMapKeyRef,omitempty"`
	ResourceFieldRef *struct{} `json:"resourceFieldRef,omitempty"`
	FileKeyRef       *struct{} `json:"fileKeyRef,omitempty"`
}

// KeyRef refers to a key of a Secret or ConfigMap.
type KeyRef struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Optional bool   `json:"optional,omitempty"` // omit the variable if the value is missing
}

// FromSource is a Secret or ConfigMap with a variable for each key.
type FromSource struct {
	Prefix       string    `json:"prefix,omitempty"`
	SecretRef    *WholeRef `json:"secretRef,omitempty"`
	ConfigMapRef *WholeRef `json:"configMapRef,omitempty"`
}

// WholeRef refers to a Secret or ConfigMap.
type WholeRef struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional,omitempty"`
}

// sourcedJob holds the fields of a Job with sources of variables.
type sourcedJob struct {
	Spec struct {
		Template struct {
			Spec struct {
				InitContainers []sourcedContainer `json:"initContainers"`
				Containers     []sourcedContainer `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

type sourcedContainer struct {
	Name string `json:"name"`
	Env  []struct {
		ValueFrom *ValueSource `json:"valueFrom"`
	} `json:"env"`
	EnvFrom []FromSource `json:"envFrom"`
}

func (job *sourcedJob) sources() EnvSources {
	sources := make(EnvSources)
	pod := &job.Spec.Template.Spec
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		one := ContainerSources{From: c.EnvFrom, Value: make(map[int]ValueSource)}
		for i, v := range c.Env {
			if v.ValueFrom != nil {
				one.Value[i] = *v.ValueFrom
			}
		}
		if len(one.From)+len(one.Value) > 0 {
			sources[c.Name] = one
		}
	}
	return sources
}

// Field returns the value of a pod's field, "" if not set. ok reports whether the path
// is supported.
func Field(pod *batch.Pod, path string) (value string, ok bool) {
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
