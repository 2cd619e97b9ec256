package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/interrupt"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// Who does not listen to SIGTERM gets SIGKILL after the grace period, or at once
// with the second signal.
func TestStubbornCommandIsKilled(t *testing.T) {
	t.Parallel()
	const stubborn = `trap "" TERM; echo ready; while :; do sleep 0.05; done`
	p := start(t, t.TempDir(), "-grace", "700ms", "--", "sh", "-c", stubborn)
	p.Out.Says("| ready", 1)
	began := time.Now()
	p.Signal(syscall.SIGINT)
	p.Done(130)
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("took %v, with a grace period of 700ms", took)
	}

	var q *programtest.Program
	waits := func() bool {
		q = start(t, t.TempDir(), "-grace", "1h", "--", "sh", "-c", stubborn)
		q.Out.Says("| ready", 1)
		q.SignalTogether(syscall.SIGTERM, syscall.SIGINT) // which count as one
		q.Out.Says("Terminating", 1)
		time.Sleep(4 * interrupt.Same)
		return !q.Ended() && !strings.Contains(q.Out.String(), "killed")
	}
	for try := 1; !waits(); try++ { // a busy machine may part them
		if try == 5 {
			t.Fatal("did not wait for the grace period")
		}
	}
	q.Signal(syscall.SIGINT)
	if code := q.Wait(); code != 143 && code != 130 { // whichever of the two was seen first
		t.Errorf("exit code %d", code)
	}
	if out := q.Out.String(); !strings.Contains(out, "137 (killed)") {
		t.Errorf("printed\n%s", out)
	}
}

// After a signal nothing is started any more: the last table names no next start.
func TestStoppedTableNamesNoNextStart(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--", "sh", "-c", "exit 1")
	p.Out.Says("CrashLoopBackOff", 1)
	p.Signal(syscall.SIGINT)
	p.Done(130)
	lines := strings.Split(strings.TrimSpace(p.Out.String()), "\n")
	if last := strings.Fields(lines[len(lines)-1]); strings.Join(last[1:], " ") != "sh CrashLoopBackOff 0 - 1" {
		t.Errorf("the last line is %q", last)
	}
}

// -for ends it, and that is no failure.
func TestEndOfForIsNoFailure(t *testing.T) {
	t.Parallel()
	began := time.Now()
	p := start(t, t.TempDir(), "-for", "500ms", "--", "sleep", "1000")
	p.Done(exitOK)
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("took %v", took)
	}
}

// Commands end for good with the right state and exit code.
func TestStateAndExitCodeOfWhatEndsForGood(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		args  []string
		code  int
		state string // of the last line
		exit  string
	}{
		{"success under OnFailure", []string{"-restart-policy", "OnFailure", "--", "true"}, exitOK, "Completed", "0"},
		{"success under Never", []string{"-restart-policy", "Never", "--", "true"}, exitOK, "Completed", "0"},
		{"failure under Never", []string{"-restart-policy", "Never", "--", "sh", "-c", "exit 7"}, exitFailed, "Error", "7"},
		{"killed under Never", []string{"-restart-policy", "Never", "--", "sh", "-c", "kill -9 $$"}, exitFailed, "Error", "137 (killed)"},
		{"no such command", []string{"-restart-policy", "Never", "--", "no-such-command"}, exitFailed, "Error", "127"},
		{"no program", []string{"-restart-policy", "Never", "--", "/dev/null"}, exitFailed, "Error", "126"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, t.TempDir(), tt.args...)
			p.Done(tt.code)
			lines := strings.Split(strings.TrimSpace(p.Out.String()), "\n")
			last := strings.Fields(lines[len(lines)-1])
			if last[2] != tt.state || last[3] != "0" || last[4] != "-" || strings.Join(last[5:], " ") != tt.exit {
				t.Errorf("ended with %q", last)
			}
			if header := strings.Fields(lines[0]); strings.Join(header, " ") != "TIME NAME STATE RESTARTS NEXT EXIT" {
				t.Errorf("header %q", header)
			}
		})
	}
}

// A command that cannot be started is reported and tried again.
func TestCommandThatCannotStartIsRetried(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "-reduced", "--", "no-such-command")
	p.Eventually("two attempts", func() bool {
		return strings.Count(p.Err.String(), "no-such-command cannot be started: no-such-command: command not found") >= 2
	})
	p.Signal(syscall.SIGINT)
	p.Done(130)
}

// Rules decide before the restart policy does.
func TestRulesComeBeforeTheRestartPolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-f", file(t, dir, "c.yaml", `
commands:
- name: c
  command: [sh, -c]
  args: ['echo >> runs; exit $((39 + $(wc -l < runs)))']
  workingDir: .
  restartPolicy: Never
  restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [43]}}]
  curve: {initial: 10ms, max: 10ms}
`))
	p.Done(exitFailed)
	words := strings.Fields(p.Out.String())
	if last := words[len(words)-6:]; last[0] != "Error" || last[1] != "3" || last[5] != "43" {
		t.Errorf("ended with %q", last)
	}
}
