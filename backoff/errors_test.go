package backoff_test

import (
	"errors"
	"slices"

	"github.com/restartkit/restart/field"
)

// fieldsOf returns the fields of the field.Errors in an error, in order.
func fieldsOf(err error) (fields []string) {
	var errs field.Errors
	errors.As(err, &errs)
	for _, e := range errs {
		fields = append(fields, e.Field)
	}
	return fields
}

func containsAll(got, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(got, w) })
}
