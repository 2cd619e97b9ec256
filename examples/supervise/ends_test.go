package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/examples/internal/interrupt"
	"github.com/restartkit/restart/examples/internal/programtest"
)

// family is a command with a process in its group, one that has left it, and one
// that has no parent any more; on SIGTERM it ends.
const family = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &); echo ready; wait"

// Whatever ends supervise, no process is left.
func TestEndedSuperviseLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		p := start(t, t.TempDir(), "--", "sh", "-c", family)
		p.Out.Says("| ready", 1)
		p.Eventually("four processes", func() bool { return len(p.Processes()) >= 6 }) // and supervise, and its guard
		p.Signal(tt.signal)
		p.Done(tt.code)
		if out := p.Out.String(); !strings.Contains(out, "Terminating") || !strings.Contains(out, "143 (terminated)") {
			t.Errorf("%v: printed\n%s", tt.signal, out)
		}
	}
}

// Who does not listen to SIGTERM gets SIGKILL after the grace period, or at once
// with the second signal.
func TestStubbornCommandIsKilled(t *testing.T) {
	t.Parallel()
	const stubborn = `trap "" TERM; echo ready; while :; do sleep 0.05; done`
	p := start(t, t.TempDir(), "-grace", "700ms", "--", "sh", "-c", stubborn)
	q := start(t, t.TempDir(), "-grace", "1h", "--", "sh", "-c", stubborn)
	p.Out.Says("| ready", 1)
	began := time.Now()
	p.Signal(syscall.SIGINT)
	p.Done(130)
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("took %v, with a grace period of 700ms", took)
	}

	q.Out.Says("| ready", 1)
	q.Signal(syscall.SIGSTOP)
	q.Signal(syscall.SIGTERM)
	q.Signal(syscall.SIGINT) // they come together, and are the same
	q.Signal(syscall.SIGCONT)
	q.Out.Says("Terminating", 1)
	time.Sleep(4 * interrupt.Same)
	if q.Ended() || strings.Contains(q.Out.String(), "killed") {
		t.Fatal("did not wait for the grace period")
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
	if last := strings.Fields(lines[len(lines)-1]); strings.Join(last, " ") != "sh CrashLoopBackOff 0 - 1" {
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

// When nobody reads any more, it ends.
func TestSuperviseEndsWhenItsReaderIsGone(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = "%s -- sh -c 'while :; do echo x; sleep 0.01; done' | head -n 3"
	p := start(t, t.TempDir(), "-restart-policy", "Never", "--", "sh", "-c", fmt.Sprintf(script, self))
	p.Done(exitOK)
}

// A table that cannot be written, or the help, is no success, whatever the command
// comes to.
func TestUnwrittenTableIsAnError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"-restart-policy", "Never", "--", "true"}, {"--", "sleep", "1000"}} {
		programtest.FullDisk(t, exitFailed, args...)
	}
}

// What ends for good, with which state, and the exit codes that follow.
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
			if last[1] != tt.state || last[2] != "0" || last[3] != "-" || strings.Join(last[4:], " ") != tt.exit {
				t.Errorf("ended with %q", last)
			}
			if header := strings.Fields(lines[0]); strings.Join(header, " ") != "NAME STATE RESTARTS NEXT EXIT" {
				t.Errorf("header %q", header)
			}
		})
	}
}

// What cannot be started is tried again, and told about.
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

// RestartAllContainers ends the others and starts all anew, when the delay of the
// one is over, even what had ended for good; then each goes on as before.
func TestRestartAllContainersRestartsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-explain", "-f", file(t, dir, "c.yaml", `
commands:
- name: leader
  command: [sh, -c, "echo leader $(date +%s%N) >> log; until test -e go; do sleep 0.05; done; test $(grep -c leader log) -gt 1 && sleep 1000; echo exits $(date +%s%N) >> log; exit 9"]
  restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [9]}}]
  curve: {initial: 500ms, max: 500ms}
- name: runs
  command: [sh, -c, "echo runs $(date +%s%N) >> log; exec sleep 1000"]
  restartPolicy: Never
- name: over
  command: [sh, -c, "echo over $(date +%s%N) >> log"]
  restartPolicy: OnFailure
- name: waits
  command: [sh, -c, "echo waits $(date +%s%N) >> log; exit 1"]
  curve: {initial: 100s, max: 300s}
- name: failed
  command: [sh, -c, "echo >> runs; test $(wc -l < runs) -gt 1 || exit 1; echo failed $(date +%s%N) >> log; exec sleep 1000"]
  curve: {initial: 10ms, max: 10ms, resetAfter: 1h}
- name: slow
  command: [sh, -c, "trap 'sleep 1; echo ended $(date +%s%N) >> log; exit' TERM; echo slow $(date +%s%N) >> log; while :; do sleep 0.05; done"]
`))
	var log map[string][]time.Duration
	started := func(times int) func() bool {
		return func() bool {
			log = readLog(t, dir+"/log")
			for _, name := range []string{"leader", "runs", "over", "waits", "failed", "slow"} {
				if len(log[name]) < times {
					return false
				}
			}
			return true
		}
	}
	p.Eventually("a start of each", started(1))
	p.Out.Says("over     Completed", 1)
	p.Out.Says("waits    CrashLoopBackOff", 1)
	file(t, dir, "go", "")
	p.Eventually("two starts of each", started(2))
	exits, ended := log["exits"][0], log["ended"][0]
	delete(log, "exits")
	delete(log, "ended")
	for name, at := range log {
		if len(at) != 2 || at[1] < exits+500*time.Millisecond || at[1] < ended {
			t.Errorf("%s was started again at %v, the leader at %v; that had exited at %v, and the last of the others at %v", name, at[1:], log["leader"][1], exits, ended)
		}
	}
	p.Out.Says("over     Completed", 2)
	p.Out.Says("waits    CrashLoopBackOff", 2)
	p.Eventually("failures go on", func() bool {
		told := p.Err.String()
		return strings.Contains(told, "waits: exit code 1 under restartPolicy Always: restarted after 3m20s (failure 2 in a row)") &&
			strings.Contains(told, "failed: restarted with another command (failure 2 in a row)")
	})
	p.Signal(syscall.SIGINT)
	p.Done(130)
}
