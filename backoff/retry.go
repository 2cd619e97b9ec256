package backoff

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/retrymark"
	"k8s.io/utils/clock"
)

// RetryOptions limits a Retry. The zero value limits only what RetryAfter can ask for.
type RetryOptions struct {
	// Attempts is the maximum number of calls; 0 means no limit.
	Attempts int
	// Elapsed is the maximum time spent waiting between calls, all waits together; 0 means
	// no limit. Retry gives up instead of a wait that would exceed it. The calls do not
	// count, so a call that works for an hour and then fails is still retried. To limit
	// calls and waits together, use a context with a deadline.
	Elapsed time.Duration
	// MaxRetryAfter is the longest wait that an error can ask for with RetryAfter; 0 means
	// one hour. Longer requests are shortened to it.
	MaxRetryAfter time.Duration
	// Timeout limits the context of each call, on the real clock; 0 means no limit. That
	// context also ends when the call returns, so read the body of a response within it.
	Timeout time.Duration
	// Permanent reports whether an error is permanent although the function Permanent did
	// not mark it; nil means that none is.
	Permanent func(error) bool
	// Notify is called after each failed call that will be retried, before the wait, with
	// the number of calls so far, the error and the delay. It may be nil.
	Notify func(attempt int, err error, delay time.Duration)
	// Clock measures and waits; nil means the real clock. It is not used before the first
	// failure.
	Clock clock.Clock
	// Rand returns a random number in [0, 1). It is called once per delay of the policy that
	// is not 0, and only if Jitter > 0. nil means math/rand/v2.
	Rand func() float64
}

// defaultMaxRetryAfter is the meaning of a MaxRetryAfter of 0.
const defaultMaxRetryAfter = time.Hour

// Retry calls f until it returns nil. After the n-th failure it waits for p.Delay(n),
// shortened by p's Jitter.
//
// If the error of f wraps RetryAfter, the wait is at least as long as that asks for, up to
// MaxRetryAfter, even beyond p.Max.
//
// Retry gives up with a *RetryError, at once and without another wait, when
//
//   - ctx is done; if it is done beforehand, f is never called;
//   - f returns a permanent error;
//   - f has been called Attempts times;
//   - the next wait would exceed Elapsed;
//   - the next call would come after ctx's deadline, checked only with the real
//     clock. On other clocks Retry waits until ctx is done.
//
// The curve never starts over. p.ResetAfter is ignored, because a slow failure is still a
// failure. To keep something running, healthy for hours between failures, use
// package supervise.
//
// If p or the options are out of bounds, or ctx or f is nil, Retry returns an error
// wrapping field.Errors and does not call f. A panic in f passes through.
//
// # Coming from cenkalti/backoff or avast/retry-go
//
//   - If ctx is done beforehand, f is not called; cenkalti/backoff calls it once.
//   - If ctx's deadline comes before the next call, Retry returns at once; both wait for the
//     deadline.
//   - The error at the end is a *RetryError with the number of calls, their time, the last
//     errors and the limit that ended it. cenkalti/backoff returns the last error or the
//     context's, retry-go a list of all errors.
//   - There is no limit by default. cenkalti/backoff stops after 15 minutes, retry-go after ten
//     calls.
//   - Elapsed limits the waits. The MaxElapsedTime of cenkalti/backoff includes the calls, so
//     that a call longer than 15 minutes is never retried by default.
//   - Jitter only shortens, so no delay exceeds Max. cenkalti/backoff draws from both sides of
//     the curve, retry-go adds to it.
//   - RetryAfter only lengthens a delay, up to MaxRetryAfter, and the curve goes on. In
//     cenkalti/backoff it replaces the delay, even by a shorter one and without a limit, and
//     the curve starts over.
//   - Arguments out of bounds are errors. Neither library checks them.
func Retry(ctx context.Context, p Policy, f func(context.Context) error, options RetryOptions) error {
	if ctx == nil || f == nil || !p.valid() || !options.valid() {
		return invalidRetry(ctx, p, f, options)
	}
	if ctx.Err() != nil {
		return &RetryError{Context: contextError(ctx), Limit: contextLimit(ctx)}
	}
	// Most calls succeed at once. They pay for no clock, timer or copy of the arguments.
	var timedOut bool
	var err error
	if options.Timeout == 0 {
		err = f(ctx)
	} else {
		timedOut, err = callWithin(ctx, options.Timeout, f)
	}
	if err == nil {
		return nil
	}
	r := retry{policy: p, options: options}
	return r.run(ctx, f, timedOut, err)
}

