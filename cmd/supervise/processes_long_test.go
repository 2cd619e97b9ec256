//go:build long

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A guard that is killed is printed; the commands are restarted as after any SIGKILL,
// under another guard.
func TestCommandsOfAKilledGuardRestart(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "-reduced", "--", "sh", "-c", "echo ready; setsid env -i sleep 1000 & exec sleep 1000")
	for i := range 3 {
		p.Out.Says("| ready", i+1)
		guard := p.Guard()
		if guard == 0 {
			t.Fatal("no guard")
		}
		_ = syscall.Kill(guard, syscall.SIGKILL)
		p.Err.Says("has ended (killed); the 1 running below it", i+1)
		p.Out.Says("137 (killed)", i+1)
		p.Signal(syscall.SIGHUP)
	}
	p.Out.Says("| ready", 4)
	p.Signal(syscall.SIGTERM)
	p.Done(143)
}

// Nothing that a command leaves behind outlives it: the next run does not see it,
// and Stopped is only printed when nothing is left.
func TestNothingIsLeftOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const script = `
for pid in $(cat pids); do grep -q . /proc/$pid/cmdline 2>/dev/null && echo still there: $pid; done
env -i setsid sh -c '(env -i setsid sleep 1000 <&- >/dev/null 2>&1 & echo $!)' >> pids
setsid env -i sleep 1000 & echo $! >> pids
echo run; test $(grep -c . pids) -lt 20 || exec sleep 1000
exit 1`
	p := start(t, dir, "-f", file(t, dir, "c.yaml", fmt.Sprintf(`
commands:
- name: leaves
  command: [sh, -c, %q]
  curve: {initial: 10ms, max: 10ms}
- name: steady
  command: [sleep, "1000"]
`, "touch pids;"+script)))
	p.Out.Says("| run", 10)
	p.Signal(syscall.SIGTERM)
	p.Done(143)
	if strings.Contains(p.Out.String(), "still there") {
		t.Errorf("printed\n%s", p.Out.String())
	}
	pids, _ := os.ReadFile(dir + "/pids")
	for pid := range strings.FieldsSeq(string(pids)) {
		if line, _ := os.ReadFile("/proc/" + pid + "/cmdline"); len(line) > 0 {
			t.Errorf("process %s is left", pid)
		}
	}
}

// family is a command with a process in its group, one that has left it, and one
// that has no parent any more; on SIGTERM it ends.
const family = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &); echo ready; wait"

// Every end of supervise ends all processes.
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
