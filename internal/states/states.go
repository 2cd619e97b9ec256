// Package states reads states that released versions stored, and records those of the
// present one. It is for tests only.
//
// testdata/states has a folder for each version, with a file for each kind of state. The file
// holds a state and what that version decided from it. Later versions must read every file
// and decide the same, as docs/stability.md promises. So a file is never written again, and a
// version adds a folder only if its states have something new:
//
//	go test ./backoff ./indexset ./jobpolicy ./pleg -run TestStoredStates -record-states v0.5.0
package states

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var record = flag.String("record-states", "", "`version` whose states are recorded in testdata/states")

// file is the content of one file.
type file struct {
	State     json.RawMessage `json:"state"`
	Decisions []string        `json:"decisions"`
}

// Test compares what decide makes of each version's stored state with what that version made
// of it, and with what it makes of a state that write makes now. The state of write must be
// encodable as JSON.
func Test(t *testing.T, kind string, write func(t *testing.T) any, decide func(t *testing.T, state []byte) []string) {
	t.Helper()
	text, err := json.Marshal(write(t))
	if err != nil {
		t.Fatal(err)
	}
	now := file{text, decide(t, text)}
	if *record != "" {
		save(t, filepath.Join(folder(), *record, kind+".json"), now)
	}
	versions, err := filepath.Glob(filepath.Join(folder(), "v*", kind+".json"))
	if err != nil || len(versions) == 0 {
		t.Fatalf("testdata/states has no %s.json of any version: %v", kind, err)
	}
	var stored file
	for _, name := range versions { // the newest last, until there is a v0.10.0
		stored = read(t, name)
		version := filepath.Base(filepath.Dir(name))
		compare(t, "the "+kind+" of "+version, stored.Decisions, decide(t, stored.State))
	}
	compare(t, "a new "+kind, stored.Decisions, now.Decisions)
}

func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s decides nothing", what)
	}
	if !slices.Equal(want, got) {
		wanted, _ := json.MarshalIndent(want, "", "\t")
		decided, _ := json.MarshalIndent(got, "", "\t")
		t.Errorf("%s decides\n%s\nand decided, when it was recorded,\n%s", what, decided, wanted)
	}
}

// folder returns testdata/states in the root of the repository, which is above the folder of
// every test.
func folder() string {
	dir := filepath.Join("testdata", "states")
	for range 16 {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	return dir
}

func read(t *testing.T, name string) (f file) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// save writes a file that does not exist.
func save(t *testing.T, name string, f file) {
	t.Helper()
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s exists, and what a version stored does not change", name)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "\t")
	encoder.SetEscapeHTML(false)
	err := errors.Join(encoder.Encode(f), os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text.Bytes(), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}
