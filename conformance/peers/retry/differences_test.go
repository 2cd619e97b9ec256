package retry

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avast/retry-go/v4"
	cenkalti "github.com/cenkalti/backoff/v5"

	"github.com/restartkit/restart/backoff"
)

var (
	errBusy     = errors.New("busy")
	errShutdown = errors.New("shutdown")
)

const pause = 10 * time.Second

// function counts its calls and fails until the last one; 0 means always.
type function struct {
	calls, last int
	err         error
}

func (f *function) call() error {
	if f.calls++; f.calls == f.last {
		return nil
	}
	return f.err
}

// The libraries retry f with pauses of 10 s.

func withCenkalti(ctx context.Context, f *function, options ...cenkalti.RetryOption) (int, error) {
	options = append([]cenkalti.RetryOption{cenkalti.WithBackOff(cenkalti.NewConstantBackOff(pause))}, options...)
	return cenkalti.Retry(ctx, func() (int, error) { return 7, f.call() }, options...)
}

func withAvast(ctx context.Context, f *function, options ...retry.Option) (int, error) {
	options = append([]retry.Option{retry.Context(ctx), retry.Delay(pause), retry.DelayType(retry.FixedDelay)}, options...)
	return retry.DoWithData(func() (int, error) { return 7, f.call() }, options...)
}

func withOurs(ctx context.Context, f *function, options ...backoff.RetryOptions) (int, error) {
	policy := backoff.Policy{Initial: pause, Max: pause}
	return backoff.RetryValue(ctx, policy, func(context.Context) (int, error) { return 7, f.call() }, options...)
}

// Each row of the table of differences in README.md that can be observed.
func TestDifferences(t *testing.T) {
	until := func(run func(context.Context, *function) error, stop func(context.Context) context.Context) func() string {
		return func() string {
			f, start := &function{err: errBusy}, time.Now()
			err := run(stop(context.Background()), f)
			return fmt.Sprintf("%d calls in %v, cause %v, last %v", f.calls, time.Since(start), errors.Is(err, errShutdown), errors.Is(err, errBusy))
		}
	}
	ofCenkalti := func(ctx context.Context, f *function) error { _, err := withCenkalti(ctx, f); return err }
	ofAvast := func(ctx context.Context, f *function) error { _, err := withAvast(ctx, f); return err }
	ofEndlessAvast := func(ctx context.Context, f *function) error {
		_, err := withAvast(ctx, f, retry.UntilSucceeded())
		return err
	}
	ofOurs := func(ctx context.Context, f *function) error { _, err := withOurs(ctx, f); return err }
	done := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errShutdown)
		return ctx
	}
	later := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(15*time.Second, func() { cancel(errShutdown) })
		return ctx
	}
	deadline := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeoutCause(ctx, 15*time.Second, errShutdown)
		context.AfterFunc(ctx, cancel)
		return ctx
	}

	for name, c := range map[string]struct {
		run  func() string
		want string
	}{
		"context done, cenkalti":    {until(ofCenkalti, done), "1 calls in 0s, cause true, last false"},
		"context done, avast":       {until(ofAvast, done), "0 calls in 0s, cause true, last false"},
		"context done, ours":        {until(ofOurs, done), "0 calls in 0s, cause true, last false"},
		"context ends, cenkalti":    {until(ofCenkalti, later), "2 calls in 15s, cause true, last false"},
		"context ends, avast":       {until(ofAvast, later), "2 calls in 15s, cause true, last true"},
		"context ends, endless":     {until(ofEndlessAvast, later), "2 calls in 15s, cause true, last false"},
		"context ends, ours":        {until(ofOurs, later), "2 calls in 15s, cause true, last true"},
		"deadline, cenkalti":        {until(ofCenkalti, deadline), "2 calls in 15s, cause true, last false"},
		"deadline, avast":           {until(ofAvast, deadline), "2 calls in 15s, cause true, last true"},
		"deadline, ours":            {until(ofOurs, deadline), "2 calls in 10s, cause false, last true"},
		"final error, cenkalti":     {final(withCenkalti, cenkalti.Permanent(errBusy)), "1 calls: 7, *errors.errorString, busy"},
		"final error, avast":        {final(withAvast, retry.Unrecoverable(errBusy)), "1 calls: 0, retry.Error, All attempts fail:\n#1: busy"},
		"final error, ours":         {final(withOurs, backoff.Permanent(errBusy)), "1 calls: 0, *backoff.RetryError, permanent error after 1 attempt: busy"},
		"default limits, cenkalti":  {limits(withCenkalti), "91 calls in 15m0s"},
		"default limits, avast":     {limits(withAvast), "10 calls in 1m30s"},
		"default limits, ours":      {limits(withOurs), "1000 calls in 2h46m30s"},
		"shorter demand, cenkalti":  {demand(withCenkalti, cenkalti.RetryAfter(1)), "1s"},
		"shorter demand, ours":      {demand(withOurs, backoff.RetryAfter(time.Second)), "10s"},
		"longer demand, cenkalti":   {demand(withCenkalti, cenkalti.RetryAfter(60)), "1m0s"},
		"longer demand, ours":       {demand(withOurs, backoff.RetryAfter(time.Minute)), "1m0s"},
		"mark and function, avast":  {final(withAvast, retry.Unrecoverable(errBusy), retry.RetryIf(func(error) bool { return true }), retry.Attempts(2)), "2 calls: 0, retry.Error, All attempts fail:\n#1: busy\n#2: busy"},
		"mark and function, ours":   {final(withOurs, backoff.Permanent(errBusy), backoff.RetryOptions{Permanent: func(error) bool { return false }, Attempts: 2}), "1 calls: 0, *backoff.RetryError, permanent error after 1 attempt: busy"},
		"jitter, cenkalti":          {jitterOfCenkalti, "below true, above true"},
		"jitter, ours":              {jitterOfOurs, "below true, above false"},
		"reports, cenkalti":         {reportsOfCenkalti, "2"},
		"reports, avast":            {reportsOfAvast, "3"},
		"reports, ours":             {reportsOfOurs, "2"},
		"random delay of 0s, avast": {panicOfAvast, "panic true"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := c.run(); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		})
	}
}

