package backoff_test

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/restartkit/restart/backoff"
)

func ExampleExitPolicy_DecideExit() {
	const container = `{"name": "trainer", "restartPolicy": "Never", "restartPolicyRules": [
		{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]}`
	var c backoff.ExitPolicy
	if err := json.Unmarshal([]byte(container), &c); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.DecideExit(backoff.Exit{Code: 42}, 1))
	fmt.Println(c.DecideExit(backoff.Exit{Code: 1}, 1))
	// Output:
	// Restart 0
	// Stop -1
}

// Out of memory: three restarts in an hour, then give up. Exit code 75: every five
// seconds. Anything else: the node's curve.
func ExampleRule() {
	const container = `{"restartPolicyRules": [
		{"name": "out-of-memory", "action": "Restart", "reasons": ["OOMKilled"], "limit": 3, "window": "1h"},
		{"name": "busy", "action": "Restart", "exitCodes": {"operator": "In", "values": [75]}, "delay": {"initial": "5s", "max": "5s"}}]}`
	var c backoff.ExitPolicy
	if err := json.Unmarshal([]byte(container), &c); err != nil {
		fmt.Println(err)
		return
	}
	clock := newClock()
	r, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	for run, e := range []backoff.Exit{
		{Code: 75}, {Code: 75}, {Code: 1},
		{Code: 137, Reason: "OOMKilled"}, {Code: 137, Reason: "OOMKilled"}, {Code: 137, Reason: "OOMKilled"}, {Code: 137, Reason: "OOMKilled"},
	} {
		e.Run, e.Finished = int64(run+1), clock.Now()
		fmt.Println(r.Exited("web", c, e).Reason(c, e))
	}
	// Output:
	// exit code 75 meets rule busy: restarts in 5s (the rule's failure 1 in a row)
	// exit code 75 meets rule busy: restarts in 5s (the rule's failure 2 in a row)
	// exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)
	// exit code 137 (OOMKilled) meets rule out-of-memory: restarts in 1m20s (failure 4 in a row)
	// exit code 137 (OOMKilled) meets rule out-of-memory: restarts in 2m40s (failure 5 in a row)
	// exit code 137 (OOMKilled) meets rule out-of-memory: restarts in 5m0s (failure 6 in a row)
	// exit code 137 (OOMKilled) meets rule out-of-memory: given up, the rule's limit of 3 restarts in 1h0m0s is used up (failure 7 in a row)
}

// Explain reports why each rule decided or did not.
func ExampleDecision_Explain() {
	c := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever, Rules: []backoff.Rule{
		{Name: "busy", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{75}}},
		{Name: "killed", Action: backoff.ActionRestart, Signals: []string{"SIGKILL"}, MinFailures: 2},
		{Action: backoff.ActionGiveUp, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Ranges: []backoff.CodeRange{{First: 129, Last: 159}}}},
		{Action: backoff.ActionRestart, Reasons: []string{"Error"}},
	}}
	e := backoff.Exit{Code: 137, Reason: "Error"}
	for _, step := range (backoff.Decision{}).Explain(c, e) {
		fmt.Println(step)
	}
	// Output:
	// rule 0 busy (Restart): no match: exit code 137 is not in [75]
	// rule 1 killed (Restart): no match: signal SIGKILL is in [SIGKILL]; failure 1 in a row is below 2
	// rule 2 (GiveUp): matched: exit code 137 is in [129-159]
	// rule 3 (Restart): no match: not reached, rule restartPolicyRules[2] decided
}

// A rule that restarts at once, counts each failure, and gives up after three restarts in a
// row.
func ExampleRule_atOnce() {
	clock := newClock()
	policy := backoff.ExitPolicy{Rules: []backoff.Rule{{
		Action:    backoff.ActionRestart,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{75}},
		Delay:     &backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt, ResetAfter: 10 * time.Minute},
		Limit:     3,
	}}}
	r, err := backoff.NewRestarter(policy, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 4 {
		r.Started("server", clock.Now())
		clock.SetTime(clock.Now().Add(time.Second))
		exit := backoff.Exit{Code: 75, Finished: clock.Now()}
		fmt.Println(r.Exited("server", policy, exit).Reason(policy, exit))
	}
	// Output:
	// exit code 75 is In [75] of restartPolicyRules[0]: restarts at once (the rule's failure 1 in a row)
	// exit code 75 is In [75] of restartPolicyRules[0]: restarts at once (the rule's failure 2 in a row)
	// exit code 75 is In [75] of restartPolicyRules[0]: restarts at once (the rule's failure 3 in a row)
	// exit code 75 is In [75] of restartPolicyRules[0]: given up, the rule's limit of 3 restarts is used up (the rule's failure 4 in a row)
}
