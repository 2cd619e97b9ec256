package jobfile

import (
	"fmt"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// sources checks the sources of a container's variables.
func (c *checker) sources(at string, container batch.Container, sources ContainerSources) {
	for i, v := range container.Env {
		source, ok := sources.Value[i]
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s.env[%d].valueFrom", at, i)
		if v.Value != "" {
			c.add(field.Invalid, at, nil, "must be absent beside a value")
		}
		c.source(at, source)
	}
	for i, from := range sources.From {
		at := fmt.Sprintf("%s.envFrom[%d]", at, i)
		switch {
		case from.SecretRef != nil && from.ConfigMapRef != nil:
			c.add(field.Invalid, at, nil, "must have secretRef or configMapRef, not both")
		case from.SecretRef != nil:
			c.refName(at+".secretRef", from.SecretRef.Name)
		case from.ConfigMapRef != nil:
			c.refName(at+".configMapRef", from.ConfigMapRef.Name)
		default:
			c.add(field.Invalid, at, nil, "must have secretRef or configMapRef")
		}
	}
}

const supportedFields = "must be metadata.name, .namespace, .uid, .annotations['name'] or .labels['name']"

// source checks one valueFrom.
func (c *checker) source(at string, s ValueSource) {
	n := 0
	if ref := s.FieldRef; ref != nil {
		n++
		if _, ok := Field(&batch.Pod{}, ref.FieldPath); !ok && c.processes {
			c.add(field.NotSupported, at+".fieldRef.fieldPath", ref.FieldPath, supportedFields)
		}
	}
	key := func(at string, ref *KeyRef) {
		if ref == nil {
			return
		}
		n++
		c.refName(at, ref.Name)
		if ref.Key == "" {
			c.add(field.Required, at+".key", nil, "")
		}
	}
	key(at+".secretKeyRef", s.SecretKeyRef)
	key(at+".configMapKeyRef", s.ConfigMapKeyRef)
	none := func(at string, ref *struct{}) {
		if ref != nil {
			n++
			if c.processes {
				c.add(field.NotSupported, at, nil, "a process has none")
			}
		}
	}
	none(at+".resourceFieldRef", s.ResourceFieldRef)
	none(at+".fileKeyRef", s.FileKeyRef)
	switch {
	case n == 0:
		c.add(field.Invalid, at, nil, "must have fieldRef, secretKeyRef or configMapKeyRef")
	case n > 1:
		c.add(field.Invalid, at, nil, "must have only one source")
	}
}

func (c *checker) refName(at, name string) {
	if name == "" {
		c.add(field.Required, at+".name", nil, "")
	}
}
