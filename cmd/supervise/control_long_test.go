//go:build long

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A person stops, restarts and looks at commands of a supervise that runs. A stopped
// one stays stopped in the next supervise.
func TestPersonStopsAndRestartsCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, strings.Repeat("a-long-name-", 10)) // longer than an address of a socket may be
	config := file(t, dir, "c.yaml", `
commands:
- {name: web, command: [sh, -c, "echo web >> log; exec sleep 1000"]}
- {name: crashes, command: [sh, -c, "echo crashes >> log; exit 1"], curve: {initial: 1h, max: 1h}}
- {name: once, command: [sh, -c, "echo once >> log; exit 0"], restartPolicy: Never}
`)
	log := func(name string) int {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		return strings.Count(string(text), name)
	}
	events := filepath.Join(dir, "events")
	p := start(t, dir, "-state", state, "-events", events, "-f", config)
	p.Eventually("all have started", func() bool { return log("web") == 1 && log("crashes") == 1 && log("once") == 1 })
	p.Out.Says("Completed", 1)
	p.Out.Says("CrashLoopBackOff", 1)

	out, _ := person(t, exitOK, state, "status")
	for _, want := range []string{"NAME ", "web       Running ", "crashes   CrashLoopBackOff ", "once      Completed "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, _ := person(t, exitOK, state, "status", "web"); strings.Contains(out, "crashes") || !strings.Contains(out, "web") {
		t.Error(out)
	}
	person(t, exitOK, state, "restart", "web", "crashes", "once")
	p.Eventually("all have started again", func() bool { return log("web") == 2 && log("crashes") == 2 && log("once") == 2 })
	if n := failures(t, state, "web"); n != 0 {
		t.Errorf("a restart counts as %d failures", n)
	}
	p.Eventually("the second crash counts", func() bool { return failures(t, state, "crashes") == 2 })

	person(t, exitOK, state, "stop", "web")
	p.Out.Says("Stopped", 1)
	if _, errs := person(t, exitFailed, state, "stop", "wob"); errs != "supervise stop: no command is named \"wob\"; did you mean web?\n" {
		t.Error(errs)
	}
	p.Signal(syscall.SIGTERM)
	p.Done(143)
	if _, errs := person(t, exitFailed, state, "status"); !strings.Contains(errs, "no supervise runs with ") {
		t.Error(errs)
	}

	p = start(t, dir, "-state", state, "-events", events, "-f", config)
	p.Err.Says(`note: web: is stopped, until "supervise restart"`, 1)
	person(t, exitOK, state, "restart", "web")
	p.Eventually("web has started", func() bool { return log("web") == 3 })
	p.Kill()
	p = start(t, dir, "-state", state, "-events", events, "-f", config) // the socket is left
	p.Eventually("web has started", func() bool { return log("web") == 4 })
	person(t, exitOK, state, "status")
	p.Signal(syscall.SIGTERM)
	p.Done(143)

	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		count[e.Event+" "+e.Command+" "+e.Action]++
	}
	if n := count["started web "]; n < 3 || n > 4 { // one was killed as it started
		t.Errorf("%d starts of web:\n%s", n, text)
	}
	for what, want := range map[string]int{"began  ": 3, "ended  ": 2, "started once ": 2, "exited once Stop": 2, "exited crashes Restart": 2, "exited web ": 3} {
		if count[what] != want {
			t.Errorf("%d of %q, want %d:\n%s", count[what], what, want, text)
		}
	}
}
