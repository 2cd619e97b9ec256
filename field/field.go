// Package field says which fields of a configuration are wrong, and why. Every Validate
// of this module returns all mistakes at once, as [Errors]:
//
//	var errs field.Errors
//	if errors.As(err, &errs) {
//		for _, e := range errs {
//			fmt.Println(e.Field, e.Type, e.Detail)
//		}
//	}
//
// The names follow k8s.io/apimachinery/pkg/util/validation/field.
package field

import (
	"fmt"
	"strings"

	"github.com/restartkit/restart/internal/quote"
)

// Type is the kind of a mistake.
type Type string

// The kinds of mistakes.
const (
	Required     Type = "Required"     // missing
	Invalid      Type = "Invalid"      // malformed, out of range or in conflict with another value
	NotSupported Type = "NotSupported" // not among the supported values
	Duplicate    Type = "Duplicate"    // repeated
	TooMany      Type = "TooMany"      // a list has too many items
	TooLong      Type = "TooLong"      // a text is too long
	Unknown      Type = "Unknown"      // not a field, perhaps misspelled
)

// Error is one mistake in settings or an API object.
type Error struct {
	Field  string // path of the field, as in spec.podFailurePolicy.rules[0].action or Initial
	Type   Type   // the kind of mistake
	Value  any    // the offending value; nil if missing or a whole structure
	Detail string // the requirement
}

// Error returns the mistake as a single line that begins with the field.
func (e Error) Error() string {
	text := e.Field + ": " + e.Type.phrase()
	if value := shortValue(e.Value); value != "" {
		text += " " + value
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

func (t Type) phrase() string {
	switch t {
	case Required:
		return "required"
	case Invalid:
		return "invalid value"
	case NotSupported:
		return "unsupported value"
	case Duplicate:
		return "duplicate value"
	case TooMany:
		return "too many items"
	case TooLong:
		return "too long"
	case Unknown:
		return "unknown field"
	}
	return string(t)
}

// shortValue prints a value for a message.
func shortValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return quote.Text(v)
	}
	return fmt.Sprint(v)
}

// Errors lists the mistakes found by a Validate, in a fixed order. Find it with
// errors.As and a variable of type Errors or Error.
type Errors []Error

// Add appends a mistake.
func (e *Errors) Add(t Type, field string, value any, detail string) {
	*e = append(*e, Error{Field: field, Type: t, Value: value, Detail: detail})
}

// Check appends an [Invalid] error with the detail "must be " + bounds, unless ok.
func (e *Errors) Check(ok bool, field string, value any, bounds string) {
	if !ok {
		e.Add(Invalid, field, value, "must be "+bounds)
	}
}

// Err returns e as an error, or nil if e is empty.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error returns the first eight mistakes and the number of others.
func (e Errors) Error() string {
	const most = 8
	var b strings.Builder
	for i, one := range e {
		if i > 0 {
			b.WriteString("; ")
		}
		if i == most {
			fmt.Fprintf(&b, "and %d more", len(e)-most)
			break
		}
		b.WriteString(one.Error())
	}
	return b.String()
}

// Unwrap returns every mistake as an Error.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, one := range e {
		errs[i] = one
	}
	return errs
}
