//go:build long

package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// When program and guard are killed together, what is left is found by its mark;
// this process, which carries the mark of another run as well, stays.
func TestKillRunFindsProcessesByTheirMark(t *testing.T) {
	p := startProgram(t, family()+"wait")
	run, err := parseRun(p.run)
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(p.Process.Pid, syscall.SIGSTOP) // so that it does not kill what the guard leaves
	_ = syscall.Kill(p.guard, syscall.SIGKILL)
	_ = p.Process.Kill()
	_ = p.Wait()
	for _, pid := range p.pids {
		if !alive(t, pid) {
			t.Errorf("process %s has ended by itself", pid)
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKillRunSelf$", "-test.v")
	cmd.Env = append(os.Environ(), "PROCESS_TEST_KILL_RUN="+p.run)
	undo := setMark(run.child(77))
	text, err := cmd.CombinedOutput()
	undo()
	if err != nil || !strings.Contains(string(text), "--- PASS: TestKillRunSelf") {
		t.Errorf("%v:\n%s", err, text)
	}
	for _, pid := range p.pids {
		if alive(t, pid) {
			t.Errorf("process %s is left: %s", pid, commandLine(pid))
			n, _ := strconv.Atoi(pid)
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// TestKillRunSelf is run by TestKillRunFindsProcessesByTheirMark in a process that
// carries the mark.
func TestKillRunSelf(t *testing.T) {
	run := os.Getenv("PROCESS_TEST_KILL_RUN")
	if run == "" {
		t.Skip("only run by TestKillRunFindsProcessesByTheirMark")
	}
	if got := markOf(os.Getpid()).run().String(); got != run {
		t.Fatalf("it has the mark of %s, not of %s", got, run)
	}
	below := exec.Command("sleep", "1000")
	if err := below.Start(); err != nil {
		t.Fatal(err)
	}
	if err := KillRun(run); err != nil {
		t.Error(err)
	}
	if !alive(t, strconv.Itoa(below.Process.Pid)) {
		t.Error("it has killed its own child")
	}
	_ = below.Process.Kill()
	_ = below.Wait()
}

func TestRunNamesAreReadBack(t *testing.T) {
	for range 100 {
		run := newRun()
		if back, err := parseRun(run.String()); err != nil || back != run || run.child(1<<40+5).run() != run || run.child(5) != run.child(5+1<<childBits) {
			t.Errorf("%v: %v, %v", run, back, err)
		}
	}
	for _, wrong := range []string{"", "0", "x", "00000000000", "-1", "ffffffffff", "../../etc", strings.Repeat("1", 30)} {
		if ValidRun(wrong) || KillRun(wrong) == nil {
			t.Errorf("%q names a run", wrong)
		}
	}
}
