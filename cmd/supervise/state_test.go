package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
		{command(`"run": 1, "backoff": {"failures": 1, "exit": {"run": 9}, "action": "Restart"}`), "commands.true.backoff.exit.run is 9, must be in [0, run], [0, 1]"},
		{command(`"run": 1, "backoff": {"failures": 2, "exit": {"run": 1}, "action": "Restart"}`), "commands.true.backoff.failures is 2, must not be above run, 1"},
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
