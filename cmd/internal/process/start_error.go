//go:build unix

package process

import (
	"syscall"
)

// StartError is the error of a command that can never run.
type StartError struct {
	Code int // a shell's exit code: 126, or 127 if there is no such program
	text string
}

func (e *StartError) Error() string { return e.text }

// fork starts a program, like syscall.ForkExec. The error is a *StartError if the
// program cannot run. Any other error means that this machine lacks a resource now:
// memory, processes or files (which can show as EBADF), or that the program is being
// written.
func fork(path string, args []string, attr *syscall.ProcAttr) (int, error) {
	pid, err := syscall.ForkExec(path, args, attr)
	switch err {
	case syscall.ENOENT: // the interpreter that its first line names
		err = &StartError{Code: notFound, text: path + ": " + err.Error()}
	case syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.E2BIG, syscall.EINVAL, syscall.ELOOP,
		syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.EIO:
		err = &StartError{Code: cannotRun, text: path + ": " + err.Error()}
	}
	return pid, err
}

// The exit codes of a shell for a command that it cannot run.
const (
	cannotRun = 126
	notFound  = 127
)
