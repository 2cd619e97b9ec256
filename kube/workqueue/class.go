package workqueue

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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
	switch err.(type) {
	case nil:
		return Success
	case apierrors.APIStatus:
		return classOfStatus(err)
	}
	return longest(wrapped(err))
}

// wrapped returns the errors that an error wraps, joins or aggregates.
func wrapped(err error) []error {
	switch all := err.(type) {
	case interface{ Unwrap() []error }:
		return all.Unwrap()
	case interface{ Errors() []error }: // k8s.io/apimachinery/pkg/util/errors.Aggregate
		return all.Errors()
	case interface{ Unwrap() error }:
		return []error{all.Unwrap()}
	}
	return nil
}

// retryAfter returns the longest delay for which the API server's statuses in an error ask.
func retryAfter(err error) (longest time.Duration) {
	if _, isStatus := err.(apierrors.APIStatus); isStatus {
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return time.Duration(seconds) * time.Second
	}
	for _, inner := range wrapped(err) {
		longest = max(longest, retryAfter(inner))
	}
	return longest
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
