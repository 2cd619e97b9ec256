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
	if err := run(context.Background(), "exit 3"); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Error(err)
	}
	if err := run(context.Background(), "exit 0"); err != nil {
		t.Error(err)
	}
}

// The command and its child hold a pipe, whose end shows that both are gone.
func TestCancelEndsACommandAndItsChildren(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, "exec 3> "+path+"; sleep 1000 & echo started >&3; wait") }()
	pipe, err := os.Open(path) // once the command has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := pipe.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(pipe)
	if line, err := reader.ReadString('\n'); line != "started\n" {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-done; err == nil {
		t.Error("no error")
	}
}
