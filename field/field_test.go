package field_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
)

// A message names the type of the mistake in words.
func TestMessagesNameTheType(t *testing.T) {
	for kind, want := range map[field.Type]string{
		field.Required: "f: required [1]: d", field.Invalid: "f: invalid value [1]: d", field.NotSupported: "f: unsupported value [1]: d",
		field.Duplicate: "f: duplicate value [1]: d", field.TooMany: "f: too many items [1]: d", field.TooLong: "f: too long [1]: d",
		field.Unknown: "f: unknown field [1]: d", "Other": "f: Other [1]: d",
	} {
		if got := (field.Error{Field: "f", Type: kind, Value: []int{1}, Detail: "d"}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Messages with many long values stay short and on one line.
func TestMessagesOfManyLongValuesAreShort(t *testing.T) {
	var errs field.Errors
	for range 1000 {
		errs.Add(field.Invalid, "name", strings.Repeat("x\n", 1000), "must be a name")
	}
	text := errs.Error()
	if len(text) > 2000 || strings.Contains(text, "\n") || !strings.HasSuffix(text, "; and 992 more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// A message cuts long values and long lists, and says how much is missing.
func TestMessagesCutValuesAndLists(t *testing.T) {
	text := strings.Repeat("x", 70)
	errs := field.Errors{{Field: "f", Type: field.Invalid, Value: text, Detail: "d"}}
	if got := errs.Error(); !strings.Contains(got, `"`+text[:64]+`" and 6 more bytes`) {
		t.Error(got)
	}
	if got := (field.Errors{{Field: "f", Type: field.Invalid, Value: text[:64], Detail: "d"}}).Error(); strings.Contains(got, "more") {
		t.Error(got)
	}
	for n, want := range map[int]string{8: "", 9: "and 1 more", 11: "and 3 more"} {
		all := make(field.Errors, n)
		for i := range all {
			all[i] = field.Error{Field: fmt.Sprint("f", i), Type: field.Duplicate}
		}
		if got := all.Error(); !strings.HasSuffix(got, want) || strings.Contains(got, "more") != (want != "") || strings.Contains(got, "f8") {
			t.Errorf("%d mistakes: %s", n, got)
		}
	}
}

func ExampleErrors() {
	err := backoff.Policy{Initial: -1, Factor: 0.5}.Validate()

	var errs field.Errors
	errors.As(err, &errs)
	for _, e := range errs {
		fmt.Println(e.Field, e.Type)
	}
	// Output:
	// Initial Invalid
	// Factor Invalid
}
