// Command streak keeps the failures of a task in its own file, and delays the next attempt.
//
// It prints:
//
//	failure 1: next attempt in 500ms
//	failure 2: next attempt in 1s
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/statefile"
)

// state is the program's own. The streak is two fields in it.
type state struct {
	Version string         `json:"version"`
	Task    backoff.Streak `json:"task,omitzero"`
}

var policy = backoff.Policy{Initial: 500 * time.Millisecond, Max: time.Minute}

func task() error { return errors.New("connection refused") }

func main() {
	folder, err := os.MkdirTemp("", "streak")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "state.json")
	for range 2 { // usually two calls of the program
		if err := attempt(path); err != nil {
			log.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}

// attempt does the task unless it has to wait.
func attempt(path string) error {
	var s state
	if _, err := statefile.Load(path, &s); err != nil {
		return err
	}
	if wait := policy.Left(s.Task, time.Now()); wait > 0 {
		fmt.Println("too early by", wait)
		return nil
	}
	started := time.Now()
	if err := task(); err == nil {
		s.Task = backoff.Streak{}
	} else {
		s.Task = policy.Failed(s.Task, started, time.Now())
		fmt.Printf("failure %d: next attempt in %v\n", s.Task.Failures, policy.Delay(s.Task.Failures))
	}
	return statefile.Save(path, s)
}
