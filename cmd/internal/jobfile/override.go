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

// apply changes the document of a Job.
func (o Overrides) apply(job *document.Node) error {
	for _, one := range o {
		if err := set(job, one.path, one.value); err != nil {
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
		if slices.ContainsFunc(ignored, func(path string) bool { return document.Within(one.path, path) }) {
			errs = append(errs, field.Error{Field: one.path, Type: field.NotSupported, Detail: "set by a flag, but not used here"})
		}
	}
	return errs
}

// step is the first step of a path: the field of an object or the element of a list.
var step = regexp.MustCompile(`^\.?(?:([^.\[\]]+)|\[(\d+)\])`)

// set sets the value at a path such as spec.template.spec.containers[0].image, nil to
// take it away. It adds missing objects on the way there.
func set(n *document.Node, path string, value *document.Node) error {
	found := step.FindStringSubmatch(path)
	if found == nil {
		return fmt.Errorf("not a path at %q", path)
	}
	name, rest := found[1], path[len(found[0]):]
	var next *document.Node
	if name == "" {
		index, _ := strconv.Atoi(found[2]) // a number too large is behind every list
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
