package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/restartkit/restart/internal/spelling"
)

// Fit returns the part of a document that fits a type, as values of encoding/json, and
// all values of wrong types, unknown fields and duplicate fields, in the order of the
// text. Names are case-sensitive, as in Kubernetes. Null counts as absent.
func Fit(n *Node, t *Type) (fitted any, found Mistakes) {
	var f fitter
	fitted = f.fit(n, t, "")
	slices.SortStableFunc(f.mistakes, func(a, b Mistake) int { return a.Line - b.Line })
	return fitted, f.mistakes
}

// Decode decodes the fitting part of a document into each element of into. It returns
// that part as JSON, and the mistakes.
func Decode(n *Node, t *Type, into ...any) (text []byte, found Mistakes, err error) {
	fitted, found := Fit(n, t)
	text, err = json.Marshal(fitted)
	for _, one := range into {
		if err == nil {
			err = json.Unmarshal(text, one)
		}
	}
	return text, found, err
}

type fitter struct{ mistakes Mistakes }

func (f *fitter) add(m Mistake) { f.mistakes = append(f.mistakes, m) }

// fit returns the part of n that fits t.
func (f *fitter) fit(n *Node, t *Type, path string) any {
	if n.Value == nil || t == simple["any"] {
		return nil // treated as absent, or unused
	}
	switch value := n.Value.(type) {
	case Object:
		if t.fields != nil || t.elem != nil && !t.list {
			return f.object(value, t, path)
		}
	case []*Node:
		if t.list {
			return f.list(value, t.elem, path)
		}
	default:
		if t.fits == nil || !t.fits(value) {
			break
		}
		if s, ok := value.(string); ok && strings.ContainsRune(s, 0) { // arguments of processes cannot contain NUL
			f.add(Mistake{Path: path, Line: n.Line, Detail: "must not have a NUL character"})
			return nil
		}
		return value
	}
	return f.wrong(n, t.wanted(n.Value), path)
}

func (f *fitter) object(object Object, t *Type, path string) any {
	fitted := make(map[string]any, len(object))
	for _, field := range object {
		of, at := t.elem, fmt.Sprintf("%s[%s]", path, field.Name)
		if t.fields != nil {
			of, at = t.fields[field.Name], join(path, field.Name)
		}
		if of == nil {
			f.unknown(field, t, at)
			continue
		}
		if field.First != 0 {
			f.add(Mistake{Path: at, Line: field.Line, Detail: fmt.Sprintf("already given on line %d", field.First), Fault: Again})
		}
		fitted[field.Name] = f.fit(field.Value, of, at)
	}
	return fitted
}

func (f *fitter) list(list []*Node, of *Type, path string) any {
	fitted := make([]any, len(list))
	for i, element := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if element.Value == nil {
			f.wrong(element, "a value", at)
		}
		fitted[i] = f.fit(element, of, at)
	}
	return fitted
}

// unknown reports a field unknown to an object of type t.
func (f *fitter) unknown(field Field, t *Type, path string) {
	m := Mistake{Path: path, Line: field.Line, Detail: "unknown field", Fault: Unknown, Meant: spelling.Nearest(field.Name, slices.Sorted(maps.Keys(t.fields)))}
	if m.Meant != "" {
		m.Detail += ": did you mean " + m.Meant + "?"
	}
	f.add(m)
}

// wrong reports a value of a wrong type.
func (f *fitter) wrong(n *Node, want, path string) any {
	m := Mistake{Path: path, Line: n.Line, Detail: "must be " + want}
	switch v := n.Value.(type) {
	case nil:
		m.Detail += ", not null"
	case Object:
		m.Detail += ", not an object"
	case []*Node:
		m.Detail += ", not a list"
	default:
		m.Value = v
		if want == "a string" {
			m.Detail += ": put it in quotes"
		}
	}
	f.add(m)
	return nil
}
