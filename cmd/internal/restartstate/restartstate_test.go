package restartstate_test

import (
	"errors"
	"testing"

	"github.com/restartkit/restart/cmd/internal/restartstate"
	"github.com/restartkit/restart/field"
)

// An error of Restore names the place in the file.
func TestErrorOfRestoreHasThePathOfTheFile(t *testing.T) {
	err := restartstate.At("commands.web.backoff", field.Errors{{Field: "last.run", Value: -1, Detail: "must be >= 0"}})
	var errs field.Errors
	if !errors.As(err, &errs) || errs[0].Field != "commands.web.backoff.last.run" {
		t.Errorf("%v", err)
	}
	other := errors.New("other")
	if err := restartstate.At("x", other); err != other {
		t.Errorf("%v", err)
	}
}
