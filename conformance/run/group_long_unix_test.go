//go:build long && unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// lockFile is the environment variable that names the file locked by a program's child.
const lockFile = "CONFORMANCE_RUN_LOCK"

func init() {
	// The child holds the lock and the program's stdout and stderr until it is killed.
	programs["locks"] = func() {
		fd, err := syscall.Open(os.Getenv(lockFile), syscall.O_RDWR, 0)
		if err == nil {
			err = syscall.Flock(fd, syscall.LOCK_EX)
		}
		fmt.Println(err)
		hang()
	}
	programs["leaves a child"] = func() {
		if err := startLocking(os.Stderr); err != nil {
			panic(err)
		}
		answerAll()
	}
	programs["leaves a quiet child"] = func() {
		if err := startLocking(nil); err != nil {
			panic(err)
		}
		answerAll()
	}
	programs["leaves a child and dies"] = func() {
		if err := startLocking(os.Stderr); err != nil {
			panic(err)
		}
		os.Exit(3)
	}
}

// startLocking starts the program "locks", which may hold a stderr, and returns once it
// has the lock.
func startLocking(stderr *os.File) error {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), programMode+"=locks")
	if stderr != nil {
		child.Stderr = stderr
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	child.Stdout = tell
	if err := child.Start(); err != nil {
		return err
	}
	var result string
	if _, err := fmt.Fscanln(told, &result); err != nil || result != "<nil>" {
		return fmt.Errorf("lock: %s, %w", result, err)
	}
	return nil
}

// No child of a program is left once the runner returns.
func TestChildrenAreEnded(t *testing.T) {
	for program, want := range map[string]string{
		"leaves a child":          "   32    32      0     0            0  all",
		"leaves a quiet child":    "   32    32      0     0            0  all",
		"leaves a child and dies": "exit status 3",
	} {
		path := filepath.Join(t.TempDir(), "lock")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(lockFile, path)
		_, out, _ := runner(t, program, "-file", "restartdelay")
		if !strings.Contains(out, want) {
			t.Errorf("%s: got\n%s", program, out)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil { // waits for the child's end
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
