package backoff_test

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Explain reports every condition, met or not, and rules that cannot match.
func TestExplainReportsEachCondition(t *testing.T) {
	c := backoff.ExitPolicy{Rules: []backoff.Rule{
		{Name: "nothing", Action: backoff.ActionRestart},
		{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: "Exists"}},
		{Name: "all", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn, Values: []int32{0, 2}, Ranges: []backoff.CodeRange{{7, 9}}},
			Reasons: []string{"OOMKilled"}, Signals: []string{"SIGTERM"}, RanLessThan: minute, RanAtLeast: second, MinFailures: 3},
		{Action: "Reboot", MinFailures: 1},
		{Action: backoff.ActionRestart, MinFailures: 1},
	}}
	explain := func(d backoff.Decision, e backoff.Exit) string {
		var lines []string
		for _, s := range d.Explain(c, e) {
			lines = append(lines, s.String())
		}
		return strings.Join(lines, "\n")
	}
	const head = "rule 0 nothing (Restart): no match: the rule has no condition\n" + `rule 1 (Restart): no match: unknown operator "Exists"` + "\n"
	for _, tt := range []struct {
		d    backoff.Decision
		e    backoff.Exit
		want string
	}{
		{backoff.Decision{Action: backoff.ActionRestart, Rule: 2, Failures: 3}, backoff.Exit{Code: 143, Reason: "OOMKilled", Started: t0, Finished: t0.Add(2 * second)}, head +
			"rule 2 all (Restart): matched: exit code 143 is not in [0 2 7-9]; reason \"OOMKilled\" is in [OOMKilled]; signal SIGTERM is in [SIGTERM]; ran 2s, less than 1m0s; ran 2s, at least 1s; failure 3 in a row is at least 3\n" +
			"rule 3 (Reboot): no match: not reached, rule all decided\nrule 4 (Restart): no match: not reached, rule all decided"},
		{backoff.Decision{}, backoff.Exit{Code: 8, Started: t0, Finished: t0.Add(time.Millisecond)}, head +
			"rule 2 all (Restart): no match: exit code 8 is in [0 2 7-9]; reason \"\" is not in [OOMKilled]; no known signal, so not in [SIGTERM]; ran 1ms, less than 1m0s; ran 1ms, less than 1s; failure 1 in a row is below 3\n" +
			"rule 3 (Reboot): no match: unknown action, the restart policy decides (failure 1 in a row is at least 1)\n" +
			"rule 4 (Restart): no match: not reached, rule restartPolicyRules[3] decided"},
	} {
		if got := explain(tt.d, tt.e); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}

// Without Finished, Explain reports an unknown run length and keeps the decision.
func TestExplainWithoutFinished(t *testing.T) {
	c := backoff.ExitPolicy{Rules: []backoff.Rule{{Name: "short", Action: backoff.ActionGiveUp, RanLessThan: minute}, {Name: "long", Action: backoff.ActionRestart, RanAtLeast: minute}, {Name: "rest", Action: backoff.ActionRestart, MinFailures: 1}}}
	clock := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: clock})
	e := backoff.Exit{Run: 1, Code: 1, Started: clock.Now().Add(-time.Hour)}
	d := r.Exited("a", c, e)
	var got []string
	for _, s := range d.Explain(c, e) {
		got = append(got, s.String())
	}
	const want = `rule 0 short (GiveUp): no match: run length unknown without Finished
rule 1 long (Restart): matched: run length unknown without Finished
rule 2 rest (Restart): no match: not reached, rule long decided`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}
