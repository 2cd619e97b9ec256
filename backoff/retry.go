package backoff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/restartkit/restart/field"
	"k8s.io/utils/clock"
)

// RetryOptions limits a Retry. The zero value sets no limits.
type RetryOptions struct {
	Attempts int           // maximum number of calls; 0 means no limit
	Elapsed  time.Duration // no call is due later than this after the first one; 0 means no limit
	// Timeout limits each call's context, on the real clock; 0 means none. The context
	// also ends with the call, so read a response's body within it.
	Timeout time.Duration
	// Permanent reports whether an error without the mark of the function Permanent is
	// permanent, too; nil means that none is.
	Permanent func(error) bool
	// Notify is called after each failed call that will be retried, with the number of
	// calls so far, the error and the delay.
	Notify func(attempt int, err error, delay time.Duration)
	Clock  clock.Clock    // nil means the real clock
	Rand   func() float64 // in [0, 1), called only if Jitter > 0; nil means math/rand/v2
}

// Validate returns field.Errors listing every option out of bounds, or nil.
func (o RetryOptions) Validate() error {
	var errs field.Errors
	o.validate(&errs)
	return errs.Err()
}

func (o *RetryOptions) validate(errs *field.Errors) {
	errs.Check(o.Attempts >= 0, "Attempts", o.Attempts, ">= 0 (0 means none)")
	errs.Check(o.Elapsed >= 0, "Elapsed", o.Elapsed, ">= 0 (0 means none)")
	errs.Check(o.Timeout >= 0, "Timeout", o.Timeout, ">= 0 (0 means none)")
}

