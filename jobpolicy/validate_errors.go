package jobpolicy

import (
	"fmt"
	"strings"
)

// ErrorType says what kind of mistake a field holds. The API server's own names
// for these are longer: FieldValueRequired is Required here, and so on.
type ErrorType string

// The kinds of mistakes.
const (
	Required     ErrorType = "Required"     // a value is missing
	Invalid      ErrorType = "Invalid"      // a value is malformed, out of range or at odds with another field
	NotSupported ErrorType = "NotSupported" // a value is none of a known few
	Duplicate    ErrorType = "Duplicate"    // a value is there twice
	TooMany      ErrorType = "TooMany"      // a list has too many items
	TooLong      ErrorType = "TooLong"      // a text is too long
)

// FieldError is one mistake in an API object.
type FieldError struct {
	Field  string    // path of the field, as in spec.podFailurePolicy.rules[0].action
	Type   ErrorType // kind of the mistake
	Value  any       // the offending value, nil if it is missing or a whole structure
	Detail string    // what is allowed
}

// Error returns the mistake as one line.
func (e *FieldError) Error() string {
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

// shortValue prints a value for a message; a long text is cut, since anybody may
// have written it.
func shortValue(v any) string {
	const most = 64
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if len(v) > most {
			return fmt.Sprintf("%q and %d more bytes", v[:most], len(v)-most)
		}
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}

// FieldErrors are all mistakes in an API object, in the order in which the API
// server reports them. Each is there for errors.As, as a *FieldError. The zero
// value has none; Validate and its kin return nil rather than an empty list.
type FieldErrors []FieldError

// Error returns the first few mistakes and the number of the others.
func (e FieldErrors) Error() string {
	const most = 8
	var b strings.Builder
	b.WriteString("jobpolicy: ")
	for i := range e {
		if i > 0 {
			b.WriteString("; ")
		}
		if i == most {
			fmt.Fprintf(&b, "and %d more", len(e)-most)
			break
		}
		b.WriteString(e[i].Error())
	}
	return b.String()
}

// Unwrap returns every mistake as a *FieldError.
func (e FieldErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i := range e {
		errs[i] = &e[i]
	}
	return errs
}

// add notes a mistake. Paths are put together by the caller, and only for a
// mistake: a correct specification costs no text.
func (e *FieldErrors) add(t ErrorType, field string, value any, detail string) {
	*e = append(*e, FieldError{Field: field, Type: t, Value: value, Detail: detail})
}

// orNil is the list as an error, nil if it is empty.
func (e FieldErrors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
