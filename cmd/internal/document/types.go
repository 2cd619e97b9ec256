package document

import (
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

// Type is the type of a value, which is a simple type, a list, or an object with known
// or arbitrary fields.
type Type struct {
	want   string           // completes "must be ", such as a string
	fields map[string]*Type // of an object with known fields
	elem   *Type            // of a list, or of an object with arbitrary names
	list   bool             // elem is for a list
	bits   int              // of a number
	fits   func(v any) bool // whether a simple value fits
}

// Duration is a duration with a text such as 4s.
type Duration time.Duration

// UnmarshalText parses the format of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// simple are the types without parts, by their names in tables of types.
var simple = map[string]*Type{
	"any":      {},
	"string":   {want: "a string", fits: is[string]},
	"bool":     {want: "true or false", fits: is[bool]},
	"int":      integer(strconv.IntSize),
	"int32":    integer(32),
	"int64":    integer(64),
	"float64":  {want: "a number", bits: 64, fits: isFloat},
	"time":     {want: "a time such as 2006-01-02T15:04:05Z", fits: isText[time.Time]},
	"duration": {want: "a duration such as 4s", fits: isText[Duration]},
	"range":    {want: "a range such as 128-159", fits: isText[backoff.CodeRange]},
	"quantity": {want: "a quantity such as 500m or 2Gi", fits: isTextOrNumber},
	"intstr":   {want: "an integer or a string", fits: isTextOrNumber},
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

func isTextOrNumber(v any) bool { return is[string](v) || is[json.Number](v) }

func isFloat(v any) bool {
	n, _ := v.(json.Number)
	_, err := n.Float64()
	return err == nil
}

// isText reports whether v is a valid text of a T.
func isText[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](v any) bool {
	s, ok := v.(string)
	return ok && P(new(T)).UnmarshalText([]byte(s)) == nil
}

func integer(bits int) *Type {
	return &Type{want: "an integer", bits: bits, fits: func(v any) bool {
		n, _ := v.(json.Number)
		_, err := strconv.ParseInt(n.String(), 10, bits)
		return err == nil
	}}
}

// wanted returns the type expected in place of v, which does not fit t.
func (t *Type) wanted(v any) string {
	n, ok := v.(json.Number)
	if ok && t.bits > 0 && (t.want == "a number" || !strings.ContainsAny(n.String(), ".eE")) { // out of range
		return fmt.Sprintf("%s of %d bits", t.want, t.bits)
	}
	return t.want
}

// TypeFor returns the type of values that encoding/json decodes into a T.
func TypeFor[T any]() *Type { return typeOf(reflect.TypeFor[T]()) }

func typeOf(t reflect.Type) *Type {
	switch t {
	case reflect.TypeFor[time.Time]():
		return simple["time"]
	case reflect.TypeFor[Duration](), reflect.TypeFor[time.Duration](): // package backoff decodes texts into time.Duration
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

// fieldsOf returns the types of a struct's fields by JSON name, including fields of
// structs embedded without a name.
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

// ParseTypes parses a JSON object with the fields of each type. Field types are given
// by name, with the prefix [] for a list or map[string] for an object with arbitrary
// fields.
func ParseTypes(table []byte) (map[string]*Type, error) {
	var fields map[string]map[string]string
	if err := json.Unmarshal(table, &fields); err != nil {
		return nil, err
	}
	types := maps.Clone(simple)
	for name := range fields {
		types[name] = &Type{want: "an object", fields: make(map[string]*Type)}
	}
	var err error
	var named func(name string) *Type
	named = func(name string) *Type {
		if elem, ok := strings.CutPrefix(name, "[]"); ok {
			return &Type{want: "a list", elem: named(elem), list: true}
		}
		if elem, ok := strings.CutPrefix(name, "map[string]"); ok {
			return &Type{want: "an object", elem: named(elem)}
		}
		if types[name] == nil {
			err = fmt.Errorf("document: ParseTypes: no type %s", name)
		}
		return types[name]
	}
	for name, of := range fields {
		for field, t := range of {
			types[name].fields[field] = named(t)
		}
	}
	return types, err
}

// Remove removes the field at a path of names, which passes through lists to their
// elements.
func (t *Type) Remove(path string) {
	name, rest, inside := strings.Cut(path, ".")
	if !inside {
		delete(t.fields, name)
		return
	}
	for t = t.fields[name]; t.elem != nil; t = t.elem {
	}
	t.Remove(rest)
}
