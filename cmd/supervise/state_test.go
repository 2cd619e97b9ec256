package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// savedState reads the state that a supervise has written.
func savedState(t *testing.T, dir string) state {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "supervise.json"))
	if os.IsNotExist(err) {
		return state{}
	}
	var file struct{ State state }
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.State
}

func failures(t *testing.T, dir, name string) int {
	b := savedState(t, dir).Commands[name].Backoff
	if b == nil {
		return 0
	}
	return b.Decision.Failures
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

// A command whose definition has changed starts over; one that is gone is forgotten.
func TestChangedCommandStartsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-state", dir, "-name", "c", "-restart-policy", "Never", "--", "sh", "-c", "exit 3")
	p.Done(exitFailed)
	p = start(t, dir, "-state", dir, "-name", "c", "-restart-policy", "Never", "--", "sh", "-c", "exit 3")
	p.Done(exitFailed)
	if out := p.Out.String(); strings.Contains(out, "Running") || !strings.Contains(strings.Join(strings.Fields(out), " "), "c Error 0 - 3") {
		t.Errorf("printed\n%s", out)
	}
	p = start(t, dir, "-state", dir, "-name", "c", "-restart-policy", "Never", "--", "sh", "-c", "exit 0")
	p.Done(exitOK)
	if out := p.Err.String(); out != "supervise: note: c: starts over, since its command is now sh -c \"exit 0\"\n" {
		t.Errorf("printed\n%s", out)
	}
	p = start(t, dir, "-state", dir, "-name", "d", "-restart-policy", "Never", "--", "true")
	p.Done(exitOK)
	if st := savedState(t, dir); len(st.Commands) != 1 || st.Commands["d"].Starts != 1 {
		t.Errorf("state %+v", st)
	}
}

// A state that cannot be used is no reason to start over unasked, and one that no
// run can have written is refused with its field.
func TestUnusableStateIsRefused(t *testing.T) {
	t.Parallel()
	definition := (&command{args: []string{"true"}}).definition()
	dir := t.TempDir()
	start(t, dir, "-state", dir, "-restart-policy", "Never", "--", "true").Done(exitOK)
	command := func(fields string) string {
		return `{"version": 1, "run": "0000000abc", "commands": {"true": {"definition": "` + definition + `", ` + fields + `}}}`
	}
	for _, tt := range []struct{ text, want string }{
		{"", "unexpected end of JSON input"},
		{"{", "unexpected end of JSON input"},
		{`{"version": 2, "commands": {}}`, "not a state of this program: state is missing"},
		{`{"version": 2, "crc32": "0", "state": {}}`, `damaged or edited: the checksum is a3a6bf43, must be "0"`},
		{`{"version": 3}`, "a later release has written it: version is 3, this release reads up to 2"},
		{`{"version": 1, "run": "../x"}`, `run is "../x", which names no run`},
		{`{"version": 1, "commands": {"../x": {}}}`, `commands has "../x", which is not the name of a command`},
		{command(`"run": -1`), "commands.true: run is -1, starts is 0, must not be below 0"},
		{command(`"run": 9223372036854775807`), "commands.true.run is 9223372036854775807, must not be above 9007199254740992"},
		{command(`"run": 1, "starts": 2`), "commands.true.starts is 2, must not be above run, 1"},
		{command(`"run": 1, "backoff": {"failures": 1, "last": {"run": 9}, "decision": {"action": "Restart"}}`), "commands.true.backoff.last.run is 9, must be in [0, run], [0, 1]"},
		{command(`"run": 1, "backoff": {"last": {"run": 1}, "decision": {"action": "Restart", "failures": 2}}`), "commands.true.backoff.decision.failures is 2, must not be above run, 1"},
		{command(`"run": 1, "backoff": {"decision": {"action": "x", "failures": -1}}`),
			`commands.true.backoff.decision.action: unsupported value "x": must be Stop, Restart, RestartAllContainers or GiveUp; commands.true.backoff.decision.failures: invalid value -1: must be >= 0`},
	} {
		path := file(t, dir, "supervise.json", tt.text)
		if got, want := refused(t, dir, "-state", dir, "--", "true"), "supervise: -state: "+path+": "+tt.want+"; remove it to start over, or name another folder\n"; got != want {
			t.Errorf("state %q: printed\n%swant\n%s", tt.text, got, want)
		}
	}
	dir = t.TempDir()
	path := file(t, dir, "f", "")
	if got := refused(t, dir, "-state", path, "--", "true"); !strings.HasPrefix(got, "supervise: -state: mkdir "+path) {
		t.Errorf("printed %q", got)
	}
	if got := refused(t, dir, "-state", dir, "--", "true"); !strings.Contains(got, "was not made by supervise") {
		t.Errorf("printed %q", got)
	}
}

// A state that could not be written is an error of its own.
func TestUnsavedStateIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-state", dir+"/state", "--", "sh", "-c", "echo ready; until test -e go; do sleep 0.05; done; exit 1")
	p.Out.Says("| ready", 1)
	p.Eventually("the folder is gone", func() bool { return os.RemoveAll(dir+"/state") == nil })
	file(t, dir, "go", "")
	p.Err.Says("warning: -state: ", 1)
	p.Signal(syscall.SIGTERM)
	p.Done(exitUnwritten)
}
