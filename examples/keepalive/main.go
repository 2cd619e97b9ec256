// Command keepalive restarts a failing function, with growing delays, until the limit
// of restarts is used up. Its state survives a crash of the program.
//
// It prints:
//
//	exit code 1 under restartPolicy OnFailure: restarted after 100ms (failure 1 in a row)
//	exit code 1 under restartPolicy OnFailure: restarted after 200ms (failure 2 in a row)
//	exit code 1 under restartPolicy OnFailure: restarted after 400ms (failure 3 in a row)
//	exit code 1 under restartPolicy OnFailure: given up, the limit of 3 restarts in 1h0m0s is used up (failure 4 in a row)
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/statefile"
)

func work() (code int32) { return 1 } // always fails

func main() {
	folder, err := os.MkdirTemp("", "keepalive")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := keepAlive(context.Background(), filepath.Join(folder, "state.json")); err != nil {
		log.Fatal(err)
	}
}

func keepAlive(ctx context.Context, path string) error {
	policy := backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicyOnFailure,
		Delay:         &backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute},
		Limit:         3,
		Window:        time.Hour,
	}
	restarter, err := backoff.NewRestarter(policy, backoff.RestarterOptions[string]{})
	if err != nil {
		return err
	}
	if _, err := statefile.Load(path, restarter); err != nil {
		return err
	}
	for key := range restarter.All() {
		restarter.Lost(key) // no run has survived a crash of the program
	}
	for {
		err := restarter.Wait(ctx, "importer") // nil means: start it now
		if errors.Is(err, backoff.ErrNoStart) {
			return nil // it succeeded, or was given up
		}
		if err != nil {
			return err
		}
		started := time.Now()
		exit := backoff.Exit{Code: work(), Started: started, Finished: time.Now()}
		decision := restarter.Exited("importer", policy, exit)
		fmt.Println(decision.Reason(policy, exit))
		if err := statefile.Save(path, restarter); err != nil {
			return err
		}
	}
}
