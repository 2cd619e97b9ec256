// Package field has validation errors as values: the path of a field and what is
// wrong there. Every Validate of this module returns [Errors].
//
// The names follow k8s.io/apimachinery/pkg/util/validation/field, which this
// package does not import.
package field

import (
	"fmt"
	"strings"

	"github.com/restartkit/restart/internal/quote"
)

// Type says what kind of mistake a field holds. The API server's own names
// for these are longer: FieldValueRequired is Required here, and so on.
type Type string

// The kinds of mistakes.
const (
	Required     Type = "Required"     // a value is missing
	Invalid      Type = "Invalid"      // a value is malformed, out of range or at odds with another field
	NotSupported Type = "NotSupported" // a value is none of a known few
	Duplicate    Type = "Duplicate"    // a value is there twice
	TooMany      Type = "TooMany"      // a list has too many items
	TooLong      Type = "TooLong"      // a text is too long
)

// Error is one mistake in settings or in an API object. It is an error as a
// value: find it with errors.As and an Error.
type Error struct {
	Field  string // path of the field, as in spec.podFailurePolicy.rules[0].action or Initial
	Type   Type   // kind of the mistake
	Value  any    // the offending value, nil if it is missing or a whole structure
	Detail string // what is allowed
}

// Error returns the mistake as one line, which begins with the field.
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

// Errors are the mistakes that a Validate found, in a fixed order. Range over
// them, or ask errors.As for an Errors or an Error. The zero value has none.
type Errors []Error

// Add appends a mistake.
func (e *Errors) Add(t Type, field string, value any, detail string) {
	*e = append(*e, Error{Field: field, Type: t, Value: value, Detail: detail})
}

// Check appends, unless ok, an [Invalid] value that "must be " bounds.
func (e *Errors) Check(ok bool, field string, value any, bounds string) {
	if !ok {
		e.Add(Invalid, field, value, "must be "+bounds)
	}
}

// Err returns the mistakes as an error, nil if there are none.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error returns the first eight mistakes and the number of the others.
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
