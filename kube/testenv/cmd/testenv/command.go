package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// runCommand runs a command and returns its exit code. If ctx ends, the command receives
// a SIGTERM.
func runCommand(ctx context.Context, command, environ []string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if code := exit.ExitCode(); code >= 0 {
			return code, nil
		}
		return 1, nil // by a signal
	}
	return 0, err
}
