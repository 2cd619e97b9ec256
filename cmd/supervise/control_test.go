package main

import (
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
