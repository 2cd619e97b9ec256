package document

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mistake is what is wrong with the value at a path.
type Mistake struct {
	Path   string // as commands[0].name; "": the whole document
	Value  any    // nil where it says nothing
	Detail string
}

func (m Mistake) String() string {
	text := m.Detail
	if s, ok := m.Value.(string); ok {
		text = fmt.Sprintf("is %q, %s", s, text)
	} else if m.Value != nil {
		text = fmt.Sprintf("is %v, %s", m.Value, text)
	}
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	return text
}

// Covers reports whether a mistake at that path can be but another word for m: m
// is about the same value, or one that has it inside.
func (m Mistake) Covers(path string) bool {
	rest, ok := strings.CutPrefix(path, m.Path)
	return ok && (rest == "" || m.Path == "" || rest[0] == '.' || rest[0] == '[')
}

// Duration is a duration that is written as 4s.
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Fit stores a document of Parse in the struct that into points to, as far as it
// fits. Unlike encoding/json it finds every value of a wrong type, not only the
// first, with its path down to the element of a list, and matches names to the
// letter, as Kubernetes does. It returns those mistakes and the paths of the fields
// that the struct does not have, which are left out. null is like an absent field.
func Fit(document, into any) (mistakes []Mistake, unknown []string, err error) {
	var f fitter
	fitted, err := json.Marshal(f.fit(document, reflect.TypeOf(into).Elem(), ""))
	if err == nil {
		err = json.Unmarshal(fitted, into)
	}
	return f.mistakes, f.unknown, err
}

type fitter struct {
	mistakes []Mistake
	unknown  []string
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[Duration]()
)

// fit returns the part of v that a t can hold.
func (f *fitter) fit(v any, t reflect.Type, path string) any {
	if v == nil {
		return nil // like an absent field
	}
	switch {
	case t == timeType:
		return f.fitText(v, new(time.Time), "a time such as 2006-01-02T15:04:05Z", path)
	case t == durationType:
		return f.fitText(v, new(Duration), "a duration such as 4s", path)
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
		s, ok := v.(string)
		if !ok {
			return f.wrong(v, "a string", path)
		}
		if strings.ContainsRune(s, 0) { // no program can be given one
			f.mistakes = append(f.mistakes, Mistake{Path: path, Detail: "must not have a NUL character"})
			return nil
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
		if _, err := strconv.ParseInt(n.String(), 10, t.Bits()); errors.Is(err, strconv.ErrRange) {
			return f.wrong(v, fmt.Sprintf("an integer of %d bits", t.Bits()), path)
		} else if err != nil {
			return f.wrong(v, "an integer", path)
		}
	case reflect.Float64:
		n, ok := v.(json.Number)
		if !ok {
			return f.wrong(v, "a number", path)
		}
		if _, err := n.Float64(); err != nil {
			return f.wrong(v, "a number of 64 bits", path)
		}
	default:
		panic("document: a document cannot hold a " + t.String())
	}
	return v
}

func (f *fitter) fitText(v any, into encoding.TextUnmarshaler, want, path string) any {
	if s, ok := v.(string); ok && into.UnmarshalText([]byte(s)) == nil {
		return v
	}
	return f.wrong(v, want, path)
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
			f.unknown = append(f.unknown, at)
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
	f.mistakes = append(f.mistakes, Mistake{path, value, detail})
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
