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
	dir := programtest.ReleasedFolder(t, "v0.1.0", "supervise", 0)
	state := filepath.Join(dir, "supervise.json")
	before, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	said := refused(t, "", "-state", dir, "-f", filepath.Join(programtest.Released, "commands.yaml"))
	if !strings.Contains(said, "is of supervise v0.1.0, whose states later releases do not read") {
		t.Error(said)
	}
	if after, err := os.ReadFile(state); err != nil || string(after) != string(before) {
		t.Errorf("the state has changed: %v", err)
	}
}
