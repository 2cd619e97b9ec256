//go:build unix

package process

import (
	"syscall"
)

// StartError is the error of a command that can never run.
type StartError struct {
	Code int // shell's exit code, 127 for a missing program, else 126
	text string
}

func (e *StartError) Error() string { return e.text }

// fork starts a program, like syscall.ForkExec. It returns a *StartError if the program
// cannot run. Any other error means that this machine lacks memory, processes or files
// (sometimes EBADF) at the moment, or that the program file is being written.
func fork(path string, args []string, attr *syscall.ProcAttr) (int, error) {
	pid, err := syscall.ForkExec(path, args, attr)
	switch err {
	case syscall.ENOENT: // a missing interpreter, named in the first line
		err = &StartError{Code: notFound, text: path + ": " + err.Error()}
	case syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.E2BIG, syscall.EINVAL, syscall.ELOOP,
		syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.EIO:
		err = &StartError{Code: cannotRun, text: path + ": " + err.Error()}
	}
	return pid, err
}

// Exit codes of a shell for a command that cannot run.
const (
	cannotRun = 126
	notFound  = 127
)
