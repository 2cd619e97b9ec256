package document

import (
	"strconv"
	"strings"
)

// Within reports whether path equals whole or is below it. The path "" is the document.
func Within(path, whole string) bool {
	rest, ok := strings.CutPrefix(path, whole)
	return ok && (rest == "" || whole == "" || rest[0] == '.' || rest[0] == '[')
}

// join returns the path of a named field of the value at path.
func join(path, name string) string {
	if name == "" {
		name = `""`
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// LineOf returns the line of the value at a path such as
// spec.template.spec.containers[0].name, or of the innermost enclosing value in the
// text. A field's line is that of its name. It is 0 for a nil n.
func (n *Node) LineOf(path string) int {
	if n == nil {
		return 0
	}
	line := n.Line
	for n != nil {
		var at int
		if n, at, path = n.step(path); at > 0 {
			line = at
		}
	}
	return line
}

// At returns the value at a path, or nil if there is none.
func (n *Node) At(path string) *Node {
	for n != nil && path != "" {
		n, _, path = n.step(path)
	}
	return n
}

// step returns the part of n for the first step of path, its line, and the remaining
// path. part is nil if n has no such part.
func (n *Node) step(path string) (part *Node, line int, rest string) {
	switch value := n.Value.(type) {
	case Object:
		for i := range value {
			f := &value[i]
			if rest, ok := strings.CutPrefix(path, "["+f.Name+"]"); ok {
				return f.Value, f.Line, strings.TrimPrefix(rest, ".")
			}
			if rest, ok := strings.CutPrefix(path, f.Name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return f.Value, f.Line, strings.TrimPrefix(rest, ".")
			}
		}
	case []*Node:
		index, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(index); ok && err == nil && i >= 0 && i < len(value) {
			return value[i], value[i].Line, strings.TrimPrefix(rest, ".")
		}
	}
	return nil, 0, ""
}
