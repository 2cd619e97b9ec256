package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/avast/retry-go/v5"
	cenkalti "github.com/cenkalti/backoff/v5"

	"github.com/restartkit/restart/backoff"
)

// BenchmarkRetry measures what a retry costs besides its waits: a call that succeeds at
// once, and one that succeeds after ten failures without delays. Of retry-go it measures
// a Retrier that is used again, as its documentation recommends.
func BenchmarkRetry(b *testing.B) {
	for _, failures := range []int{0, 10} {
		b.Run(fmt.Sprintf("failures=%d/impl=restart", failures), func(b *testing.B) {
			policy := backoff.Policy{Initial: 1, Max: 1, FreeFailures: failures}
			call := failing(failures)
			f := func(context.Context) error { return call() }
			b.ReportAllocs()
			for b.Loop() {
				if err := backoff.Retry(context.Background(), policy, f, backoff.RetryOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("failures=%d/impl=cenkalti", failures), func(b *testing.B) {
			call := failing(failures)
			f := func() (struct{}, error) { return struct{}{}, call() }
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cenkalti.Retry(context.Background(), f, cenkalti.WithBackOff(&cenkalti.ZeroBackOff{})); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("failures=%d/impl=retry-go", failures), func(b *testing.B) {
			retrier := retry.New(retry.Delay(0), retry.DelayType(retry.FixedDelay), retry.UntilSucceeded())
			f := retry.RetryableFunc(failing(failures))
			b.ReportAllocs()
			for b.Loop() {
				if err := retrier.Do(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// failing returns a function that fails so many times before each success.
func failing(failures int) func() error {
	busy := errors.New("busy")
	calls := 0
	return func() error {
		if calls < failures {
			calls++
			return busy
		}
		calls = 0
		return nil
	}
}
