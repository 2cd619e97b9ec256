// Command streak delays the attempts of a task that fails. Two fields in a struct count its
// failures in a row.
//
// It prints:
//
//	backup failed: connection refused; next attempt in 100ms
//	backup failed: connection refused; next attempt in 200ms
//	backup failed: connection refused; next attempt in 400ms
package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
)

// A task is a struct of your own. Its streak is a count and a time, also in JSON.
type task struct {
	Name   string         `json:"name"`
	Streak backoff.Streak `json:"streak,omitzero"`
}

func (t *task) run() error { return errors.New("connection refused") }

func main() {
	policy := backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute}
	backup := task{Name: "backup"}
	for range 3 {
		time.Sleep(policy.Left(backup.Streak, time.Now()))
		started := time.Now()
		if err := backup.run(); err != nil {
			backup.Streak = policy.Failed(backup.Streak, started, time.Now())
			fmt.Printf("%s failed: %v; next attempt in %v\n", backup.Name, err, policy.Delay(backup.Streak.Failures))
		} else {
			backup.Streak = backoff.Streak{}
		}
	}
}
