// Command keepalive restarts a failing function, with growing delays, until the limit
// of restarts is used up.
//
// It prints:
//
//	exit code 1 under restartPolicy OnFailure: restarted after 100ms (failure 1 in a row)
//	exit code 1 under restartPolicy OnFailure: restarted after 200ms (failure 2 in a row)
//	exit code 1 under restartPolicy OnFailure: restarted after 400ms (failure 3 in a row)
//	exit code 1 under restartPolicy OnFailure: given up, the limit of restarts is used up (failure 4 in a row)
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
)

func work() (code int32) { return 1 } // always fails

func main() {
	curve := backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute}
	restarter, err := backoff.NewRestarter(curve, backoff.RestarterOptions[string]{Limit: 3, Window: time.Hour})
	if err != nil {
		panic(err)
	}
	policy := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}
	for run := int64(1); ; run++ {
		exit := backoff.Exit{Run: run, Started: time.Now(), Code: work(), Finished: time.Now()}
		decision := restarter.Exited("importer", policy, exit)
		fmt.Println(decision.Reason(policy, exit))
		if decision.Action != backoff.ActionRestart {
			return
		}
		if err := restarter.Wait(context.Background(), "importer"); err != nil {
			return
		}
	}
}
