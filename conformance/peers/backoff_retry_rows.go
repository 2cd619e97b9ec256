package peers

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/avast/retry-go/v4"
	cenkaltibackoff "github.com/cenkalti/backoff/v5"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/conformance/peers/bench"
)

const (
	cenkalti = "cenkalti/backoff"
	avast    = "avast/retry-go"
)

const waitNote = "One timer serves all waits of a Retry. It is not kept for the next Retry, because a timer made within a testing/synctest bubble must not leave it."

// retryRows returns the overhead of a Retry that succeeds at once, and of one that
// succeeds after ten failures, without delays and with the shortest.
func retryRows() []bench.Row {
	const failures = 10
	return []bench.Row{
		retryRow("Retry, success at once", 0, 0, bench.Allocs(0)),
		retryRow("Retry, 10 failures, no delays", failures, 0, bench.Allocs(0)),
		retryRow("Retry, 10 failures, delays of 1ns", failures, 1, bench.Allocs(4)),
	}
}

// retryRow measures a Retry that succeeds after that many failures with the same delay
// after each, without options but for the delays.
func retryRow(name string, failures int, delay time.Duration, goals ...bench.Goal) bench.Row {
	busy := errors.New("busy")
	policy := backoff.Policy{Initial: delay, Max: delay}
	if delay == 0 {
		policy = backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt}
	}
	return bench.Row{
		Package: "backoff",
		Name:    name,
		Note:    waitNote,
		Candidates: []bench.Candidate{
			bench.Time(ours, func(bool) func(n int) {
				calls := 0
				f := func(context.Context) error {
					if calls++; calls <= failures {
						return busy
					}
					return nil
				}
				return func(n int) {
					for range n {
						calls = 0
						must(0, backoff.Retry(context.Background(), policy, f))
					}
				}
			}),
			bench.Time(cenkalti, func(bool) func(n int) {
				calls := 0
				f := func() (any, error) {
					if calls++; calls <= failures {
						return nil, busy
					}
					return nil, nil
				}
				b := cenkaltibackoff.NewConstantBackOff(delay)
				return func(n int) {
					for range n {
						calls = 0
						must(cenkaltibackoff.Retry(context.Background(), f, cenkaltibackoff.WithBackOff(b)))
					}
				}
			}),
			bench.Time(avast, func(bool) func(n int) {
				calls := 0
				f := func() error {
					if calls++; calls <= failures {
						return busy
					}
					return nil
				}
				return func(n int) {
					for range n {
						calls = 0
						must(0, retry.Do(f, retry.Delay(delay), retry.DelayType(retry.FixedDelay), retry.UntilSucceeded()))
					}
				}
			}),
		},
		Goals: append(goals, bench.Ratio(cenkalti, 1), bench.Ratio(avast, 1)),
	}
}