// RetryValue is like Retry, and returns the value of the successful call. If none
// succeeds, it returns the zero value.
func RetryValue[T any](ctx context.Context, p Policy, f func(context.Context) (T, error), options RetryOptions) (T, error) {
	var value, none T
	call := func(ctx context.Context) (err error) {
		value, err = f(ctx)
		return err
	}
	if f == nil {
		call = nil
	}
	if err := Retry(ctx, p, call, options); err != nil {
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
	return &retrymark.Permanent{Err: err}
}

// RetryAfter returns an error that makes Retry wait for at least d, as a server may
// request, even beyond the Policy's Max, but not beyond RetryOptions.MaxRetryAfter. Of
// several in one error, the longest counts. Wrap it or join it to the failure:
//
//	return errors.Join(err, backoff.RetryAfter(time.Minute))
func RetryAfter(d time.Duration) error { return retrymark.After(d) }

// RetryLimit names what ended a Retry.
type RetryLimit string

// What can end a Retry.
const (
	RetryLimitAttempts  RetryLimit = "Attempts"  // f failed as often as RetryOptions.Attempts allows
	RetryLimitElapsed   RetryLimit = "Elapsed"   // the next wait would have exceeded RetryOptions.Elapsed
	RetryLimitDeadline  RetryLimit = "Deadline"  // ctx's deadline passed, or the next call would have missed it
	RetryLimitContext   RetryLimit = "Context"   // ctx was cancelled
	RetryLimitPermanent RetryLimit = "Permanent" // f returned a permanent error
)

// RetryError is the error of a Retry that gave up. It wraps Last, Cause and Context.
type RetryError struct {
	Attempts int           // calls to f
	Elapsed  time.Duration // from the first failure to the end, with the calls in between; never negative
	Limit    RetryLimit    // what ended the Retry
	Last     error         // of the last call; nil if f was not called
	// Cause is set if the last call was interrupted, which means that its context was done
	// when it returned, or that Last wraps context.Canceled, context.DeadlineExceeded or
	// os.ErrDeadlineExceeded. Cause is then the error of the latest uninterrupted
	// call, or nil if all were.
	Cause error
	// Context is set if ctx ended the Retry: to ctx's error and cause, or to
	// context.DeadlineExceeded if the next call would have missed ctx's deadline.
	Context error
	// Permanent reports whether Last is permanent, by its mark or by the option. It can be
	// true beside a Limit of Deadline or Context.
	Permanent bool
}

// Error returns what ended the Retry, and the errors.
func (e *RetryError) Error() string {
	if e == nil {
		return "<nil>"
	}
	if e.Attempts == 0 {
		return fmt.Sprintf("not attempted: %v", e.Context)
	}
	calls := fmt.Sprintf("%d attempts", e.Attempts)
	if e.Attempts == 1 {
		calls = "1 attempt"
	}
	var text string
	switch {
	case e.Context != nil:
		text = fmt.Sprintf("stopped after %s: %v; the last error: %v", calls, e.Context, e.Last)
	case e.Permanent:
		text = fmt.Sprintf("permanent error after %s: %v", calls, e.Last)
	case e.Limit == RetryLimitElapsed:
		text = fmt.Sprintf("gave up after %s, at the limit of elapsed waiting time: %v", calls, e.Last)
	default:
		text = fmt.Sprintf("gave up after %s, the limit: %v", calls, e.Last)
	}
	if e.Cause != nil {
		text += fmt.Sprintf("; an earlier error: %v", e.Cause)
	}
	return text
}

// Unwrap returns those of Last, Cause and Context unless nil or a nil pointer,
// in this order. If e is Permanent, Last has the mark of the function Permanent.
func (e *RetryError) Unwrap() []error {
	if e == nil {
		return nil
	}
	var errs []error
	if !retrymark.IsNil(e.Last) {
		last := e.Last
		if e.Permanent {
			last = Permanent(last)
		}
		errs = append(errs, last)
	}
	if !retrymark.IsNil(e.Cause) {
		errs = append(errs, &retrymark.Past{Err: e.Cause})
	}
	if e.Context != nil {
		errs = append(errs, e.Context)
	}
	return errs
}

// valid reports whether all options are in bounds.
func (o *RetryOptions) valid() bool {
	return o.Attempts >= 0 && o.Elapsed >= 0 && o.MaxRetryAfter >= 0 && o.Timeout >= 0
}

// invalidRetry returns the error of a Retry with bad arguments.
func invalidRetry(ctx context.Context, p Policy, f func(context.Context) error, o RetryOptions) error {
	var errs field.Errors
	errors.As(p.Validate(), &errs)
	if ctx == nil {
		errs.Add(field.Required, "ctx", nil, "must be a context")
	}
	if f == nil {
		errs.Add(field.Required, "f", nil, "must be a function")
	}
	errs.Check(o.Attempts >= 0, "Attempts", o.Attempts, ">= 0 (0 means no limit)")
	errs.Check(o.Elapsed >= 0, "Elapsed", o.Elapsed, ">= 0 (0 means no limit)")
	errs.Check(o.MaxRetryAfter >= 0, "MaxRetryAfter", o.MaxRetryAfter, ">= 0 (0 means 1h)")
	errs.Check(o.Timeout >= 0, "Timeout", o.Timeout, ">= 0 (0 means no limit)")
	return fmt.Errorf("backoff: Retry: %w", errs)
}

// callWithin calls f with a context that ends after timeout, and reports whether that
// context was done when f returned.
func callWithin(ctx context.Context, timeout time.Duration, f func(context.Context) error) (timedOut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = f(ctx)
	return ctx.Err() != nil, err
}

// retry is a Retry whose first call has failed.
type retry struct {
	policy  Policy
	options RetryOptions
	clock   clock.Clock
	sleeper sleeper

	calls       int
	last        error         // of the latest call
	permanent   bool          // last is permanent
	interrupted bool          // the latest call was interrupted, as RetryError.Cause defines
	cause       error         // of the latest call that was not
	waited      time.Duration // all waits together, if there is a limit

	read    time.Time     // the latest reading of the clock
	elapsed time.Duration // from the first failure to read
}

// run goes on after the first call, which failed.
func (r *retry) run(ctx context.Context, f func(context.Context) error, timedOut bool, err error) error {
	r.clock = r.options.Clock
	if isRealClock(r.clock) {
		r.clock = clock.RealClock{}
	}
	r.read = r.clock.Now()
	r.sleeper.clock = r.clock
	defer r.sleeper.stop()
	for err != nil {
		delay, final := r.failed(ctx, timedOut, err)
		if final != nil {
			return final
		}
		if r.sleeper.sleep(ctx, delay, nil) != nil {
			return r.giveUp(contextLimit(ctx), contextError(ctx))
		}
		if r.options.Timeout == 0 {
			err = f(ctx)
		} else {
			timedOut, err = callWithin(ctx, r.options.Timeout, f)
		}
	}
	return nil
}

// failed records a failure, and returns the delay after it or the final error.
func (r *retry) failed(ctx context.Context, timedOut bool, err error) (time.Duration, error) {
	o := &r.options
	r.calls++
	r.last = err
	r.interrupted = timedOut || ctx.Err() != nil || endedByContext(err)
	if !r.interrupted {
		r.cause = err
	}
	permanent, asked := retrymark.Of(err)
	r.permanent = permanent || o.Permanent != nil && o.Permanent(err)

	switch {
	case ctx.Err() != nil:
		return 0, r.giveUp(contextLimit(ctx), contextError(ctx))
	case r.permanent:
		return 0, r.giveUp(RetryLimitPermanent, nil)
	case r.calls == o.Attempts:
		return 0, r.giveUp(RetryLimitAttempts, nil)
	}
	delay := r.delay(asked)
	if o.Elapsed > 0 {
		if delay > o.Elapsed-r.waited {
			return 0, r.giveUp(RetryLimitElapsed, nil)
		}
		r.waited += delay
	}
	if deadline, ok := ctx.Deadline(); ok && isRealClock(r.clock) && time.Until(deadline) < delay {
		return 0, r.giveUp(RetryLimitDeadline, context.DeadlineExceeded)
	}
	if o.Notify != nil {
		o.Notify(r.calls, err, delay)
	}
	if delay > 0 {
		r.readClock()
	}
	return delay, nil
}

// delay returns the delay after a failure whose error asks for one.
func (r *retry) delay(asked time.Duration) time.Duration {
	delay := r.policy.delay(r.calls)
	if r.policy.Jitter > 0 && delay > 0 {
		random := r.options.Rand
		if random == nil {
			random = rand.Float64
		}
		delay = r.policy.jittered(delay, random())
	}
	most := r.options.MaxRetryAfter
	if most == 0 {
		most = defaultMaxRetryAfter
	}
	return max(delay, min(asked, most))
}

// readClock brings elapsed up to date. If the clock was set back since the reading before,
// the time between the two is lost.
func (r *retry) readClock() {
	now := r.clock.Now()
	r.elapsed = add(r.elapsed, max(now.Sub(r.read), 0))
	r.read = now
}

func (r *retry) giveUp(limit RetryLimit, context error) error {
	r.readClock()
	e := &RetryError{
		Attempts: r.calls, Elapsed: r.elapsed, Limit: limit,
		Last: r.last, Context: context, Permanent: r.permanent,
	}
	if r.interrupted {
		e.Cause = r.cause
	}
	return e
}

// isRealClock reports whether c reads the time of package time.
func isRealClock(c clock.Clock) bool {
	switch c.(type) {
	case nil, clock.RealClock, *clock.RealClock:
		return true
	}
	return false
}

// endedByContext reports whether err says that a context or a deadline ended its call.
func endedByContext(err error) bool {
	return retrymark.IsAny(err, context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded)
}

// contextLimit returns RetryLimitDeadline if the deadline ended the done context, and
// RetryLimitContext if something else did.
func contextLimit(ctx context.Context) RetryLimit {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return RetryLimitDeadline
	}
	return RetryLimitContext
}

// contextError returns the error of a done context, with its cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
