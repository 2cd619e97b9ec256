package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
)

// envSources are where containers take variables from, beside plain values, by the
// container's name. This is how a program learns how often its index has failed.
type envSources map[string]containerSources

// containerSources are the sources of one container.
type containerSources struct {
	From  []fromSource        `json:"from,omitempty"`  // envFrom
	Value map[int]valueSource `json:"value,omitempty"` // valueFrom, by the element of env
}

// valueSource is where one variable comes from: exactly one of these.
type valueSource struct {
	FieldRef *struct {
		FieldPath string `json:"fieldPath"`
	} `json:"fieldRef,omitempty"`
	SecretKeyRef     *keyRef   `json:"secretKeyRef,omitempty"`
	ConfigMapKeyRef  *keyRef   `json:"configMapKeyRef,omitempty"`
	ResourceFieldRef *struct{} `json:"resourceFieldRef,omitempty"`
	FileKeyRef       *struct{} `json:"fileKeyRef,omitempty"`
}

// keyRef names a key of a Secret or ConfigMap.
type keyRef struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Optional bool   `json:"optional,omitempty"` // without it the variable is left out
}

// fromSource is a Secret or ConfigMap whose keys all become variables.
type fromSource struct {
	Prefix       string    `json:"prefix,omitempty"`
	SecretRef    *wholeRef `json:"secretRef,omitempty"`
	ConfigMapRef *wholeRef `json:"configMapRef,omitempty"`
}

// wholeRef names a Secret or ConfigMap.
type wholeRef struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional,omitempty"`
}

// sourcedContainer is what of a container says where its variables come from.
type sourcedContainer struct {
	Name string `json:"name"`
	Env  []struct {
		Value     string       `json:"value"`
		ValueFrom *valueSource `json:"valueFrom"`
	} `json:"env"`
	EnvFrom []fromSource `json:"envFrom"`
}

// readEnvSources finds them in a Job as JSON.
func readEnvSources(job []byte) (envSources, error) {
	var found struct {
		Spec struct {
			Template struct {
				Spec struct {
					InitContainers []sourcedContainer `json:"initContainers"`
					Containers     []sourcedContainer `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(job, &found); err != nil {
		return nil, err
	}
	sources := make(envSources)
	pod := found.Spec.Template.Spec
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		one := containerSources{From: c.EnvFrom}
		for i, v := range c.Env {
			if v.ValueFrom == nil {
				continue
			}
			if one.Value == nil {
				one.Value = make(map[int]valueSource)
			}
			one.Value[i] = *v.ValueFrom
		}
		if one.From != nil || one.Value != nil {
			sources[c.Name] = one
		}
	}
	return sources, nil
}

// sources checks where the variables of a container come from.
func (c *checker) sources(at string, container jobpolicy.Container, sources containerSources) {
	for i, v := range container.Env {
		source, ok := sources.Value[i]
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s.env[%d].valueFrom", at, i)
		if v.Value != "" {
			c.add(backoff.ErrorTypeInvalid, at, nil, "must not be there beside a value")
		}
		c.source(at, source)
	}
	for i, from := range sources.From {
		at := fmt.Sprintf("%s.envFrom[%d]", at, i)
		switch {
		case from.SecretRef != nil && from.ConfigMapRef != nil:
			c.add(backoff.ErrorTypeInvalid, at, nil, "must have secretRef or configMapRef, not both")
		case from.SecretRef != nil:
			c.refName(at+".secretRef", from.SecretRef.Name)
		case from.ConfigMapRef != nil:
			c.refName(at+".configMapRef", from.ConfigMapRef.Name)
		default:
			c.add(backoff.ErrorTypeInvalid, at, nil, "must have secretRef or configMapRef")
		}
	}
}

const supportedFields = "must be metadata.name, .namespace, .uid, .annotations['name'] or .labels['name']"

// source checks a valueFrom.
func (c *checker) source(at string, s valueSource) {
	n := 0
	if ref := s.FieldRef; ref != nil {
		n++
		if _, ok := field(&jobpolicy.Pod{}, ref.FieldPath); !ok {
			c.add(backoff.ErrorTypeNotSupported, at+".fieldRef.fieldPath", ref.FieldPath, supportedFields)
		}
	}
	key := func(at string, ref *keyRef) {
		if ref == nil {
			return
		}
		n++
		c.refName(at, ref.Name)
		if ref.Key == "" {
			c.add(backoff.ErrorTypeRequired, at+".key", nil, "")
		}
	}
	key(at+".secretKeyRef", s.SecretKeyRef)
	key(at+".configMapKeyRef", s.ConfigMapKeyRef)
	none := func(at string, ref *struct{}) {
		if ref != nil {
			n++
			c.add(backoff.ErrorTypeNotSupported, at, nil, "a process has none")
		}
	}
	none(at+".resourceFieldRef", s.ResourceFieldRef)
	none(at+".fileKeyRef", s.FileKeyRef)
	switch {
	case n == 0:
		c.add(backoff.ErrorTypeInvalid, at, nil, "must have fieldRef, secretKeyRef or configMapKeyRef")
	case n > 1:
		c.add(backoff.ErrorTypeInvalid, at, nil, "must have only one source")
	}
}

func (c *checker) refName(at, name string) {
	if name == "" {
		c.add(backoff.ErrorTypeRequired, at+".name", nil, "")
	}
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
