//go:build long

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func failures(t *testing.T, dir, name string) int {
	b := savedState(t, dir).Commands[name].Backoff
	if b == nil {
		return 0
	}
	return b.Failures
}

// Killed and started again, supervise goes on with the failures, the wait and the
// restarts of each command; none of its processes outlives it.
func TestKilledSuperviseGoesOnWithItsState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := file(t, dir, "c.yaml", `
commands:
- name: crashes
  command: [sh, -c, "echo crashes $(date +%s%N) >> log; exit 1"]
  curve: {initial: 1s, max: 60s}
- name: over
  command: [sh, -c, "echo over $(date +%s%N) >> log; exit 4"]
  restartPolicy: Never
- name: family
  command: [sh, -c, "echo family $(date +%s%N) >> log; env -i sleep 1000 & echo $! > hidden; setsid sleep 1000 & (setsid sleep 1000 &); wait"]
`)
	state := filepath.Join(dir, "state")
	p := start(t, dir, "-state", state, "-f", config)
	p.Eventually("a state", func() bool { return savedState(t, state).Run != "" })
	if second := refused(t, dir, "-state", state, "-f", config); second != "supervise: -state: "+state+" is in use by another run\n" {
		t.Errorf("a second supervise says %q", second)
	}
	p.Eventually("four failures", func() bool { return failures(t, state, "crashes") == 4 }) // and 8 s to wait
	var hidden []byte
	p.Eventually("the family", func() bool {
		hidden, _ = os.ReadFile(filepath.Join(dir, "hidden"))
		return len(hidden) > 0
	})
	p.Kill()
	p.Eventually("no process left", func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(string(hidden)))
		return len(p.Processes()) == 0 && err != nil
	})

	q := start(t, dir, "-state", state, "-f", config, "-explain")
	log := func() map[string][]time.Duration { return readLog(t, filepath.Join(dir, "log")) }
	q.Eventually("failure 5", func() bool { return failures(t, state, "crashes") == 5 })
	q.Out.Says("crashes   CrashLoopBackOff   4 (", 1)
	q.Eventually("a restart of the family", func() bool { return len(log()["family"]) == 2 })
	times := log()
	const wait = 8 * time.Second // at least; that it is not the next longer one is printed below
	if at := times["crashes"]; len(at) != 5 || at[4]-at[3] < wait {
		t.Errorf("starts at %v", at)
	}
	if len(times["over"]) != 1 {
		t.Errorf("%d starts of over, want 1", len(times["over"]))
	}
	for _, want := range []string{
		"note: crashes: goes on after 4 failures in a row",
		"note: over: has ended; remove the state to start over\n",
		"crashes: exit code 1 under restartPolicy Always: restarted after 16s (failure 5 in a row)\n",
	} {
		q.Err.Says(want, 1) // sooner or later: what is printed comes after what is saved
	}
	// Ended by a signal and started again, it goes on as well.
	q.Signal(syscall.SIGTERM)
	q.Done(143)
	r := start(t, dir, "-state", state, "-f", config)
	r.Out.Says("family    Running            2", 1)
	r.Signal(syscall.SIGINT)
	r.Done(130)
	if n := failures(t, state, "family"); n != 0 {
		t.Errorf("family has %d failures, but it was ended", n)
	}
}

// What is left of a run whose guard was killed as well is gone before the next run
// starts anything.
func TestNothingIsLeftOfSuperviseKilledWithItsGuard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"-state", dir, "--", "sh", "-c", "echo ready; setsid sleep 1000 & exec sleep 1000"}
	p := start(t, dir, args...)
	p.Out.Says("| ready", 1)
	p.Eventually("all run", func() bool { return len(p.Processes()) == 4 })
	p.KillGuard()
	p.Eventually("the process in another session is left", func() bool { return len(p.Processes()) == 1 })
	q := start(t, dir, args...)
	q.Out.Says("| ready", 1)
	if left := p.Processes(); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	q.Signal(syscall.SIGINT)
	q.Done(130)
}
