// Package document parses YAML and JSON files, and reports mistakes by path and line.
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

// largest is the size limit of a document in bytes, equal to an API server's limit for
// requests.
const largest = 3 << 20

// ErrEmpty is returned for a text without documents.
var ErrEmpty = errors.New("empty: no document")

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
	at     map[string]int // index in object by name
}

// add adds a field. It replaces a field with the same name.
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

// Field returns the value of a field of n, or nil if missing.
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

// Text returns the string n, or "" if n is not a string.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	text, _ := n.Value.(string)
	return text
}

// Set sets a field of the Object n. A nil value removes it.
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

// Read returns the only document of a file, or of standard input if name is -. Errors
// do not include the name.
func Read(name string) (*Node, error) { return one(ReadAll(name)) }

// ReadAll returns the documents of a file or standard input, at least one.
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

// ReadText returns the content of a file or standard input, or an error if it exceeds
// the size limit.
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

// Parse returns the only document in a YAML or JSON text.
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

// ParseAll returns the non-empty documents in a YAML or JSON text, or ErrEmpty if it
// has none.
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
	documents, err := parseYAML(text) // even for JSON, since its errors have line numbers
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a YAML or JSON document: %w", err)
	case len(documents) == 0:
		return nil, ErrEmpty
	}
	return documents, nil
}
