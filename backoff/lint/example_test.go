package lint_test

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
)

// On the kubelet's curve six restarts take longer than five minutes, so five within one
// minute are never used up. And exit code 3 belongs to the first rule.
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
	// 5 restarts and one more take at least 5m10s, so the limit is never used up in 1m0s; lower it, or make the window longer
	// unreachable restartPolicyRules[1]
	// rule restartPolicyRules[0] decides on every exit that it matches; remove the rule, or move it up
}
