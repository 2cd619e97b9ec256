package main

import (
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// start starts supervise in dir.
func start(t testing.TB, dir string, args ...string) *programtest.Program {
	t.Helper()
	p := programtest.New(t, args...)
	p.Dir = dir
	p.Start()
	return p
}

// file writes a file for a test.
func file(t testing.TB, dir, name, text string) string {
	t.Helper()
	return programtest.WriteFile(t, dir, name, text, 0o755)
}

// refused runs supervise, which must start nothing, and returns what it says.
func refused(t *testing.T, dir string, args ...string) string {
	t.Helper()
	p := start(t, dir, args...)
	p.Done(exitUsage)
	if out := p.Out.String(); out != "" {
		t.Errorf("supervise %q printed %q", args, out)
	}
	return p.Err.String()
}
