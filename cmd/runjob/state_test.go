package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// A folder that cannot be gone on with starts nothing.
func TestUnusableStateStartsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manifest := perIndex(2, 2, "sleep 1000")
	p := start(t, manifest, "-state", dir, "-")
	p.Running(2 + 2)
	other := start(t, manifest, "-state", dir, "-")
	other.Done(exitBad)
	if !strings.Contains(other.Err.String(), "in use by another run") {
		t.Error(other.Err.String())
	}
	p.Signal(syscall.SIGINT)
	p.Done(exitInterrupted)
	for name, test := range map[string]struct{ manifest, want string }{
		"another Job":      {strings.Replace(manifest, "name: test", "name: other", 1), "metadata.name: "},
		"another template": {strings.Replace(manifest, "sleep 1000", "sleep 1001", 1), "spec.template: "},
		"another field":    {strings.Replace(manifest, "job-index-failure-count", "job-completion-index", 1), "spec.template: "},
		"another limit":    {strings.Replace(manifest, "backoffLimitPerIndex: 2", "backoffLimitPerIndex: 3", 1), "spec.backoffLimitPerIndex: "},
	} {
		other := start(t, test.manifest, "-state", dir, "-")
		other.Done(exitBad)
		if !strings.Contains(other.Err.String(), test.want) {
			t.Errorf("%s:\n%s", name, other.Err.String())
		}
	}
	sealed, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ State json.RawMessage }
	if err := json.Unmarshal(sealed, &file); err != nil {
		t.Fatal(err)
	}
	good := file.State // alone it is a file of version 1, which may be edited
	edited := func(pattern, with string) string {
		text := regexp.MustCompile(pattern).ReplaceAllString(string(good), with)
		if text == string(good) {
			t.Fatalf("no %s in %s", pattern, good)
		}
		return text
	}
	const number = "9223372036854775807"
	for text, want := range map[string]string{
		"":                                      "unexpected end",
		`{"run":"x","job":{"me`:                 "unexpected end",
		"{}":                                    "not a state of this program",
		edited(`"run":"[^"]*"`, `"run":"../x"`): `run: "../x" is not the name of a run`,
		edited(`"step":\d+`, `"step":`+number):  "step: is " + number,
		strings.Replace(string(sealed), `"step":`, `"step":1`, 1):                   "damaged or edited: the checksum is ",
		edited(`"attempt":1`, `"attempt":`+number):                                  "attempt: is " + number,
		edited(`"attempt":1`, `"attempt":-1`):                                       "attempt: is -1",
		edited(`"index":\d`, `"index":7`):                                           "index: is 7, the Job has no such index",
		edited(`("index":.*)"uid":"[^"]*"`, `$1"uid":"../../x"`):                    `"../../x" is not a UID`,
		edited(`"status":\{`, `"status":{"failed":-1,`):                             "failed",
		edited(`("restartCount":)\d|("name":"main",)`, `$2"restartCount":-1,"x":0`): "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		other := start(t, manifest, "-state", dir, "-")
		other.Done(exitBad)
		if printed := other.Err.String(); !strings.Contains(printed, "state.json: ") || !strings.Contains(printed, want) {
			t.Errorf("want %q for %.200s:\n%s", want, text, printed)
		}
	}
	start(t, manifest, "-state", "/dev/null/x", "-").Done(exitBad)
}

// A step that cannot be saved is not done.
func TestUnsavedStepIsNotDone(t *testing.T) {
	t.Parallel()
	dir, gate := filepath.Join(t.TempDir(), "state"), newGate(t)
	p := start(t, perIndex(100, 2, "test $JOB_COMPLETION_INDEX = 0 && exit\n"+gate.wait), "-state", dir, "-")
	p.Err.Says("succeeded", 1)
	p.Eventually("the folder is gone", func() bool { return os.RemoveAll(dir) == nil }) // it may just write there
	gate.open(t)
	p.Done(exitUnwritten)
}

// Nothing in a folder that runjob has not made is touched, nor what it links to.
func TestForeignStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	precious := programtest.WriteFile(t, base, "precious", "x", 0o600)
	if err := os.MkdirAll(base+"/dir/processes", 0o700); err != nil {
		t.Fatal(err)
	}
	programtest.WriteFile(t, base+"/dir/processes", "thesis.txt", "x", 0o600)
	for _, name := range []string{"state.json.next", "lock", "steps.log"} {
		if err := os.Symlink(precious, base+"/dir/"+name); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, job(1, 30, "true"), "-state", base+"/dir", "-")
	p.Done(exitBad)
	if err := os.Remove(base + "/dir/lock"); err != nil {
		t.Fatal(err)
	}
	p = start(t, job(1, 30, "true"), "-state", base+"/dir", "-")
	p.Done(exitBad)
	if !strings.Contains(p.Err.String(), "was not made by runjob: nothing in it was touched") {
		t.Error(p.Err.String())
	}
	for _, file := range []string{precious, base + "/dir/processes/thesis.txt"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != "x" {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
}

// An empty variable of a shell must not turn -state off.
func TestUnnamedStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, "", "-state", "", "../testdata/quickstart.yaml")
	p.Done(exitBad)
	if text := p.Err.String(); text != "runjob: -state: the folder has no name\nTry runjob -h.\n" {
		t.Error(text)
	}
}

// A state of another Job says how to begin a new run.
func TestStateOfAnotherJobSaysWhatToType(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manifest := plainPods("completions: 1", "restartPolicy: Never", "exit 0")
	start(t, manifest, "-state", dir, "-").Done(exitComplete)
	for _, tt := range []struct{ old, new, want string }{
		{"name: plain", "name: other", "the state belongs to default/plain; name another folder"},
		{"exit 0", "exit 1", "must not change while -state resumes the Job; name another folder"},
	} {
		p := start(t, strings.Replace(manifest, tt.old, tt.new, 1), "-state", dir, "-")
		p.Done(exitBad)
		if text := p.Err.String(); !strings.Contains(text, tt.want) {
			t.Errorf("%s: want %q:\n%s", tt.new, tt.want, text)
		}
	}
}
