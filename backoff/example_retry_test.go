package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/restartkit/restart/backoff"
)

// A call that succeeds at the third attempt.
func ExampleRetry() {
	policy := backoff.Policy{Initial: time.Millisecond, Max: time.Second}
	calls := 0
	connect := func(context.Context) error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}
	err := backoff.Retry(context.Background(), policy, connect, backoff.RetryOptions{Attempts: 5})
	fmt.Println(err, "after", calls, "calls")
	// Output: <nil> after 3 calls
}

// The error says what ended the retries, and what went wrong.
func ExampleRetryError() {
	policy := backoff.Policy{Initial: time.Millisecond, Max: time.Second}
	connect := func(context.Context) error { return errors.New("connection refused") }
	err := backoff.Retry(context.Background(), policy, connect, backoff.RetryOptions{Attempts: 3})

	var gaveUp *backoff.RetryError
	if errors.As(err, &gaveUp) {
		switch gaveUp.Limit {
		case backoff.RetryLimitContext:
			fmt.Println("the program is ending")
		case backoff.RetryLimitPermanent:
			fmt.Println("a mistake that no retry mends:", gaveUp.Last)
		default:
			fmt.Println(err)
		}
	}
	// Output: gave up after 3 attempts, the limit: connection refused
}

// The error that ended in a timeout still has the earlier one.
func ExampleRetryError_cause() {
	policy := backoff.Policy{Initial: time.Millisecond, Max: time.Second}
	errQuota := errors.New("disk quota exceeded")
	calls := 0
	write := func(ctx context.Context) error {
		calls++
		if calls == 1 {
			return errQuota
		}
		<-ctx.Done()
		return fmt.Errorf("write: %w", ctx.Err())
	}
	err := backoff.Retry(context.Background(), policy, write, backoff.RetryOptions{Attempts: 2, Timeout: time.Millisecond})
	fmt.Println(errors.Is(err, context.DeadlineExceeded), errors.Is(err, errQuota))
	fmt.Println(err)
	// Output:
	// true true
	// gave up after 2 attempts, the limit: write: context deadline exceeded; an earlier error: disk quota exceeded
}

// A permanent error ends the retries.
func ExamplePermanent() {
	policy := backoff.Policy{Initial: time.Millisecond, Max: time.Second}
	load := func(context.Context) (string, error) {
		err := fmt.Errorf("load: %w", fs.ErrNotExist)
		return "", backoff.Permanent(err)
	}
	text, err := backoff.RetryValue(context.Background(), policy, load, backoff.RetryOptions{})
	fmt.Printf("%q, %v\n", text, err)
	// Output: "", permanent error after 1 attempt: load: file does not exist
}
