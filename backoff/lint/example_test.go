package lint_test

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
)

// On the kubelet's curve, six restarts take more than five minutes, so a limit of five
// per minute is never used up. Exit code 3 matches the first rule already.
func ExampleCheck() {
	policy := backoff.ExitPolicy{Rules: backoff.Rules{
		{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn, Values: []int32{42}}, Limit: 5, Window: time.Minute},
		{Action: backoff.ActionGiveUp, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{3}}},
	}}
	for _, f := range lint.Check(policy, backoff.CrashLoop()) {
		fmt.Println(f.Kind, f.Field)
		fmt.Println(f.Text)
	}
	// Output:
	// limit-never-hit restartPolicyRules[0].limit
	// restarts 1 and 6 would be at least 5m10s apart, so the limit of 5 is never used up in 1m0s; lower it, or make the window longer
	// unreachable restartPolicyRules[1]
	// rule restartPolicyRules[0] decides on every exit that this rule matches; remove this rule, or move it up
}
