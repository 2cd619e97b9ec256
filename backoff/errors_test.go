package backoff_test

import (
	"errors"

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
