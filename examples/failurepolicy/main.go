// Command failurepolicy applies a Job's pod failure policy to exit codes, without a
// cluster.
//
// It prints:
//
//	exit code 42: Ignore by rule 0, counted: false
//	exit code 7: FailJob by rule 1, counted: true
//	exit code 1: no rule matches, counted: true
package main

import (
	"encoding/json"
	"fmt"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

const manifest = `{"rules": [
	{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}},
	{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [7, 8]}}]}`

func main() {
	var policy batch.PodFailurePolicy
	if err := json.Unmarshal([]byte(manifest), &policy); err != nil {
		panic(err)
	}
	for _, code := range []int32{42, 7, 1} {
		match := jobpolicy.MatchExit(&policy, "trainer", code)
		verdict := "no rule matches"
		if match.Rule >= 0 {
			verdict = fmt.Sprintf("%s by rule %d", match.Action, match.Rule)
		}
		fmt.Printf("exit code %d: %s, counted: %v\n", code, verdict, match.Counted())
	}
}
