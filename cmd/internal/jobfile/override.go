package jobfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/field"
)

// override is a value that a flag gives to a field of the Job.
type override struct {
	path  string         // from the top, as spec.maxFailedIndexes
	value *document.Node // nil takes the field away
}

// Overrides are a repeatable flag.
type Overrides []override

// String returns "": there is no default.
// String returns "": there is no default.
func (o *Overrides) String() string { return "" }

// Set takes field=value. The field is one of spec, or a path from there; the
// value is YAML.
func (o *Overrides) Set(text string) error {
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return errors.New("must be field=value")
	}
	if !strings.HasPrefix(path, "spec.") {
		path = "spec." + path
	}
	found, err := document.Parse([]byte(value))
	if err != nil && !errors.Is(err, document.ErrEmpty) {
		return err
	}
	*o = append(*o, override{path, found})
	return nil
}

// apply changes the document of a Job. It adds missing objects on the way to a field.
func (o Overrides) apply(job *document.Node) error {
	for _, one := range o {
		steps, err := parsePath(one.path)
		at := job
		for _, step := range steps[:max(len(steps)-1, 0)] {
			if err == nil {
				at, err = step.into(at)
			}
		}
		if err == nil {
			err = steps[len(steps)-1].set(at, one.value)
		}
		if err != nil {
			return fmt.Errorf("-set %s: %w", one.path, err)
		}
	}
	return nil
}

// cover reports whether the value at a path, or a value around it, comes from a flag.
func (o Overrides) cover(path string) bool {
	return slices.ContainsFunc(o, func(one override) bool { return document.Within(path, one.path) })
}

// unused returns an error for each override of an ignored field.
func (o Overrides) unused(ignored []string) (errs field.Errors) {
	for _, one := range o {
		if slices.ContainsFunc(ignored, func(path string) bool { return one.path == path || strings.HasPrefix(one.path, path+".") }) {
			errs = append(errs, field.Error{Field: one.path, Type: field.NotSupported, Detail: "set by a flag, but not used here"})
		}
	}
	return errs
}

// step is one step down a document: the field of an object or, with an empty
// name, the element of a list.
type step struct {
	name  string
	index int
}

var stepPattern = regexp.MustCompile(`^([^.\[\]]+)|^\[(\d+)\]`)

// parsePath reads a path such as spec.template.spec.containers[0].image.
func parsePath(path string) ([]step, error) {
	var steps []step
	for rest := path; rest != ""; {
		if len(steps) > 0 && rest[0] == '.' {
			rest = rest[1:]
		}
		found := stepPattern.FindStringSubmatch(rest)
		if found == nil {
			return nil, fmt.Errorf("not a path at %q", rest)
		}
		rest = rest[len(found[0]):]
		index, _ := strconv.Atoi(found[2]) // a number too large is behind every list
		steps = append(steps, step{found[1], index})
	}
	return steps, nil
}

// into returns the value one step down. It adds a missing object.
func (s step) into(n *document.Node) (*document.Node, error) {
	if s.name == "" {
		list, ok := n.Value.([]*document.Node)
		if !ok || s.index >= len(list) {
			return nil, fmt.Errorf("there is no element %d", s.index)
		}
		return list[s.index], nil
	}
	if _, ok := n.Value.(document.Object); !ok {
		return nil, fmt.Errorf("%s is not in an object", s.name)
	}
	if found := n.Field(s.name); found == nil || found.Value == nil {
		n.Set(s.name, &document.Node{Value: document.Object{}})
	}
	return n.Field(s.name), nil
}

// set sets the value one step down.
func (s step) set(n, value *document.Node) error {
	if s.name == "" {
		element, err := s.into(n)
		if err == nil {
			element.Value = nil
			if value != nil {
				element.Value = value.Value
			}
		}
		return err
	}
	if _, ok := n.Value.(document.Object); !ok {
		return fmt.Errorf("%s is not in an object", s.name)
	}
	n.Set(s.name, value)
	return nil
}