// Retry calls f until it returns nil. After the n-th failure it waits for p.Delay(n)
// with p's jitter, or longer if the error wraps RetryAfter; p.ResetAfter is ignored,
// because a slow failure is still a failure.
//
// Retry gives up with a *RetryError, and without waiting, when f returns a permanent
// error, when ctx is done, or when options' limits or ctx's deadline rule out the next
// call. If ctx is already done, it never calls f. An invalid argument yields an error
// wrapping field.Errors. At most one RetryOptions may be given.
//
// # Coming from cenkalti/backoff or avast/retry-go
//
//   - If ctx is done beforehand, f is not called; cenkalti/backoff calls it once.
//   - If ctx's deadline comes before the next call, Retry returns at once; both wait for the
//     deadline.
//   - The error at the end is a *RetryError with the number of calls, their time, the last error
//     and the reason. cenkalti/backoff returns the last error, retry-go a list of all.
//   - There is no limit by default. cenkalti/backoff stops after 15 minutes, retry-go after ten
//     calls.
//   - Jitter only shortens, so no delay exceeds Max. cenkalti/backoff draws from both sides of
//     the curve, retry-go adds to it.
//   - RetryAfter only lengthens a delay, and the curve goes on. In cenkalti/backoff it replaces
//     the delay, even by a shorter one, and the curve starts over.
//   - Arguments out of bounds are errors. Neither library checks them.
func Retry(ctx context.Context, p Policy, f func(context.Context) error, options ...RetryOptions) error {
	var o RetryOptions
	if len(options) > 0 {
		o = options[0]
	}
	if err := checkRetry(&p, f, &o, len(options)); err != nil {
		return err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	r := retry{ctx: ctx, policy: p, options: o}
	return r.run(f)
}

// RetryValue is like Retry, and returns the value of the successful call.
func RetryValue[T any](ctx context.Context, p Policy, f func(context.Context) (T, error), options ...RetryOptions) (T, error) {
	var value, none T
	call := func(ctx context.Context) (err error) {
		value, err = f(ctx)
		return err
	}
	if f == nil {
		call = nil
	}
	if err := Retry(ctx, p, call, options...); err != nil {
		return none, err
	}
	return value, nil
}

// Permanent marks err as not worth retrying. Every enclosing Retry gives up when its
// function returns an error that wraps the result, or a RetryError that is Permanent.
// Permanent returns nil if err is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ error }

func (p *permanentError) Unwrap() error { return p.error }

// RetryAfter returns an error that makes Retry wait for at least d, as a server may
// request, even beyond the Policy's Max. Wrap it or join it to the failure:
//
//	return errors.Join(err, backoff.RetryAfter(time.Minute))
func RetryAfter(d time.Duration) error { return retryAfterError(d) }

type retryAfterError time.Duration

func (d retryAfterError) Error() string { return fmt.Sprintf("retry after %v", time.Duration(d)) }

// RetryError is the error of a Retry that gave up. It wraps Last and Context.
type RetryError struct {
	Attempts int           // calls to f
	Elapsed  time.Duration // since the first call
	Last     error         // of the last call; nil if f was not called
	// Context is set if ctx ended the Retry: to ctx's error and cause, or to
	// context.DeadlineExceeded if the next call would have missed ctx's deadline.
	Context   error
	Permanent bool // Last is permanent, by its mark or by the option
}

// Error returns the reason and the errors.
func (e *RetryError) Error() string {
	calls := fmt.Sprintf("%d attempts", e.Attempts)
	if e.Attempts == 1 {
		calls = "1 attempt"
	}
	switch {
	case e.Attempts == 0:
		return fmt.Sprintf("not attempted: %v", e.Context)
	case e.Context != nil:
		return fmt.Sprintf("stopped after %s: %v; the last error: %v", calls, e.Context, e.Last)
	case e.Permanent:
		return fmt.Sprintf("permanent error after %s: %v", calls, e.Last)
	}
	return fmt.Sprintf("gave up after %s: %v", calls, e.Last)
}

// Unwrap returns those of Last and Context that are not nil.
func (e *RetryError) Unwrap() []error {
	switch {
	case e.Context == nil:
		return []error{e.Last}
	case e.Last == nil:
		return []error{e.Context}
	}
	return []error{e.Last, e.Context}
}

// checkRetry checks the arguments of Retry.
func checkRetry(p *Policy, f func(context.Context) error, o *RetryOptions, given int) error {
	if p.valid() && f != nil && o.Attempts >= 0 && o.Elapsed >= 0 && o.Timeout >= 0 && given <= 1 {
		return nil // without the allocations of validate
	}
	var errs field.Errors
	p.validate(&errs)
	if f == nil {
		errs.Add(field.Required, "f", nil, "must be a function")
	}
	o.validate(&errs)
	if given > 1 {
		errs.Add(field.TooMany, "options", given, "must have at most 1 item")
	}
	return fmt.Errorf("backoff: Retry: %w", errs)
}

// retry is a Retry under way.
type retry struct {
	ctx       context.Context
	policy    Policy
	options   RetryOptions
	sleeper   sleeper
	elapsed   progress // since the first call
	calls     int
	permanent bool // the latest failure
}

func (r *retry) run(f func(context.Context) error) error {
	if r.ctx.Err() != nil {
		return &RetryError{Context: contextError(r.ctx)}
	}
	r.sleeper.clock = r.options.Clock
	defer r.sleeper.stop()
	r.elapsed.wall = r.options.Clock.Now()
	for {
		err := r.call(f)
		if err == nil {
			return nil
		}
		delay, final := r.failed(err)
		if final != nil {
			return final
		}
		if r.sleeper.sleep(r.ctx, delay, nil) != nil {
			return r.giveUp(err, contextError(r.ctx))
		}
	}
}

func (r *retry) call(f func(context.Context) error) error {
	r.calls++
	if r.options.Timeout == 0 {
		return f(r.ctx)
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.options.Timeout)
	defer cancel()
	return f(ctx)
}

// failed returns the delay after a failure, or the final error.
func (r *retry) failed(last error) (time.Duration, error) {
	permanent, atLeast := Marks(last)
	r.permanent = permanent || r.options.Permanent != nil && r.options.Permanent(last)
	if r.ctx.Err() != nil {
		return 0, r.giveUp(last, contextError(r.ctx))
	}
	if r.permanent || r.calls == r.options.Attempts {
		return 0, r.giveUp(last, nil)
	}
	delay := max(r.delay(), atLeast)
	if r.options.Elapsed > 0 && add(r.elapsed.to(r.options.Clock.Now()), delay) > r.options.Elapsed {
		return 0, r.giveUp(last, nil)
	}
	if deadline, ok := r.ctx.Deadline(); ok && r.options.Clock == (clock.RealClock{}) && time.Until(deadline) < delay {
		return 0, r.giveUp(last, context.DeadlineExceeded)
	}
	if r.options.Notify != nil {
		r.options.Notify(r.calls, last, delay)
	}
	return delay, nil
}

// delay draws the delay after the latest call.
func (r *retry) delay() time.Duration {
	d := r.policy.delay(r.calls)
	if r.policy.Jitter == 0 || d <= 0 {
		return d
	}
	return r.policy.jittered(d, r.options.Rand())
}

func (r *retry) giveUp(last, context error) error {
	elapsed := r.elapsed.to(r.options.Clock.Now())
	return &RetryError{Attempts: r.calls, Elapsed: elapsed, Last: last, Context: context, Permanent: r.permanent}
}

// Marks reports whether err wraps Permanent or a RetryError that is Permanent, and returns
// the longest RetryAfter that it wraps, for callers with a loop of their own. Unlike
// errors.As it does not allocate.
func Marks(err error) (permanent bool, after time.Duration) {
	switch e := err.(type) {
	case *permanentError:
		permanent = true
	case *RetryError:
		permanent, after = Marks(e.Last)
		p, a := Marks(e.Context)
		return e.Permanent || permanent || p, max(after, a)
	case retryAfterError:
		after = time.Duration(e)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		p, a := Marks(e.Unwrap())
		return permanent || p, max(after, a)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			p, a := Marks(one)
			permanent, after = permanent || p, max(after, a)
		}
	}
	return permanent, after
}

// contextError returns the error of a context that is done, with its cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
