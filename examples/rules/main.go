// Command rules decides by a rule whether and when to restart a process.
//
// It prints:
//
//	exit code 75 meets rule busy: restarts in 5s (the rule's failure 1 in a row)
package main

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
)

func main() {
	busy := backoff.Rule{
		Name:      "busy",
		Action:    backoff.ActionRestart,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{75}},
		Delay:     &backoff.Policy{Initial: 5 * time.Second, Max: time.Minute},
		Limit:     3,
	}
	policy := backoff.ExitPolicy{Rules: []backoff.Rule{busy}}

	var state backoff.State // of one process, to be stored where you like
	now := time.Now()
	exit := backoff.Exit{Run: 1, Code: 75, Started: now.Add(-time.Second), Finished: now}
	decision := state.Exited(&policy, exit, now, 0)
	fmt.Println(decision.Reason(policy, exit))
}
