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

// override sets a field of the Job from a flag.
type override struct {
	path  string         // full path, such as spec.maxFailedIndexes
	value *document.Node // nil removes the field
}

// Overrides are the values of a repeatable flag.
type Overrides []override

// String returns "", since the flag has no default.
func (o *Overrides) String() string { return "" }

// Set adds an override of the form field=value. The field is a path within spec, and
// the value is YAML.
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

// apply applies the overrides to the document of a Job.
func (o Overrides) apply(job *document.Node) error {
	for _, one := range o {
		if err := set(job, one.path, one.value); err != nil {
			return fmt.Errorf("-set %s: %w", one.path, err)
		}
	}
	return nil
}

// cover reports whether the value at a path, or an enclosing value, comes from a flag.
func (o Overrides) cover(path string) bool {
	return slices.ContainsFunc(o, func(one override) bool { return document.Within(path, one.path) })
}

// unused returns an error for each override of an ignored field.
func (o Overrides) unused(ignored []string) (errs field.Errors) {
	for _, one := range o {
		if slices.ContainsFunc(ignored, func(path string) bool { return document.Within(one.path, path) }) {
			errs = append(errs, field.Error{Field: one.path, Type: field.NotSupported, Detail: "set by a flag, but not used here"})
		}
	}
	return errs
}

// step matches the first step of a path, either a field of an object or an element of a
// list.
var step = regexp.MustCompile(`^\.?(?:([^.\[\]]+)|\[(\d+)\])`)

// set sets the value at a path such as spec.template.spec.containers[0].image. A nil
// value removes it. Missing objects along the path are added.
func set(n *document.Node, path string, value *document.Node) error {
	found := step.FindStringSubmatch(path)
	if found == nil {
		return fmt.Errorf("not a path at %q", path)
	}
	name, rest := found[1], path[len(found[0]):]
	var next *document.Node
	if name == "" {
		index, _ := strconv.Atoi(found[2]) // a number out of range exceeds every list
		list, _ := n.Value.([]*document.Node)
		if index >= len(list) {
			return fmt.Errorf("there is no element %d", index)
		}
		next = list[index]
	} else {
		if _, ok := n.Value.(document.Object); !ok {
			return fmt.Errorf("%s is not in an object", name)
		}
		if next = n.Field(name); next == nil || next.Value == nil {
			next = &document.Node{Value: document.Object{}}
			n.Set(name, next)
		}
	}
	switch {
	case rest != "":
		return set(next, rest, value)
	case name != "":
		n.Set(name, value)
	case value != nil:
		next.Value = value.Value
	default:
		next.Value = nil
	}
	return nil
}
