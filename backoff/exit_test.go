//go:build unix

package backoff_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Each way a process ends becomes an exit that rules match.
func TestExitOfProcess(t *testing.T) {
	run := func(script string) *os.ProcessState {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Run()
		return cmd.ProcessState
	}
	killed := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever, Rules: []backoff.Rule{{Action: backoff.ActionRestart, Signals: []string{"SIGKILL"}}}}
	for name, test := range map[string]struct {
		state *os.ProcessState
		want  backoff.Exit
		rule  int
	}{
		"success":     {run("exit 0"), backoff.Exit{Run: 3, Started: t0}, -1},
		"code":        {run("exit 7"), backoff.Exit{Run: 3, Code: 7, Started: t0}, -1},
		"SIGKILL":     {run("kill -9 $$"), backoff.Exit{Run: 3, Code: 137, Signal: 9, Started: t0}, 0},
		"SIGTERM":     {run("kill $$"), backoff.Exit{Run: 3, Code: 143, Signal: 15, Started: t0}, -1},
		"not started": {nil, backoff.Exit{Run: 3, Code: 128, Reason: "StartError"}, -1},
	} {
		got := backoff.ExitOf(3, t0, test.state)
		if got.Finished.IsZero() || time.Since(got.Finished) < 0 {
			t.Errorf("%s: finished %v", name, got.Finished)
		}
		got.Finished = time.Time{}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if _, rule := killed.DecideExit(got, 1); rule != test.rule {
			t.Errorf("%s: rule %d, want %d", name, rule, test.rule)
		}
	}
}