// final returns the calls and results for a function that fails with err.
func final[O any](run func(context.Context, *function, ...O) (int, error), err error, options ...O) func() string {
	return func() string {
		f := &function{err: err}
		value, err := run(context.Background(), f, options...)
		return fmt.Sprintf("%d calls: %v, %T, %v", f.calls, value, err, err)
	}
}

// limits returns how often and how long a function is called without options, up to a
// thousand times.
func limits[O any](run func(context.Context, *function, ...O) (int, error)) func() string {
	return func() string {
		f, start := &function{err: errBusy, last: 1000}, time.Now()
		run(context.Background(), f)
		return fmt.Sprintf("%d calls in %v", f.calls, time.Since(start))
	}
}

// demand returns the pause after a first failure with err.
func demand[O any](run func(context.Context, *function, ...O) (int, error), err error) func() string {
	return func() string {
		start := time.Now()
		run(context.Background(), &function{err: err, last: 2})
		return time.Since(start).String()
	}
}

const draws = 1000

// sides tells on which sides of the maximum the delays are.
func sides(delays []time.Duration) string {
	below, above := false, false
	for _, d := range delays {
		below, above = below || d < pause, above || d > pause
	}
	return fmt.Sprintf("below %v, above %v", below, above)
}

func jitterOfCenkalti() string {
	b := &cenkalti.ExponentialBackOff{InitialInterval: pause, MaxInterval: pause, Multiplier: 2, RandomizationFactor: 0.5}
	var delays []time.Duration
	for range draws {
		delays = append(delays, b.NextBackOff())
	}
	return sides(delays)
}

func jitterOfOurs() string {
	var delays []time.Duration
	f := &function{err: errBusy, last: draws}
	policy := backoff.Policy{Initial: pause, Max: pause, Jitter: 0.5}
	backoff.Retry(context.Background(), policy, func(context.Context) error { return f.call() }, backoff.RetryOptions{
		Notify: func(_ int, _ error, d time.Duration) { delays = append(delays, d) },
	})
	return sides(delays)
}

func reportsOfCenkalti() string {
	n := 0
	withCenkalti(context.Background(), &function{err: errBusy}, cenkalti.WithMaxTries(3), cenkalti.WithNotify(func(error, time.Duration) { n++ }))
	return fmt.Sprint(n)
}

func reportsOfAvast() string {
	n := 0
	withAvast(context.Background(), &function{err: errBusy}, retry.Attempts(3), retry.OnRetry(func(uint, error) { n++ }))
	return fmt.Sprint(n)
}

func reportsOfOurs() string {
	n := 0
	withOurs(context.Background(), &function{err: errBusy}, backoff.RetryOptions{Attempts: 3, Notify: func(int, error, time.Duration) { n++ }})
	return fmt.Sprint(n)
}

func panicOfAvast() (result string) {
	defer func() { result = fmt.Sprint("panic ", recover() != nil) }()
	withAvast(context.Background(), &function{err: errBusy}, retry.MaxJitter(0), retry.DelayType(retry.RandomDelay))
	return ""
}
