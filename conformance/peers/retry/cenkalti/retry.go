package backoff

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/restartkit/restart/backoff"
)

type (
	Operation[T any] func() (T, error)
	Notify           func(error, time.Duration)
	RetryOption      func(*retryOptions)
)

type retryOptions struct {
	backOff BackOff
	backoff.RetryOptions
}

const DefaultMaxElapsedTime = 15 * time.Minute

func WithBackOff(b BackOff) RetryOption { return func(o *retryOptions) { o.backOff = b } }

func WithMaxTries(n uint) RetryOption {
	return func(o *retryOptions) { o.Attempts = int(min(n, math.MaxInt)) }
}

func WithMaxElapsedTime(d time.Duration) RetryOption {
	return func(o *retryOptions) { o.Elapsed = d }
}

func WithNotify(n Notify) RetryOption {
	return func(o *retryOptions) {
		o.Notify = func(_ int, err error, delay time.Duration) { n(err, delay) }
	}
}

// Retry calls operation until it succeeds. Each BackOff of this package becomes a Policy.
// Any other is asked after each failure, and its answer returned to the library's Retry as
// Permanent or RetryAfter.
func Retry[T any](ctx context.Context, operation Operation[T], options ...RetryOption) (T, error) {
	o := retryOptions{backOff: NewExponentialBackOff()}
	o.Elapsed = DefaultMaxElapsedTime
	for _, set := range options {
		set(&o)
	}
	policy, fixed := policyOf(o.backOff)
	o.backOff.Reset()

	var value T
	err := backoff.Retry(ctx, policy, func(context.Context) (err error) {
		value, err = operation()
		if err != nil && !fixed {
			err = o.asked(err)
		}
		if _, ok := errors.AsType[*PermanentError](err); ok {
			err = backoff.Permanent(err)
		}
		return err
	}, o.RetryOptions)
	return value, theirs(err)
}

// asked marks err by the next delay.
func (o *retryOptions) asked(err error) error {
	next := o.backOff.NextBackOff()
	if next == Stop {
		return backoff.Permanent(err)
	}
	return errors.Join(err, backoff.RetryAfter(next))
}

// theirs returns the error of the context, the error that was marked as permanent or the
// last one.
func theirs(err error) error {
	gaveUp, ok := errors.AsType[*backoff.RetryError](err)
	if !ok {
		return err
	}
	if gaveUp.Context != nil {
		return gaveUp.Context
	}
	if permanent, ok := errors.AsType[*PermanentError](gaveUp.Last); ok {
		return permanent.Err
	}
	return gaveUp.Last
}

// PermanentError marks an error as not worth another call.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }

func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{err}
}

// RetryAfterError asks for a delay.
type RetryAfterError struct{ Duration time.Duration }

func (e *RetryAfterError) Error() string { return fmt.Sprint("retry after ", e.Duration) }
func (e *RetryAfterError) Unwrap() error { return backoff.RetryAfter(e.Duration) }

func RetryAfter(seconds int) error {
	return &RetryAfterError{time.Duration(seconds) * time.Second}
}
