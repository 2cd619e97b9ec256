package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/restartkit/restart/kube/testenv"
)

// runCommand runs a command and returns its exit code. It sets KUBECONFIG and, if
// kubectl was built, appends its folder to PATH. If ctx ends, the command receives a
// SIGTERM.
func runCommand(ctx context.Context, env *testenv.Environment, kubectl string, command []string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig())
	if kubectl != "" {
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Dir(kubectl))
	}
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
