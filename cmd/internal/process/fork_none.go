//go:build !unix

package process

import (
	"errors"
	"os"
	"syscall"
)

// Elsewhere no command can be started, but programs that have other things to do compile.

const resume = syscall.Signal(0)

func notifyChildren(chan<- os.Signal) {}

func fork(string, *Process, []*os.File) (int, error) {
	return 0, errors.New("commands can be run on Unix only")
}

func waitAny() (pid int, status syscall.WaitStatus, ok bool) { return 0, status, false }

func signalGroup(int, syscall.Signal) bool { return false }

func signalProcess(int, syscall.Signal) error { return nil }

// OnTerminal reports whether this program is in the foreground of a terminal.
func OnTerminal() bool { return false }
