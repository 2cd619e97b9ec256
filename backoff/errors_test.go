package backoff

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// fieldsOf returns the fields of the FieldErrors in an error, in order.
func fieldsOf(err error) (fields []string) {
	var errs FieldErrors
	errors.As(err, &errs)
	for _, e := range errs {
		fields = append(fields, e.Field)
	}
	return fields
}

// A message says in words what kind of mistake it is about.
func TestMistakesHaveWords(t *testing.T) {
	for kind, want := range map[ErrorType]string{
		ErrorTypeRequired: "f: required [1]: d", ErrorTypeInvalid: "f: invalid value [1]: d", ErrorTypeNotSupported: "f: unsupported value [1]: d",
		ErrorTypeDuplicate: "f: duplicate value [1]: d", ErrorTypeTooMany: "f: too many items [1]: d", ErrorTypeTooLong: "f: too long [1]: d", "Other": "f: Other [1]: d",
	} {
		if got := (FieldError{Field: "f", Type: kind, Value: []int{1}, Detail: "d"}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Whoever wrote the value, a message stays short and on one line.
func TestMessagesOfLongTextsStayShort(t *testing.T) {
	var errs FieldErrors
	for range 1000 {
		errs.Add(ErrorTypeInvalid, "name", strings.Repeat("x\n", 1000), "must be a name")
	}
	text := errs.Error()
	if len(text) > 2000 || strings.Contains(text, "\n") || !strings.HasSuffix(text, "; and 992 more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func ExampleFieldErrors() {
	err := Policy{Initial: -1, Factor: 0.5}.Validate()

	var errs FieldErrors
	errors.As(err, &errs)
	for _, e := range errs {
		fmt.Println(e.Field, e.Type)
	}
	// Output:
	// Initial Invalid
	// Factor Invalid
}
