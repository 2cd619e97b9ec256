package backoff

import (
	"os"
	"syscall"
	"time"
)

// startError is the exit code of a process that could not be started, and the Reason,
// as container runtimes report them.
const (
	startError       = 128
	startErrorReason = "StartError"
)

// ExitOf returns the Exit of a process with state s, such as the ProcessState of an
// exec.Cmd after Wait. A signal n becomes Signal n and, as in shells and Kubernetes,
// Code 128+n, not the -1 of os.ProcessState.ExitCode. A nil s means that the process
// could not be started, and becomes Code 128 with the Reason StartError. Finished is
// left zero, which means now.
func ExitOf(run int64, started time.Time, s *os.ProcessState) Exit {
	if s == nil {
		return Exit{Run: run, Code: startError, Reason: startErrorReason}
	}
	e := Exit{Run: run, Code: int32(s.ExitCode()), Started: started}
	status, ok := s.Sys().(interface {
		Signaled() bool
		Signal() syscall.Signal
	})
	if ok && status.Signaled() {
		e.Signal = int32(status.Signal())
		e.Code = 128 + e.Signal
	}
	return e
}
