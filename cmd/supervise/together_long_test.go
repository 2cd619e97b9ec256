//go:build long

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

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
		printed := p.Err.String()
		return strings.Contains(printed, "waits: exit code 1 under restartPolicy Always: restarted after 3m20s (failure 2 in a row)") &&
			strings.Contains(printed, "failed: restarted with another command (failure 2 in a row)")
	})
	p.Signal(syscall.SIGINT)
	p.Done(130)
}
