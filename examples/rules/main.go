// Command rules decides by a rule whether and when to restart a process.
//
// It prints:
//
//	exit code 75 meets rule busy: restarted after 5s (the rule's failure 1 in a row)
package main

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
)

func main() {
	busy := backoff.Rule{Name: "busy", Action: backoff.ActionRestart, Limit: 3,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{75}},
		Delay:     &backoff.Policy{Initial: 5 * time.Second, Max: time.Minute}}
	policy := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways, Rules: backoff.Rules{busy}}
	restarter, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{})
	if err != nil {
		panic(err)
	}
	exit := backoff.Exit{Run: 1, Code: 75, Started: time.Now(), Finished: time.Now()}
	fmt.Println(restarter.Exited("worker", policy, exit).Reason(policy, exit))
}
