package backoff

import (
	"fmt"
	"strings"

	"github.com/restartkit/restart/internal/quote"
)

// ErrorType says what kind of mistake a field holds. The API server's own names
// for these are longer: FieldValueRequired is Required here, and so on.
type ErrorType string

// The kinds of mistakes.
const (
	ErrorTypeRequired     ErrorType = "Required"     // a value is missing
	ErrorTypeInvalid      ErrorType = "Invalid"      // a value is malformed, out of range or at odds with another field
	ErrorTypeNotSupported ErrorType = "NotSupported" // a value is none of a known few
	ErrorTypeDuplicate    ErrorType = "Duplicate"    // a value is there twice
	ErrorTypeTooMany      ErrorType = "TooMany"      // a list has too many items
	ErrorTypeTooLong      ErrorType = "TooLong"      // a text is too long
)

// FieldError is one mistake in settings or in an API object. It is an error as a
// value: find it with errors.As and a FieldError.
type FieldError struct {
	Field  string    // path of the field, as in spec.podFailurePolicy.rules[0].action or Initial
	Type   ErrorType // kind of the mistake
	Value  any       // the offending value, nil if it is missing or a whole structure
	Detail string    // what is allowed
}

// Error returns the mistake as one line, which begins with the field.
func (e FieldError) Error() string {
	text := e.Field + ": " + e.Type.phrase()
	if value := shortValue(e.Value); value != "" {
		text += " " + value
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

func (t ErrorType) phrase() string {
	switch t {
	case ErrorTypeRequired:
		return "required"
	case ErrorTypeInvalid:
		return "invalid value"
	case ErrorTypeNotSupported:
		return "unsupported value"
	case ErrorTypeDuplicate:
		return "duplicate value"
	case ErrorTypeTooMany:
		return "too many items"
	case ErrorTypeTooLong:
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

// FieldErrors are all mistakes that a Validate found, in a fixed order; every
// Validate of this module returns them. Range over them, or ask errors.As for a
// FieldErrors or a FieldError. The zero value has none.
type FieldErrors []FieldError

// Add appends a mistake.
func (e *FieldErrors) Add(t ErrorType, field string, value any, detail string) {
	*e = append(*e, FieldError{Field: field, Type: t, Value: value, Detail: detail})
}

// check adds a value that is out of bounds, unless ok.
func (e *FieldErrors) check(ok bool, field string, value any, bounds string) {
	if !ok {
		e.Add(ErrorTypeInvalid, field, value, "must be "+bounds)
	}
}

// Err returns the mistakes as an error, nil if there are none.
func (e FieldErrors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error returns the first eight mistakes and the number of the others.
func (e FieldErrors) Error() string {
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

// Unwrap returns every mistake as a FieldError.
func (e FieldErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, one := range e {
		errs[i] = one
	}
	return errs
}
