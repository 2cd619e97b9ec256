package backoff_test

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

func TestReasonIsOneSentence(t *testing.T) {
	c := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{
		{Action: backoff.ActionRestartAll, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{41, 42}}}}}
	for _, tt := range []struct {
		d    backoff.Decision
		e    backoff.Exit
		want string
	}{
		{backoff.Decision{Action: backoff.ActionRestartAll, Delay: 20 * second, Failures: 2, Rule: 0}, backoff.Exit{Code: 42},
			"exit code 42 is In [41 42] of restartPolicyRules[0]: restarts with all containers in 20s (failure 2 in a row)"},
		{backoff.Decision{Action: backoff.ActionRestart, Failures: 1, Rule: -1}, backoff.Exit{Code: 137, Reason: "OOMKilled"},
			"exit code 137 (OOMKilled) under restartPolicy OnFailure: restarts at once (failure 1 in a row)"},
		{backoff.Decision{Action: backoff.ActionStop, Rule: -1}, backoff.Exit{}, "exit code 0 under restartPolicy OnFailure: not restarted"},
		{backoff.Decision{Action: backoff.ActionGiveUp, Failures: 5, Rule: -1}, backoff.Exit{Code: 1},
			"exit code 1 under restartPolicy OnFailure: given up, the limit of restarts is used up (failure 5 in a row)"},
		{backoff.Decision{Action: backoff.ActionRestart, Delay: 20 * second, Failures: 2, Rule: -1}, backoff.Exit{},
			"exit code 0 under restartPolicy OnFailure: restarts in 20s (exit 2 in a row)"},
		{backoff.Decision{}, backoff.Exit{Code: 42}, "exit code 42: nothing decided"},
		{backoff.Decision{Action: backoff.ActionStop, Rule: 7}, backoff.Exit{}, "exit code 0 under restartPolicy OnFailure: not restarted"},
	} {
		if got := tt.d.Reason(c, tt.e); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	if got := (backoff.Decision{Action: backoff.ActionRestart, Rule: -1}).Reason(backoff.ExitPolicy{}, backoff.Exit{}); !strings.Contains(got, "restartPolicy Always") {
		t.Error(got)
	}
}

// Decision.Remaining is within the Delay, even if the clock is set.
func TestDecisionRemainingKeepsToItsDelay(t *testing.T) {
	d := backoff.Decision{Action: backoff.ActionRestart, Delay: 10 * second, NotBefore: t0.Add(10 * second), Failures: 1, Rule: -1}
	for _, tt := range []struct {
		name string
		d    backoff.Decision
		at   time.Time
		want time.Duration
	}{
		{"at the exit", d, t0, 10 * second},
		{"while it waits", d, t0.Add(4 * second), 6 * second},
		{"when it is over", d, t0.Add(10 * second), 0},
		{"long after", d, t0.Add(100 * 365 * 24 * time.Hour), 0},
		{"the clock is set back", d, t0.Add(-5 * second), 10 * second},
		{"it is set back by more than the delay", d, t0.Add(-24 * time.Hour), 0},
		{"at the zero time", d, time.Time{}, 0},
		{"not restarted", backoff.Decision{Action: backoff.ActionStop, Rule: -1}, t0, 0},
		{"not restarted, before time began", backoff.Decision{Action: backoff.ActionStop, Rule: -1}, time.Time{}.Add(-second), 0},
		{"no decision", backoff.Decision{Delay: -second, NotBefore: t0}, t0.Add(-24 * time.Hour), 0},
	} {
		if got := tt.d.Remaining(tt.at); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// While the clock is not set back, a Decision and its Restarter have the same
// Remaining, also under a Rate.
func TestDecisionAndRestarterAgreeOnTheWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		r := newRestarter(t, backoff.ReducedCrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 0.1})
		decisions := map[string]backoff.Decision{}
		keys := rapid.SampledFrom([]string{"a", "b", "c"})
		for run := range rapid.IntRange(1, 20).Draw(t, "exits") {
			key := keys.Draw(t, "key")
			decisions[key] = r.Exited(key, backoff.ExitPolicy{}, crash(int64(run+1), c.Now(), 0))
			if woken := keys.Draw(t, "woken"); rapid.Bool().Draw(t, "wake") {
				if d, ok := r.RestartNow(woken); ok {
					decisions[woken] = d
				}
			}
			step(c, backoff.Distances().Draw(t, "step").Abs())
			for key, d := range decisions {
				if got, want := d.Remaining(c.Now()), remaining(r, key); got != want {
					t.Fatalf("%s: %v, the Restarter says %v", key, got, want)
				}
			}
		}
	})
}
