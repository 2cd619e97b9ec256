package backoff

import (
	"os"
	"syscall"
	"time"
)

// Exit is one finished run. The zero value is a success that finishes now, without a
// start.
//
// # Reporting an exit more than once
//
// A caller may report an exit again, for instance because a poll still shows it. Set Run,
// Finished, or both, so that it is recognized:
//
//   - With a Run, a higher Run is a new exit. An equal Run is the same exit, unless it
//     finished more than a second later. A lower Run is an old exit, unless it finished
//     later, which means that the numbers have started over.
//   - Without a Run, a later Finished is a new exit, an equal one the same, and an earlier
//     one old. While the last Finished lies after now, or the clock is behind the time of
//     the last report, an earlier one is new: one exit may then count twice.
//   - With neither, every report is a new exit.
type Exit struct {
	// Run is restartCount or another number that grows with every run; 0 and less mean
	// none.
	Run  int64 `json:"run,omitempty"`
	Code int32 `json:"code"` // exit code
	// Signal is the number of the signal that ended the run; 0 derives it from a Code
	// of 128+n.
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`  // OOMKilled, Error, …, for rules and Decision.Reason
	Started  time.Time `json:"started,omitzero"`  // zero is no run, as of a process that could not be started
	Finished time.Time `json:"finished,omitzero"` // zero is now; if it is in the future, the wait counts from now

	// RetryAfter is a minimum delay that the failure asks for, as an HTTP server does. The
	// delay is at least that long, and at most the Max of its curve. It is not stored,
	// because it becomes part of the wait.
	RetryAfter time.Duration `json:"-"`
}

// The exit code and reason of a process that could not be started, as container runtimes
// report them.
const (
	startError       = 128
	startErrorReason = "StartError"
)

// ExitOf returns the Exit of a process with state s, such as the ProcessState of an exec.Cmd
// after Wait, that finishes now. run may be 0. A signal n becomes Signal n and, as in shells and
// Kubernetes, Code 128+n, not the -1 of os.ProcessState.ExitCode. A nil s means that the
// process could not be started, and becomes Code 128 with the Reason StartError and
// without a run.
func ExitOf(run int64, started time.Time, s *os.ProcessState) Exit {
	finished := time.Now() // a real process ends by the real clock, even if the decisions follow a fake one
	if s == nil {
		return Exit{Run: run, Code: startError, Reason: startErrorReason, Finished: finished}
	}
	e := Exit{Run: run, Code: int32(s.ExitCode()), Started: started, Finished: finished}
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

// ran returns the time from Started to Finished, or 0 if Started is zero.
func (e *Exit) ran() time.Duration {
	if e.Started.IsZero() {
		return 0
	}
	return e.Finished.Sub(e.Started)
}

// sameRun is the tolerance for a corrected Finished, since some runtimes report a time
// before they know the exact one.
const sameRun = time.Second

// follows reports whether e, reported at now, is a new exit after the last one, which
// was first reported at reported. See Exit for the rules.
func (e *Exit) follows(last *Exit, reported, now time.Time) bool {
	run, lastRun := max(e.Run, 0), max(last.Run, 0)
	switch {
	case run == 0 && e.Finished.IsZero(), run > lastRun:
		return true
	case run != 0 && run == lastRun:
		return e.Finished.Sub(last.Finished) > sameRun
	case e.Finished.After(last.Finished):
		return true
	case run != 0, e.Finished.Equal(last.Finished):
		return false
	}
	return last.Finished.After(now) || now.Round(0).Before(reported.Round(0))
}
