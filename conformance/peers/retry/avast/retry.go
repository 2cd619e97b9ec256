// Package retry has the exported names of github.com/avast/retry-go/v4 over this
// library's Retry, so that the tests of that module judge Retry. It is not for use. That
// module documents the names.
package retry

import (
	"context"
	"errors"
	"math"

	"github.com/restartkit/restart/backoff"
)

type (
	RetryableFunc                func() error
	RetryableFuncWithData[T any] func() (T, error)
)

func Do(f RetryableFunc, options ...Option) error {
	_, err := DoWithData(func() (any, error) { return nil, f() }, options...)
	return err
}

// DoWithData calls f until it succeeds. It keeps the errors of all calls itself.
func DoWithData[T any](f RetryableFuncWithData[T], options ...Option) (T, error) {
	c := newConfig(options)
	var value, none T
	var failures Error
	calls := uint(0)
	err := backoff.Retry(c.context, c.policy(), func(context.Context) (err error) {
		calls++
		if value, err = f(); err == nil {
			return nil
		}
		if c.attempts == 0 {
			failures = failures[:0] // only the last one is returned
		}
		failures = append(failures, err)
		return c.marked(calls, err)
	}, c.retryOptions())
	if err != nil {
		return none, c.theirs(err, failures)
	}
	return value, nil
}

// policy returns the curve for the default type of delay. The other types of delay are
// returned with each error.
func (c *Config) policy() backoff.Policy {
	switch {
	case c.delayType != nil:
		return backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt}
	case c.maxDelay > 0:
		return c.curve().WithMax(c.maxDelay)
	}
	return c.curve()
}

// curve doubles the delay.
func (c *Config) curve() backoff.Policy {
	return backoff.Policy{Initial: max(c.delay, 1), Max: math.MaxInt64}
}

func (c *Config) retryOptions() backoff.RetryOptions {
	o := backoff.RetryOptions{Attempts: int(min(c.attempts, math.MaxInt))}
	if c.timer != nil {
		o.Clock = timerClock{timer: c.timer}
	}
	return o
}

// marked reports the n-th failure and marks it for the library's Retry.
func (c *Config) marked(n uint, err error) error {
	if !c.retryIf(err) {
		return backoff.Permanent(err)
	}
	c.onRetry(n-1, err)
	for target, left := range c.attemptsForError {
		if !errors.Is(err, target) {
			continue
		}
		if left <= 1 {
			return backoff.Permanent(err)
		}
		c.attemptsForError[target] = left - 1
	}
	if c.delayType == nil || n == c.attempts {
		return err
	}
	delay := c.delayType(n, err, c)
	if c.maxDelay > 0 {
		delay = min(delay, c.maxDelay)
	}
	return errors.Join(err, backoff.RetryAfter(delay))
}

// theirs returns the error of the context or of the last call alone where they do, or
// else the errors of all calls.
func (c *Config) theirs(err error, failures Error) error {
	gaveUp, ok := errors.AsType[*backoff.RetryError](err)
	if !ok {
		return err
	}
	if gaveUp.Context != nil {
		switch {
		case c.attempts == 0 && c.wrapContextError && len(failures) > 0:
			return Error{gaveUp.Context, failures.Unwrap()}
		case c.attempts == 0, c.lastErrorOnly, len(failures) == 0:
			return gaveUp.Context
		}
		return append(failures.unpacked(), gaveUp.Context)
	}
	switch {
	case c.attempts == 0:
		return failures.Unwrap()
	case c.lastErrorOnly:
		return failures.unpacked().Unwrap()
	}
	return failures.unpacked()
}
