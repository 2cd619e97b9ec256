// Package restartstate prepares what a program has stored of a backoff.Restarter for
// Restore: after a change of the clock, and with errors that say where.
package restartstate

import (
	"errors"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// ToClock holds the times of a state to the clock, which may have been set back since.
func ToClock(b backoff.RestarterState, now time.Time) backoff.RestarterState {
	before := func(at, limit time.Time) time.Time {
		if at.After(limit) {
			return limit
		}
		return at
	}
	b.Last.Started, b.Last.Finished = before(b.Last.Started, now), before(b.Last.Finished, now)
	b.Decision.NotBefore = before(b.Decision.NotBefore, now.Add(max(b.Decision.Delay, 0)))
	b.Recent = slices.Clone(b.Recent)
	for i, at := range b.Recent {
		b.Recent[i] = before(at, now)
	}
	return b
}

// At returns an error of Restore with the fields below a path.
func At(path string, err error) error {
	var errs backoff.FieldErrors
	if !errors.As(err, &errs) {
		return err
	}
	errs = slices.Clone(errs)
	for i := range errs {
		errs[i].Field = path + "." + errs[i].Field
	}
	return errs
}
