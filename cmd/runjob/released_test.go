package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// The folders of v0.1.0 are refused unchanged.
func TestRefusesFolderOfFirstVersion(t *testing.T) {
	dir := programtest.ReleasedFolder(t, "v0.1.0", "runjob", 0)
	before, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "", "-state", dir, filepath.Join(programtest.Released, "job.yaml"))
	p.Done(exitBad)
	if log := p.Err.String(); !strings.Contains(log, "is of runjob v0.1.0, whose states later releases do not read") {
		t.Error(log)
	}
	if after, err := os.ReadFile(filepath.Join(dir, stateFile)); err != nil || string(after) != string(before) {
		t.Errorf("the state has changed: %v", err)
	}
}
