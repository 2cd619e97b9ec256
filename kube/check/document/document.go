// Package document reads YAML and JSON as kubectl does, and remembers the line of every
// value.
//
// Parse splits a text into its documents. Decode stores a document in a Go value and
// returns every misfit, with its path and line:
//
//	documents, err := document.Parse(text)
//	...
//	var job batchv1.Job
//	mistakes := document.Decode(documents[0].Root, &job)
package document

import "cmp"

// Document is one document of a text, or one value of a JSON stream.
type Document struct {
	Line int    // where its text begins in the file, from 1
	Text []byte // without the line of dashes before it

	// Root is its value. It is nil if the document is empty, has only comments or is
	// null, and if Err is set.
	Root *Node

	// Err says why the document cannot be read.
	Err *SyntaxError
}

// SyntaxError says why a document is neither YAML nor JSON.
type SyntaxError struct {
	Line   int // where it is noticed
	Detail string
}

// Error returns the line and the detail.
func (e *SyntaxError) Error() string { return Mistake{Line: e.Line, Detail: e.Detail}.String() }

// Node is a value in a document.
type Node struct {
	Line  int // first line, from 1; 0 if not from a text
	Value any // nil, a bool, a string, a json.Number, a []*Node or an Object
}

// Object is a value with named fields, in the order of the text. The last of several
// fields with one name is kept.
type Object []Field

// Field is a field of an Object.
type Field struct {
	Name  string
	Line  int // of the name
	First int // line of the first field of this name; 0 if unique
	Value *Node
}

// builder collects the fields of an Object.
type builder struct {
	object Object
	at     map[string]int // index in object by name, once there are many
	merged map[string]bool
}

// few is the number of fields searched one by one.
const few = 16

func (b *builder) index(name string) int {
	if b.at != nil {
		if i, found := b.at[name]; found {
			return i
		}
		return -1
	}
	for i := range b.object {
		if b.object[i].Name == name {
			return i
		}
	}
	return -1
}

// add adds a field. It replaces a field with the same name, and remembers that there
// were two, unless one of them comes from a merge.
func (b *builder) add(name string, line int, value *Node) {
	field := Field{Name: name, Line: line, Value: value}
	if i := b.index(name); i >= 0 {
		if !b.merged[name] {
			field.First = cmp.Or(b.object[i].First, b.object[i].Line)
		}
		delete(b.merged, name)
		b.object[i] = field
		return
	}
	b.object = append(b.object, field)
	switch {
	case b.at != nil:
		b.at[name] = len(b.object) - 1
	case len(b.object) > few:
		b.at = make(map[string]int)
		for i := range b.object {
			b.at[b.object[i].Name] = i
		}
	}
}

// merge sets a field that comes from another object.
func (b *builder) merge(f Field) {
	if b.merged == nil {
		b.merged = make(map[string]bool)
	}
	b.merged[f.Name] = true
	b.add(f.Name, f.Line, f.Value)
	b.merged[f.Name] = true
}

// Field returns the value of a field of n, or nil if missing.
func (n *Node) Field(name string) *Node {
	if n == nil {
		return nil
	}
	object, _ := n.Value.(Object)
	for i := range object {
		if object[i].Name == name {
			return object[i].Value
		}
	}
	return nil
}

// List returns the elements of n, or nil if n is not a list.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	list, _ := n.Value.([]*Node)
	return list
}

// IsObject reports whether n is an Object.
func (n *Node) IsObject() bool {
	if n == nil {
		return false
	}
	_, ok := n.Value.(Object)
	return ok
}

// Text returns the string n, or "" if n is not a string.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	text, _ := n.Value.(string)
	return text
}
