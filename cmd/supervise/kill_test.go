package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Killed, and started again on its state, supervise goes on with the failures and the
// wait of each command, restarts what ran, and does not run again what had ended.
func TestKilledSuperviseGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	args := []string{"-explain", "-state", state, "-f", file(t, dir, "c.yaml", `
commands:
- {name: crashes, command: [sh, -c, "echo crashes >> log; exit 1"], curve: {initial: 24h, max: 240h}}
- {name: over, command: [sh, -c, "echo over >> log; exit 4"], restartPolicy: Never}
- {name: steady, command: [sh, -c, "echo steady >> log; exec sleep 1000"]}
`)}
	started := func(name string) int {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		return strings.Count(string(text), name+"\n")
	}
	p := start(t, dir, args...)
	p.Eventually("both exits are saved", func() bool { // what is printed may not be saved yet
		saved := savedState(t, state).Commands
		return saved["crashes"].Backoff != nil && saved["over"].Backoff != nil
	})
	p.Eventually("steady runs", func() bool { return started("steady") == 1 })
	p.Kill()
	p.Eventually("no process is left", func() bool { return len(p.Processes()) == 0 })

	q := start(t, dir, args...)
	q.Err.Says("note: crashes: goes on after 1 failure", 1)
	q.Err.Says("note: over: has ended; remove the state to start over\n", 1)
	q.Out.Says("crashes   CrashLoopBackOff   0 ", 1)
	q.Eventually("steady runs again", func() bool { return started("steady") == 2 })
	if n := started("crashes"); n != 1 {
		t.Errorf("crashes was started %d times before the end of its wait", n)
	}
	q.Signal(syscall.SIGHUP) // ends the wait
	q.Err.Says("crashes: exit code 1 under restartPolicy Always: restarted after 48h0m0s (failure 2 in a row)\n", 1)
	q.Signal(syscall.SIGTERM)
	q.Done(143)
	if crashes, over := started("crashes"), started("over"); crashes != 2 || over != 1 {
		t.Errorf("%d starts of crashes, %d of over", crashes, over)
	}
}
