package document

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// valueType is the type of a value: a simple type, a list, or an object with known or
// arbitrary fields.
type valueType struct {
	want   string                // completes "must be ", such as a string
	fields map[string]*valueType // of an object with known fields
	names  []string              // of fields, sorted
	elem   *valueType            // of a list, or of an object with arbitrary names
	list   bool                  // elem is for a list
	bits   int                   // of a number
	raw    bool                  // any value, which nobody reads
	fits   func(v any) bool      // whether a simple value fits
}

var (
	anyType     = &valueType{raw: true}
	stringType  = &valueType{want: "a string", fits: func(v any) bool { _, ok := v.(string); return ok }}
	boolType    = &valueType{want: "true or false", fits: func(v any) bool { _, ok := v.(bool); return ok }}
	floatType   = &valueType{want: "a number", bits: 64, fits: isFloat}
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// described are the types that read their own JSON, with the form of it.
var described = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():  "a quantity such as 500m or 2Gi",
	reflect.TypeFor[intstr.IntOrString](): "an integer or a string",
	reflect.TypeFor[metav1.Time]():        "a time such as 2006-01-02T15:04:05Z",
	reflect.TypeFor[metav1.MicroTime]():   "a time such as 2006-01-02T15:04:05.000000Z",
	reflect.TypeFor[metav1.Duration]():    "a duration such as 4s",
	reflect.TypeFor[time.Time]():          "a time such as 2006-01-02T15:04:05Z",
}

func isFloat(v any) bool {
	n, ok := v.(json.Number)
	_, err := n.Float64()
	return ok && err == nil
}

func integer(bits int) *valueType {
	return &valueType{want: "an integer", bits: bits, fits: func(v any) bool {
		n, ok := v.(json.Number)
		_, err := strconv.ParseInt(n.String(), 10, bits)
		return ok && err == nil
	}}
}

// wanted describes the value expected in place of v, which does not fit t.
func (t *valueType) wanted(v any) string {
	n, ok := v.(json.Number)
	if ok && t.bits > 0 && (t.want == "a number" || !strings.ContainsAny(n.String(), ".eE")) { // out of range
		return t.want + " of " + strconv.Itoa(t.bits) + " bits"
	}
	return t.want
}

var known struct {
	sync.Mutex
	types map[reflect.Type]*valueType
}

// typeOf returns the type of the values that encoding/json decodes into a t. It is safe
// for concurrent use.
func typeOf(t reflect.Type) *valueType {
	known.Lock()
	defer known.Unlock()
	if known.types == nil {
		known.types = make(map[reflect.Type]*valueType)
	}
	return build(t)
}

func build(t reflect.Type) *valueType {
	if t.Kind() == reflect.Pointer {
		return build(t.Elem())
	}
	if found := known.types[t]; found != nil {
		return found
	}
	made := new(valueType)
	known.types[t] = made // before its parts, since a type may contain itself
	switch {
	case t == reflect.TypeFor[metav1.FieldsV1](), t == reflect.TypeFor[runtime.RawExtension](), t.Kind() == reflect.Interface:
		*made = *anyType
	case reflect.PointerTo(t).Implements(unmarshaler):
		*made = ownReader(t)
	default:
		*made = buildKind(t)
	}
	return made
}

// ownReader is the type of values that a method reads from JSON.
func ownReader(t reflect.Type) valueType {
	want := described[t]
	if want == "" {
		want = "a " + t.Name()
	}
	return valueType{want: want, fits: func(v any) bool {
		text, err := json.Marshal(v)
		return err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil
	}}
}

func buildKind(t reflect.Type) valueType {
	switch t.Kind() {
	case reflect.Struct:
		made := valueType{want: "an object", fields: make(map[string]*valueType)}
		addFields(made.fields, t)
		for name := range made.fields {
			made.names = append(made.names, name)
		}
		slices.Sort(made.names)
		return made
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return *stringType
		}
		return valueType{want: "a list", elem: build(t.Elem()), list: true}
	case reflect.Map:
		return valueType{want: "an object", elem: build(t.Elem())}
	case reflect.String:
		return *stringType
	case reflect.Bool:
		return *boolType
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return *integer(t.Bits())
	case reflect.Float32, reflect.Float64:
		return *floatType
	}
	panic("document: a document cannot hold a " + t.String())
}

// addFields adds the types of a struct's fields by JSON name, including fields of
// structs embedded without a name.
func addFields(fields map[string]*valueType, t reflect.Type) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			fields[name] = build(field.Type)
		case name == "" && field.Anonymous:
			addFields(fields, field.Type)
		}
	}
}
