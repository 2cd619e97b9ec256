//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestExitCodeIsInTheError(t *testing.T) {
	var exit *exec.ExitError
	if err := run(context.Background(), "exit 3", grace); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Error(err)
	}
	for _, succeeds := range []string{"exit 0", "sleep 1000 & exit 0"} {
		if err := run(context.Background(), succeeds, time.Millisecond); err != nil {
			t.Error(succeeds, err)
		}
	}
}

// The command and its child hold a pipe, whose end shows that both are gone.
func TestCancelEndsACommandAndItsChildren(t *testing.T) {
	for name, tt := range map[string]struct {
		child string // does not end with the shell
		grace time.Duration
		last  string // what it writes at its end
	}{
		"at once":        {"echo ready >&3; exec sleep 1000", time.Minute, ""},
		"after a while":  {"trap 'echo ended >&3; exit' TERM; echo ready >&3; while :; do sleep 0.01; done", time.Minute, "ended\n"},
		"not by SIGTERM": {"trap '' TERM; echo ready >&3; while :; do sleep 1000; done", time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) { testCancel(t, tt.child, tt.grace, tt.last) })
	}
}

func testCancel(t *testing.T, child string, grace time.Duration, last string) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, "exec 3> "+path+"; ("+child+") & wait", grace) }()
	pipe, err := os.Open(path) // once the command has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := pipe.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(pipe)
	if line, err := reader.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	if rest, err := io.ReadAll(reader); err != nil || string(rest) != last {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-done; err == nil {
		t.Error("no error")
	}
}
