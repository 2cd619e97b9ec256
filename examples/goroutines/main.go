// Command goroutines keeps a goroutine running until it succeeds. It prints
//
//	"importer", run 1: connection refused: Restart after 100ms
//	"importer", run 2: connection refused: Restart after 200ms
//	"importer", run 3: returned nil: Stop
//	<nil> <nil>
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

func main() {
	s, err := supervise.New(supervise.Options{Notify: func(e supervise.Event) { fmt.Println(e) }})
	if err != nil {
		panic(err)
	}
	calls := 0
	rules := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}
	err = s.Go(context.Background(), "importer", rules, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	})
	fmt.Println(err, s.Wait())
}
