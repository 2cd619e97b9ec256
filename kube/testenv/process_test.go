package testenv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script writes a shell script.
func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestProgramThatEndsIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	program := filepath.Join(dir, "program")
	script(t, program, `echo try >>"$0.tries"; echo last words; exit 7`)
	_, err := again(t.Context(), func() (*Environment, error) {
		return start(t.Context(), Programs{Etcd: program}, Options{})
	})
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "last words") || !strings.Contains(err.Error(), "7") {
		t.Errorf("the error is %v", err)
	}
	if tries, err := os.ReadFile(program + ".tries"); string(tries) != strings.Repeat("try\n", 5) {
		t.Errorf("%q, %v, want 5 tries", tries, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "testenv-*")); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// The test's rm fails as if a file had been written meanwhile.
func TestGuardRemovesTheFolderOrSaysSo(t *testing.T) {
	rm, err := exec.LookPath("rm")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, rm string
		removed  bool
	}{
		{"three times not", `echo try >>"$0.tries"; [ "$(wc -l <"$0.tries")" -gt 3 ] && exec ` + rm + ` "$@"`, true},
		{"never", "exit 1", false},
	} {
		dir, programs := t.TempDir(), t.TempDir()
		script(t, filepath.Join(programs, "rm"), tt.rm)
		script(t, filepath.Join(programs, "sleep"), "") // does not
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
			guard, err := guardFolder(dir, 5)
			if err != nil {
				t.Fatal(err)
			}
			if err := guard.end(); (err == nil) != tt.removed {
				t.Errorf("the guard says %v", err)
			}
			if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) != tt.removed {
				t.Errorf("the folder: %v", err)
			}
		})
	}
}
