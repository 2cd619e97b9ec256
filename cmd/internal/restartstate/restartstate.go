// Package restartstate describes errors in the stored state of a backoff.Restarter.
package restartstate

import (
	"errors"
	"slices"

	"github.com/restartkit/restart/field"
)

// At adds a path to the fields in an error of Restore.
func At(path string, err error) error {
	var errs field.Errors
	if !errors.As(err, &errs) {
		return err
	}
	errs = slices.Clone(errs)
	for i := range errs {
		errs[i].Field = path + "." + errs[i].Field
	}
	return errs
}
