// Command keepalive restarts a failing function, with growing delays, until the limit
// of restarts is used up. Its state is in a file of the working directory and survives a
// crash of the program, so the second time it only says why it does not start.
//
// It prints:
//
//	exit code 1 under restartPolicy OnFailure: restarts in 100ms (failure 1 in a row)
//	exit code 1 under restartPolicy OnFailure: restarts in 200ms (failure 2 in a row)
//	exit code 1 under restartPolicy OnFailure: given up, the limit of 2 restarts in 1h0m0s is used up (failure 3 in a row)
//	backoff: Restarter.Wait("importer"): no start is allowed, because it was given up
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/statefile"
)

var policy = backoff.ExitPolicy{
	RestartPolicy: backoff.RestartPolicyOnFailure,
	Rules: []backoff.Rule{{ // exit code 3: a wrong configuration, which no restart mends
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{3}},
		Action:    backoff.ActionGiveUp,
	}},
	Delay:  &backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute},
	Limit:  2, // restarts within the window; the next failure gives up, until Forgive
	Window: time.Hour,
}

func work() (code int32) { return 1 } // always fails

func main() {
	if err := keepAlive(context.Background(), "importer.json"); err != nil {
		log.Fatal(err)
	}
}

func keepAlive(ctx context.Context, path string) error {
	restarter, err := backoff.NewRestarter(policy, backoff.RestarterOptions[string]{})
	if err != nil {
		return err
	}
	if _, err := statefile.Load(path, restarter); err != nil {
		return err
	}
	for key := range restarter.All() {
		restarter.Lost(key) // what ran when the program crashed runs no longer
	}
	for {
		err := restarter.Wait(ctx, "importer") // nil means: start it now
		if errors.Is(err, backoff.ErrNoStart) {
			fmt.Println(err) // it succeeded, or was given up; Forgive lets it start again
			return nil
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
