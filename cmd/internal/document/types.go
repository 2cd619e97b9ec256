package document

import (
	"bufio"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Type is what a value can be: an object of known fields, a list, an object of any
// names, or something simple.
type Type struct {
	want   string             // as in: must be a string
	fields map[string]*Type   // of an object of known fields
	elem   *Type              // of a list, or of an object of any names
	list   bool               // elem is a list's
	fits   func(v any) string // "", or what a simple value should have been
}

// Duration is a duration in the form 4s.
type Duration time.Duration

// UnmarshalText reads the form of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// simple are the types without parts, by their names in tables.
var simple = map[string]*Type{
	"any":      {fits: func(any) string { return "" }},
	"string":   {fits: fitsKind[string]("a string")},
	"bool":     {fits: fitsKind[bool]("true or false")},
	"int":      {fits: fitsInteger(strconv.IntSize)},
	"int32":    {fits: fitsInteger(32)},
	"int64":    {fits: fitsInteger(64)},
	"float64":  {fits: fitsNumber},
	"time":     {fits: fitsText("a time such as 2006-01-02T15:04:05Z", func() encoding.TextUnmarshaler { return new(time.Time) })},
	"duration": {fits: fitsText("a duration such as 4s", func() encoding.TextUnmarshaler { return new(Duration) })},
	"range":    {fits: fitsText("a range such as 128-159", func() encoding.TextUnmarshaler { return new(backoff.CodeRange) })},
	"quantity": {fits: fitsTextOrNumber("a quantity such as 500m or 2Gi")},
	"intstr":   {fits: fitsTextOrNumber("an integer or a string")},
}

func fitsKind[T any](want string) func(v any) string {
	return func(v any) string {
		if _, ok := v.(T); !ok {
			return want
		}
		return ""
	}
}

func fitsInteger(bits int) func(v any) string {
	return func(v any) string {
		n, ok := v.(json.Number)
		if !ok {
			return "an integer"
		}
		if _, err := strconv.ParseInt(n.String(), 10, bits); err == nil {
			return ""
		} else if err.(*strconv.NumError).Err == strconv.ErrRange {
			return fmt.Sprintf("an integer of %d bits", bits)
		}
		return "an integer"
	}
}

func fitsNumber(v any) string {
	n, ok := v.(json.Number)
	if !ok {
		return "a number"
	}
	if _, err := n.Float64(); err != nil {
		return "a number of 64 bits"
	}
	return ""
}

func fitsText(want string, into func() encoding.TextUnmarshaler) func(v any) string {
	return func(v any) string {
		if s, ok := v.(string); ok && into().UnmarshalText([]byte(s)) == nil {
			return ""
		}
		return want
	}
}

func fitsTextOrNumber(want string) func(v any) string {
	return func(v any) string {
		switch v.(type) {
		case string, json.Number:
			return ""
		}
		return want
	}
}

// TypeFor returns the type of the values that encoding/json stores in a T.
func TypeFor[T any]() *Type { return typeOf(reflect.TypeFor[T]()) }

func typeOf(t reflect.Type) *Type {
	switch t {
	case reflect.TypeFor[time.Time]():
		return simple["time"]
	case reflect.TypeFor[Duration](), reflect.TypeFor[time.Duration](): // package backoff reads texts into the latter
		return simple["duration"]
	case reflect.TypeFor[backoff.CodeRange]():
		return simple["range"]
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.Struct:
		return &Type{want: "an object", fields: fieldsOf(t)}
	case reflect.Slice:
		return &Type{want: "a list", elem: typeOf(t.Elem()), list: true}
	case reflect.Map:
		return &Type{want: "an object", elem: typeOf(t.Elem())}
	}
	if found := simple[t.Kind().String()]; found != nil {
		return found
	}
	panic("document: a document cannot hold a " + t.String())
}

// fieldsOf maps the JSON names of a struct's fields, those of structs embedded
// without a name included, to their types.
func fieldsOf(t reflect.Type) map[string]*Type {
	fields := make(map[string]*Type, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			fields[name] = typeOf(field.Type)
		case name == "" && field.Anonymous:
			maps.Copy(fields, fieldsOf(field.Type))
		}
	}
	return fields
}

// ParseTypes reads a table of types. A type is a line with its name, followed by a
// line for each field: a tab, the field's name, a space and its type. That is the name
// of a type, which may be defined later, with the prefix [] for a list or map[string]
// for an object of any names. A type that is defined twice has the fields of both.
func ParseTypes(table string) (map[string]*Type, error) {
	types := make(map[string]*Type)
	var named func(name string) *Type
	named = func(name string) *Type {
		if elem, ok := strings.CutPrefix(name, "[]"); ok {
			return &Type{want: "a list", elem: named(elem), list: true}
		}
		if elem, ok := strings.CutPrefix(name, "map[string]"); ok {
			return &Type{want: "an object", elem: named(elem)}
		}
		if found := simple[name]; found != nil {
			return found
		}
		if types[name] == nil {
			types[name] = &Type{want: "an object"}
		}
		return types[name]
	}
	var present *Type
	for lines := bufio.NewScanner(strings.NewReader(table)); lines.Scan(); {
		line, isField := strings.CutPrefix(lines.Text(), "\t")
		field, of, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "#"):
		case !isField:
			if present = named(line); present.fields == nil {
				present.fields = make(map[string]*Type)
			}
		default:
			present.fields[field] = named(of)
		}
	}
	for name, t := range types {
		if t.fields == nil {
			return nil, fmt.Errorf("document: ParseTypes: the type %s has no fields", name)
		}
	}
	return types, nil
}

// Field returns the type of the field at a path of names, such as spec.template, nil if
// there is no such field. A list on the way stands for its elements.
func (t *Type) Field(path ...string) *Type {
	for _, name := range path {
		for t.elem != nil {
			t = t.elem
		}
		if t = t.fields[name]; t == nil {
			return nil
		}
	}
	return t
}

// Without returns an object's type without some of its fields.
func (t *Type) Without(names ...string) *Type {
	less := *t
	less.fields = maps.Clone(t.fields)
	for _, name := range names {
		delete(less.fields, name)
	}
	return &less
}
