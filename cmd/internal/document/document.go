// Package document reads the documents of a YAML or JSON file, and reports with path
// and line which values do not fit a type.
package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"
)

// largest is the size limit of a document, which is an API server's limit of a request.
const largest = 3 << 20

// ErrEmpty means that there is no document.
var ErrEmpty = errors.New("empty: there is no document")

// Node is a value of a document.
type Node struct {
	Line  int // where it begins, from 1; 0 if it is not from a text
	Value any // nil, a bool, a string, a json.Number, a []*Node or an Object
}

// Object is a value with named fields, in the order of the text. Of fields with the
// same name it has only the last.
type Object []Field

// Field is a field of an Object.
type Field struct {
	Name  string
	Line  int // of the name
	First int // line of the first field of this name, 0 if there is only this one
	Value *Node
}

// builder gathers the fields of an Object.
type builder struct {
	object Object
	at     map[string]int // in object, by name
}

// add adds a field, in the place of one with the same name.
func (b *builder) add(name string, line int, value *Node) {
	field := Field{Name: name, Line: line, Value: value}
	if at, again := b.at[name]; again {
		field.First = cmp.Or(b.object[at].First, b.object[at].Line)
		b.object[at] = field
		return
	}
	if b.at == nil {
		b.at = make(map[string]int)
	}
	b.at[name] = len(b.object)
	b.object = append(b.object, field)
}

// Field returns the value of a field, nil if n has none of that name.
func (n *Node) Field(name string) *Node {
	if n == nil {
		return nil
	}
	object, _ := n.Value.(Object)
	for _, f := range object {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Text returns n's string, "" if n is not a string.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	text, _ := n.Value.(string)
	return text
}

// Set sets a field of n, which must be an Object. A nil value removes the field.
func (n *Node) Set(name string, value *Node) {
	object := slices.Clone(n.Value.(Object))
	at := slices.IndexFunc(object, func(f Field) bool { return f.Name == name })
	switch {
	case at >= 0 && value == nil:
		object = slices.Delete(object, at, at+1)
	case at >= 0:
		object[at] = Field{Name: name, Line: object[at].Line, Value: value}
	case value != nil:
		object = append(object, Field{Name: name, Value: value})
	}
	n.Value = object
}

// NameOf returns a file's name for messages.
func NameOf(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// Read returns the one document of a file, or of standard input if the name is -.
// The errors do not name the file.
func Read(name string) (*Node, error) { return one(ReadAll(name)) }

// ReadAll returns the documents of a file or of standard input, at least one.
func ReadAll(name string) ([]*Node, error) {
	text, err := ReadText(name)
	var failure *fs.PathError
	switch {
	case errors.As(err, &failure):
		return nil, failure.Err
	case err != nil:
		return nil, err
	}
	return ParseAll(text)
}

// ReadText returns the bytes of a file or of standard input, unless it is larger
// than any document may be.
func ReadText(name string) ([]byte, error) {
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	text, err := io.ReadAll(io.LimitReader(file, largest+1))
	if err == nil && len(text) > largest {
		err = fmt.Errorf("larger than %d bytes", largest)
	}
	return text, err
}

// Parse returns the one document of a YAML or JSON text.
func Parse(text []byte) (*Node, error) { return one(ParseAll(text)) }

func one(documents []*Node, err error) (*Node, error) {
	switch {
	case err != nil:
		return nil, err
	case len(documents) > 1:
		return nil, fmt.Errorf("%d documents, must be one", len(documents))
	}
	return documents[0], nil
}

// ParseAll returns the documents of a YAML or JSON text, at least one. Empty
// documents of a YAML text do not count.
func ParseAll(text []byte) ([]*Node, error) {
	n, isUTF16 := 0, bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
	for line := range bytes.Lines(text) {
		if n++; !utf8.Valid(line) && !isUTF16 {
			return nil, fmt.Errorf("not a YAML or JSON document: line %d: not UTF-8", n)
		}
	}
	if begin := bytes.TrimLeft(text, " \t\r\n"); len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') {
		if documents, ok := parseJSON(text); ok {
			return documents, nil
		}
	}
	documents, err := parseYAML(text) // even for JSON, since its error names the line
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a YAML or JSON document: %w", err)
	case len(documents) == 0:
		return nil, ErrEmpty
	}
	return documents, nil
}
