// Command retry calls a function until it succeeds, with growing delays.
//
// It prints:
//
//	gave up after 3 attempts, the limit: connection refused
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/restartkit/restart/backoff"
)

func main() {
	policy := backoff.ReducedCrashLoop()
	err := backoff.Retry(context.Background(), policy, connect, backoff.RetryOptions{Attempts: 3})
	fmt.Println(err)
}

func connect(context.Context) error {
	return errors.New("connection refused")
}
