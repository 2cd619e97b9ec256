package document

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/internal/spelling"
)

// Decode stores a document in the value to which into points, as encoding/json would,
// and returns all values of wrong types, unknown fields and duplicate fields, in the
// order of the text. What does not fit is left out. Names are case-sensitive, and null
// counts as absent, as in Kubernetes.
func Decode(n *Node, into any) Mistakes {
	fitted, found := fit(n, typeOf(reflect.TypeOf(into)))
	text, err := json.Marshal(fitted)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil { // a value of the right type that cannot be read, such as a time out of range
		found = append(found, Mistake{Line: n.Line, Detail: err.Error()})
	}
	return found
}

// fit returns the part of a document that fits a type, as values of encoding/json.
func fit(n *Node, t *valueType) (fitted any, found Mistakes) {
	var f fitter
	fitted = f.fit(n, t, "")
	slices.SortStableFunc(f.mistakes, func(a, b Mistake) int { return a.Line - b.Line })
	return fitted, f.mistakes
}

type fitter struct{ mistakes Mistakes }

func (f *fitter) add(m Mistake) { f.mistakes = append(f.mistakes, m) }

// fit returns the part of n that fits t.
func (f *fitter) fit(n *Node, t *valueType, path string) any {
	if n == nil || n.Value == nil || t.raw {
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
	case json.Number:
		if whole, ok := wholeNumber(value); ok && t.want == "an integer" {
			value = whole
		}
		if t.fits != nil && t.fits(value) {
			return value
		}
	default:
		if t.fits != nil && t.fits(value) {
			return value
		}
	}
	return f.wrong(n, t.wanted(n.Value), path)
}

// wholeNumber returns a number such as 3.0 as 3, since kubectl sends it so.
func wholeNumber(n json.Number) (json.Number, bool) {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n, false
	}
	value, err := n.Float64()
	if err != nil || value != float64(int64(value)) || value > 1<<53 || value < -1<<53 {
		return n, false
	}
	return json.Number(strconv.FormatInt(int64(value), 10)), true
}

func (f *fitter) object(object Object, t *valueType, path string) any {
	fitted := make(map[string]any, len(object))
	for i := range object {
		field := &object[i]
		of, at := t.elem, ""
		if t.fields != nil {
			of, at = t.fields[field.Name], join(path, field.Name)
		} else {
			at = path + "[" + field.Name + "]"
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

func (f *fitter) list(list []*Node, of *valueType, path string) any {
	fitted := make([]any, len(list))
	for i, element := range list {
		fitted[i] = f.fit(element, of, path+"["+strconv.Itoa(i)+"]")
	}
	return fitted
}

// unknown reports a field unknown to an object of type t.
func (f *fitter) unknown(field *Field, t *valueType, path string) {
	m := Mistake{Path: path, Line: field.Line, Detail: "unknown field", Fault: Unknown, Meant: spelling.Nearest(field.Name, t.names)}
	if m.Meant != "" {
		m.Detail += ": did you mean " + m.Meant + "?"
	}
	f.add(m)
}

// wrong reports a value of a wrong type.
func (f *fitter) wrong(n *Node, want, path string) any {
	m := Mistake{Path: path, Line: n.Line, Detail: "must be " + want}
	switch v := n.Value.(type) {
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
