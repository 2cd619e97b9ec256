//go:build unix

package lockfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain is also a program that takes the lock of a file and waits to be killed.
func TestMain(m *testing.M) {
	path := os.Getenv("RESTART_TEST_LOCK")
	if path == "" {
		os.Exit(m.Run())
	}
	lock, err := New(path)
	if err != nil {
		panic(err)
	}
	defer lock.Unlock()
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin) // so that it also ends with the test
}

func TestLockOfAKilledProgramIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RESTART_TEST_LOCK="+path)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "locked\n" {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := New(path); !errors.Is(err, ErrLocked) {
		t.Errorf("while the other program runs: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := os.Stat(path + ".lock"); err != nil {
		t.Errorf("the killed program has left no lock file: %v", err)
	}
	lock, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
}
