// Command goroutines keeps a goroutine running until it succeeds. It prints
//
//	"importer", run 1: connection refused: Restart after 100ms
//	"importer", run 2: connection refused: Restart after 200ms
//	"importer", run 3: returned nil: Stop
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

func main() {
	s, err := supervise.New(supervise.Options{
		Policy: backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure},
		Notify: func(e supervise.Event) { fmt.Println(e) },
	})
	if err != nil {
		log.Fatal(err)
	}
	calls := 0
	err = s.Go(context.Background(), "importer", backoff.ExitPolicy{}, func(context.Context) error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		log.Fatal(err)
	}
}
