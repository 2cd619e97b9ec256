// Package retrymark holds the marks that backoff.Permanent and backoff.RetryAfter put on
// errors, for the packages that obey them.
package retrymark

import (
	"fmt"
	"reflect"
	"time"
)

// Permanent marks Err, which must not be nil, as not worth retrying.
type Permanent struct{ Err error }

// Error returns the text of Err.
func (p *Permanent) Error() string { return p.Err.Error() }

// Unwrap returns Err.
func (p *Permanent) Unwrap() error { return p.Err }

// After asks for a delay of at least this duration.
type After time.Duration

// Error names the duration.
func (d After) Error() string { return fmt.Sprintf("retry after %v", time.Duration(d)) }

// Past is an error of an earlier call. Its marks were obeyed then and count no more.
type Past struct{ Err error }

// Error returns the text of Err.
func (p *Past) Error() string { return p.Err.Error() }

// Unwrap returns Err.
func (p *Past) Unwrap() error { return p.Err }

// Of reports whether err wraps a Permanent, and returns the longest After that it wraps.
// It leaves out what a Past wraps. Unlike errors.As it does not allocate.
func Of(err error) (permanent bool, after time.Duration) {
	walk(err, func(e error) bool {
		switch e := e.(type) {
		case *Permanent:
			permanent = true
		case After:
			after = max(after, time.Duration(e))
		case *Past:
			return false
		}
		return true
	})
	return permanent, after
}

// IsAny reports whether errors.Is(err, target) for any of the targets, which must be
// comparable. Unlike errors.Is it calls no method of a nil pointer, which might panic.
func IsAny(err error, targets ...error) bool {
	found := false
	walk(err, func(e error) bool {
		is, hasIs := e.(interface{ Is(error) bool })
		for _, target := range targets {
			found = found || e == target || hasIs && is.Is(target)
		}
		return !found
	})
	return found
}

// walk calls visit with err and then, if visit returns true, with the errors that err
// wraps, in the same way. It leaves out nil pointers.
func walk(err error, visit func(error) bool) {
	if IsNil(err) || !visit(err) {
		return
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			walk(one, visit)
		}
	}
}

// IsNil reports whether err is nil or holds a nil pointer.
func IsNil(err error) bool {
	if err == nil {
		return true
	}
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
