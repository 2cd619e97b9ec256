package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// person runs "supervise VERB -state DIR NAME..." and returns what it prints.
func person(t *testing.T, code int, dir string, args ...string) (out, errs string) {
	t.Helper()
	p := programtest.New(t, append([]string{args[0], "-state", dir}, args[1:]...)...)
	p.Start()
	p.Done(code)
	return p.Out.String(), p.Err.String()
}

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

// Nonsense on the socket, and a client that says nothing, hold up no command and no
// other client.
func TestNonsenseOnTheSocketIsAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-state", dir, "--", "sleep", "1000")
	p.Out.Says("Running", 1)
	for text, want := range map[string]string{
		"\n":                                  "not a request: ",
		"[]\n":                                "not a request: ",
		strings.Repeat("x", longestRequest+1): "not a request: ",
		`{"verb":"explode","names":["sleep"]}` + "\n": `unknown request \"explode\"`,
		`{"verb":"stop"}` + "\n":                      "name at least one command",
	} {
		conn, err := net.Dial("unix", filepath.Join(dir, socketFile))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text)) // it may be refused before its end
		got := make([]byte, 1000)
		n, _ := conn.Read(got)
		conn.Close()
		if !strings.Contains(string(got[:n]), want) {
			t.Errorf("%.50q: %q, want %q", text, got[:n], want)
		}
	}
	if out, _ := person(t, exitOK, dir, "status"); !strings.Contains(out, "sleep   Running") {
		t.Error(out)
	}
	p.Signal(syscall.SIGTERM)
	p.Done(143)
}

func TestAskingNeedsItsArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"status":             "supervise status: -state is needed\n",
		"restart -state x":   "supervise restart: the name of a command is needed\n",
		"stop web -stat x":   "did you mean -state?",
		"status -state /x/y": "no such file",
	} {
		p := programtest.New(t, strings.Fields(args)...)
		p.Start()
		if code := p.Wait(); code != exitUsage && code != exitFailed || !strings.Contains(p.Err.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, p.Err.String())
		}
	}
	for _, verb := range verbs {
		p := programtest.New(t, verb, "-h")
		p.Start()
		p.Done(exitOK)
		if !strings.HasPrefix(p.Out.String(), "Usage: supervise "+verb+" -state FOLDER ") {
			t.Error(p.Out.String())
		}
	}
}

// A file of events that cannot be written is refused before anything is started.
func TestUnwritableEventsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]string{dir: "is not a regular file", dir + "/missing/x": "no such file", "": "the file has no name"} {
		if got := refused(t, dir, "-events", path, "--", "touch", dir+"/started"); !strings.Contains(got, "-events: ") || !strings.Contains(got, want) {
			t.Errorf("%q: %s", path, got)
		}
	}
	if _, err := os.Stat(dir + "/started"); err == nil {
		t.Error("the command was started")
	}
}
