// Command retry calls a function until it succeeds, with growing delays.
//
// It prints:
//
//	gave up after 3 attempts: connection refused
package main

import (
	"context"
	"fmt"
	"github.com/restartkit/restart/backoff"
)

func connect(context.Context) error { return fmt.Errorf("connection refused") }
func main() {
	fmt.Println(backoff.Retry(context.Background(), backoff.ReducedCrashLoop(), connect, backoff.RetryOptions{Attempts: 3}))
}
