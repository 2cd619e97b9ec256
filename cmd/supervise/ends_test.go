package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// After a signal nothing is started any more: the last table names no next start.
func TestStoppedTableNamesNoNextStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-f", file(t, dir, "c.yaml", `commands: [{name: sh, command: [sh, -c, exit 1], curve: {initial: 24h, max: 24h}}]`))
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
	p := start(t, t.TempDir(), "-for", "500ms", "--", "sleep", "1000")
	p.Done(exitOK)
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
	dir := t.TempDir()
	p := start(t, dir, "-f", file(t, dir, "c.yaml", `commands: [{name: c, command: [no-such-command], curve: {initial: 10ms, max: 10ms}}]`))
	p.Eventually("two attempts", func() bool {
		return strings.Count(p.Err.String(), "c cannot be started: no-such-command: command not found") >= 2
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

// SIGHUP ends the waits, however long they are, and keeps the count of failures;
// under nohup, which has programs ignore it, too.
func TestSIGHUPEndsTheWaits(t *testing.T) {
	t.Parallel()
	for _, nohup := range []bool{false, true} {
		dir := t.TempDir()
		config := file(t, dir, "c.yaml", `
commands:
- name: sh
  command: [sh, -c, "exit 1"]
  curve: {initial: 24h, max: 240h}
`)
		p := programtest.New(t, "-explain", "-f", config)
		if nohup {
			p.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, p.Path}, p.Args[1:]...)
			p.Path = "/bin/sh"
		}
		p.Start()
		for i := range 3 {
			p.Out.Says("CrashLoopBackOff", i+1)
			p.Signal(syscall.SIGHUP)
			p.Out.Says("Running", i+2)
		}
		p.Eventually("failure 4", func() bool { return strings.Contains(p.Err.String(), "after 192h0m0s (failure 4 in a row)") })
		p.Signal(syscall.SIGTERM)
		p.Done(143)
	}
}
