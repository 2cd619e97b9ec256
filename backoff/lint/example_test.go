package lint_test

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
)

// Under the kubelet's curve, six restarts take more than five minutes, so a limit of five
// per minute is never used up. The first rule decides on exit code 3, too.
func ExampleCheck() {
	curve := backoff.CrashLoop()
	policy := backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicyNever,
		Rules: []backoff.Rule{
			{
				Action:    backoff.ActionRestart,
				ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn, Values: []int32{42}},
				Limit:     5,
				Window:    time.Minute,
			},
			{
				Action:    backoff.ActionGiveUp,
				ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{3}},
			},
		},
		Delay: &curve,
	}
	for _, finding := range lint.Check(policy) {
		fmt.Println(finding.Kind, finding.Field)
		fmt.Println(finding.Text)
	}
	// Output:
	// limit-never-hit restartPolicyRules[0].limit
	// restarts 1 and 6 would be at least 5m10s apart, so the limit of 5 is never used up in 1m0s; lower it, or make the window longer
	// unreachable restartPolicyRules[1]
	// rule restartPolicyRules[0] decides on every exit that this rule matches; remove this rule, or move it up
}
