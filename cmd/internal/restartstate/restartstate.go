// Package restartstate prepares the stored state of a backoff.Restarter for Restore.
package restartstate

import (
	"errors"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
)

// ToClock limits a state's times to those possible at now, since the clock may have
// been set back.
func ToClock(b backoff.RestarterState, now time.Time) backoff.RestarterState {
	before := func(at, limit time.Time) time.Time {
		if at.After(limit) {
			return limit
		}
		return at
	}
	exit := func(e *backoff.Exit, d *backoff.Decision) {
		e.Started, e.Finished = before(e.Started, now), before(e.Finished, now)
		d.NotBefore = before(d.NotBefore, now.Add(max(d.Delay, 0)))
	}
	recent := func(times []time.Time) []time.Time {
		times = slices.Clone(times)
		for i, at := range times {
			times[i] = before(at, now)
		}
		return times
	}
	exit(&b.Last, &b.Decision)
	b.Recent, b.Rules, b.History = recent(b.Recent), slices.Clone(b.Rules), slices.Clone(b.History)
	for i := range b.Rules {
		b.Rules[i].Recent = recent(b.Rules[i].Recent)
	}
	for i := range b.History {
		exit(&b.History[i].Exit, &b.History[i].Decision)
	}
	return b
}

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
