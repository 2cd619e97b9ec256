package document

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// ParseValue returns the value of a YAML or JSON text of one document, without lines. It
// is nil for an empty text and for null.
func ParseValue(text string) (*Node, error) {
	documents, err := Parse([]byte(text))
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		return nil, nil
	case len(documents) > 1:
		return nil, errors.New("must be one value")
	case documents[0].Err != nil:
		return nil, errors.New(documents[0].Err.Detail)
	}
	return withoutLines(documents[0].Root), nil
}

// withoutLines returns a copy of a value without lines.
func withoutLines(n *Node) *Node {
	if n == nil {
		return nil
	}
	switch value := n.Value.(type) {
	case Object:
		object := make(Object, len(value))
		for i := range value {
			object[i] = Field{Name: value[i].Name, Value: withoutLines(value[i].Value)}
		}
		return &Node{Value: object}
	case []*Node:
		list := make([]*Node, len(value))
		for i := range value {
			list[i] = withoutLines(value[i])
		}
		return &Node{Value: list}
	}
	return &Node{Value: n.Value}
}

// firstStep matches the first step of a path, either a field of an object or an element
// of a list.
var firstStep = regexp.MustCompile(`^\.?(?:([^.\[\]]+)|\[(\d+)\])`)

// Set sets the value at a path such as spec.template.spec.containers[0].image, and adds
// the missing objects along the path. A nil value removes the present one. Values
// that an alias shares with other parts of the document are copied first.
func (n *Node) Set(path string, value *Node) error {
	found := firstStep.FindStringSubmatch(path)
	if found == nil {
		return fmt.Errorf("not a path at %q", path)
	}
	name, rest := found[1], path[len(found[0]):]
	if name == "" {
		return n.setElement(found[2], rest, value)
	}
	object, ok := n.Value.(Object)
	if !ok {
		return fmt.Errorf("%s is not in an object", name)
	}
	at := slices.IndexFunc(object, func(f Field) bool { return f.Name == name })
	if rest != "" {
		inner := &Node{Value: Object{}}
		if at >= 0 && object[at].Value != nil && object[at].Value.Value != nil {
			*inner = *object[at].Value
		}
		if err := inner.Set(rest, value); err != nil {
			return err
		}
		value = inner
	}
	object = slices.Clone(object)
	switch {
	case at >= 0 && value == nil:
		object = slices.Delete(object, at, at+1)
	case at >= 0:
		object[at] = Field{Name: name, Line: object[at].Line, Value: value}
	case value != nil:
		object = append(object, Field{Name: name, Value: value})
	}
	n.Value = object
	return nil
}

// setElement is Set for a path whose first step is an element of a list.
func (n *Node) setElement(number, rest string, value *Node) error {
	index, err := strconv.Atoi(number)
	list, _ := n.Value.([]*Node)
	if err != nil || index >= len(list) {
		return fmt.Errorf("there is no element %s", number)
	}
	element := &Node{}
	switch {
	case rest != "":
		*element = *list[index]
		if err := element.Set(rest, value); err != nil {
			return err
		}
	case value != nil:
		element.Value = value.Value
	}
	list = slices.Clone(list)
	list[index] = element
	n.Value = list
	return nil
}
