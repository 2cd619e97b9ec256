package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy"
)

// fitter fits a decoded document to the Go type it is meant for. Unlike
// encoding/json it finds every value of a wrong type, not only the first, with
// its path down to the element of a list, and matches names to the letter, as
// Kubernetes does.
type fitter struct {
	errs    jobpolicy.FieldErrors
	ignored []string // paths of the fields that the type does not know, which are left out
}

var timeType = reflect.TypeFor[time.Time]()

// fit returns the part of v that a t can hold.
func (f *fitter) fit(v any, t reflect.Type, path string) any {
	if v == nil {
		return nil // like an absent field
	}
	switch {
	case t == timeType:
		return f.fitTime(v, path)
	case t.Kind() == reflect.Pointer:
		return f.fit(v, t.Elem(), path)
	}
	switch t.Kind() {
	case reflect.Struct:
		return f.fitStruct(v, t, path)
	case reflect.Slice:
		return f.fitSlice(v, t, path)
	case reflect.Map:
		return f.fitMap(v, t, path)
	case reflect.String:
		if _, ok := v.(string); !ok {
			return f.wrong(v, "a string", path)
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			return f.wrong(v, "true or false", path)
		}
	case reflect.Int32, reflect.Int64:
		n, ok := v.(json.Number)
		if !ok {
			return f.wrong(v, "an integer", path)
		}
		if _, err := strconv.ParseInt(n.String(), 10, t.Bits()); err != nil {
			return f.wrong(v, fmt.Sprintf("an integer of %d bits", t.Bits()), path)
		}
	default:
		panic("runjob: a manifest cannot hold a " + t.String())
	}
	return v
}

func (f *fitter) fitTime(v any, path string) any {
	if s, ok := v.(string); ok {
		if _, err := time.Parse(time.RFC3339, s); err == nil {
			return v
		}
	}
	return f.wrong(v, "a time such as 2006-01-02T15:04:05Z", path)
}

func (f *fitter) fitStruct(v any, t reflect.Type, path string) any {
	object, ok := v.(map[string]any)
	if !ok {
		return f.wrong(v, "an object", path)
	}
	known := jsonFields(t)
	fitted := make(map[string]any, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := join(path, name)
		if field, ok := known[name]; ok {
			fitted[name] = f.fit(object[name], field, at)
		} else {
			f.ignored = append(f.ignored, at)
		}
	}
	return fitted
}

func (f *fitter) fitSlice(v any, t reflect.Type, path string) any {
	list, ok := v.([]any)
	if !ok {
		return f.wrong(v, "a list", path)
	}
	fitted := make([]any, len(list))
	for i, element := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if element == nil {
			f.wrong(element, "a value", at)
			continue
		}
		fitted[i] = f.fit(element, t.Elem(), at)
	}
	return fitted
}

func (f *fitter) fitMap(v any, t reflect.Type, path string) any {
	object, ok := v.(map[string]any)
	if !ok {
		return f.wrong(v, "an object", path)
	}
	fitted := make(map[string]any, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		fitted[key] = f.fit(object[key], t.Elem(), fmt.Sprintf("%s[%s]", path, key))
	}
	return fitted
}

// wrong reports a value of a wrong type.
func (f *fitter) wrong(v any, want, path string) any {
	detail := "must be " + want
	var value any
	switch v := v.(type) {
	case nil:
		detail += ", not null"
	case map[string]any:
		detail += ", not an object"
	case []any:
		detail += ", not a list"
	default:
		value = v
		if want == "a string" {
			detail += ": put it in quotes"
		}
	}
	f.errs = append(f.errs, jobpolicy.FieldError{Field: path, Type: jobpolicy.Invalid, Value: value, Detail: detail})
	return nil
}

// jsonFields maps the JSON names of a struct's fields, those of structs embedded
// without a name included, to their types.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "":
			fields[name] = field.Type
		case field.Anonymous:
			maps.Copy(fields, jsonFields(field.Type))
		}
	}
	return fields
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
