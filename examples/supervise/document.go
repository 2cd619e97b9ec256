package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// findings is everything that is to say about a document.
type findings struct {
	errs     []mistake
	warnings []string
}

// mistake is what is wrong with the value at a path.
type mistake struct{ path, text string }

func (m mistake) String() string {
	if m.path == "" {
		return m.text
	}
	return m.path + ": " + m.text
}

// covers reports whether a mistake at that path can be but another word for m: m
// is about the same value, or one that has it inside.
func (m mistake) covers(path string) bool {
	rest, ok := strings.CutPrefix(path, m.path)
	return ok && (rest == "" || m.path == "" || rest[0] == '.' || rest[0] == '[')
}

// value is a value of a document, with its path.
type value struct {
	path  string
	v     any // as of encoding/json, numbers as json.Number
	found *findings
}

// field is the value at a path inside of v, of which nothing but the path is known.
func (v value) field(name string) value {
	if v.path != "" {
		name = v.path + "." + name
	}
	return value{path: name, found: v.found}
}

// wrong reports that a value is not what it must be.
func (v value) wrong(format string, args ...any) {
	v.found.errs = append(v.found.errs, mistake{v.path, fmt.Sprintf(format, args...)})
}

// invalid reports what is wrong with a value that has been read, unless it could
// not be read.
func (v value) invalid(format string, args ...any) {
	if !slices.ContainsFunc(v.found.errs, func(m mistake) bool { return m.covers(v.path) }) {
		v.wrong(format, args...)
	}
}

// mustBe reports a value of a wrong type.
func (v value) mustBe(what string) {
	switch v.v.(type) {
	case nil:
		v.wrong("must be %s, not null", what)
	case map[string]any:
		v.wrong("must be %s, not an object", what)
	case []any:
		v.wrong("must be %s, not a list", what)
	case string:
		v.wrong("must be %s, not %q", what, v.v)
	default:
		v.wrong("must be %s, not %v", what, v.v)
	}
}

// object gives each field of an object to the function of its name. null is like
// an absent field; fields without a function are dropped with a warning.
func (v value) object(known map[string]func(value)) {
	fields, ok := v.v.(map[string]any)
	if !ok {
		v.mustBe("an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := v.field(name)
		field.v = fields[name]
		switch read := known[name]; {
		case read == nil:
			v.found.warnings = append(v.found.warnings, field.path+": unknown, dropped")
		case field.v != nil:
			read(field)
		}
	}
}

// each gives the elements of a list to read.
func (v value) each(read func(value)) {
	list, ok := v.v.([]any)
	if !ok {
		v.mustBe("a list")
		return
	}
	for i, element := range list {
		read(value{path: fmt.Sprintf("%s[%d]", v.path, i), v: element, found: v.found})
	}
}

// The functions that follow read a value of one type, or report that it is none.

func (v value) text() (string, bool) {
	s, ok := v.v.(string)
	switch v.v.(type) {
	case bool, json.Number:
		v.wrong("must be a string, not %v: put it in quotes", v.v)
	default:
		if !ok {
			v.mustBe("a string")
		} else if ok = !strings.ContainsRune(s, 0); !ok { // no program can be given one
			v.wrong("must not have a NUL character")
		}
	}
	return s, ok
}

func (v value) texts() []string {
	var all []string
	v.each(func(v value) {
		s, _ := v.text()
		all = append(all, s)
	})
	return all
}

func (v value) boolean() (b, ok bool) {
	if b, ok = v.v.(bool); !ok {
		v.mustBe("true or false")
	}
	return b, ok
}

func (v value) integer() (int32, bool) {
	if number, ok := v.v.(json.Number); ok {
		if n, err := strconv.ParseInt(number.String(), 10, 32); err == nil {
			return int32(n), true
		}
	}
	v.mustBe("an integer of 32 bits")
	return 0, false
}

func (v value) number() (float64, bool) {
	if number, ok := v.v.(json.Number); ok {
		if n, err := number.Float64(); err == nil {
			return n, true
		}
	}
	v.mustBe("a number")
	return 0, false
}

func (v value) duration() (time.Duration, bool) {
	if s, ok := v.v.(string); ok {
		if d, err := time.ParseDuration(s); err == nil {
			return d, true
		}
	}
	v.mustBe(`a duration such as "4s"`)
	return 0, false
}
