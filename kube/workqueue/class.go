package workqueue

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Class groups errors by the wait before a retry. Callers may define more classes.
type Class string

// The classes of ClassOf, in ascending order of the wait they require.
const (
	Success  Class = ""         // no error
	Terminal Class = "Terminal" // a retry fails the same way until the object changes
	Conflict Class = "Conflict" // the object was changed by another client, or the cache lags
	Retry    Class = "Retry"    // any other error
	Busy     Class = "Busy"     // the server is overloaded, and may send Retry-After
)

// ClassOf returns the class of the API server's status in an error. Of joined or
// aggregated errors, the class with the longest wait counts.
//
// Terminal errors are requests that the server finds invalid, malformed, too large or
// unsupported. Forbidden is not Terminal, because a quota may be raised. ClassOf does
// not recognize reconcile.TerminalError; use a custom classification for it.
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

// longest returns the class with the longest wait among the errors.
func longest(errs []error) Class {
	class := Success
	for _, err := range errs {
		if c := ClassOf(err); rank(c) > rank(class) {
			class = c
		}
	}
	if class == Success {
		return Retry // wraps no error
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
