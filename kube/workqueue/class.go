package workqueue

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restartkit/restart/backoff"
)

// Class says what trying again can do about an error. Other names than those here are
// fine: a classification and the policies of a caller may have classes of their own.
type Class string

// The classes that ClassOf tells apart, from the least to the most that is to be
// waited for.
const (
	Success  Class = ""         // no error
	Terminal Class = "Terminal" // the same again fails in the same way, until the object changes
	Conflict Class = "Conflict" // what was read is old: somebody else wrote, or the cache lags
	Retry    Class = "Retry"    // anything else
	Busy     Class = "Busy"     // the server has too much to do, and may have said for how long
)

// ClassOf returns the class of an error by what the API server says in it. Of several
// errors in one, joined or aggregated, the one that is to be waited for longest counts:
// all of them have to be overcome.
//
// Terminal are requests that the server finds invalid, malformed or too large, or does
// not support. What it forbids is not Terminal, because a quota may be raised.
// Controller-runtime's TerminalError is for a classification of the caller's.
func ClassOf(err error) Class {
	switch all := err.(type) {
	case nil:
		return Success
	case apierrors.APIStatus:
		return classOfStatus(err)
	case interface{ Unwrap() []error }:
		return longest(all.Unwrap())
	case interface{ Errors() []error }: // k8s.io/apimachinery/pkg/util/errors.Aggregate
		return longest(all.Errors())
	case interface{ Unwrap() error }:
		if inner := all.Unwrap(); inner != nil {
			return ClassOf(inner)
		}
	}
	return Retry
}

func classOfStatus(err error) Class {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err):
		return Terminal
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return Conflict
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		return Busy
	}
	return Retry
}

// longest returns the class, of those of all errors, that is to be waited for longest.
func longest(errs []error) Class {
	class := Success
	for _, err := range errs {
		if c := ClassOf(err); rank(c) > rank(class) {
			class = c
		}
	}
	if class == Success {
		return Retry // an error without any in it
	}
	return class
}

func rank(c Class) int {
	switch c {
	case Success:
		return 0
	case Terminal:
		return 1
	case Conflict:
		return 2
	case Retry:
		return 3
	}
	return 4
}

// Policies returns a RestarterOptions.PolicyFor with a curve for each of these classes;
// the others have the Restarter's own. All of them count the same failures: one of
// another class is one more in a row. An invalid curve is passed over in favour of the
// Restarter's.
func Policies[T comparable](curves map[Class]backoff.Policy) func(T, backoff.Exit) backoff.Policy {
	return func(_ T, e backoff.Exit) backoff.Policy { return curves[Class(e.Reason)] }
}
