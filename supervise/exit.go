package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/retrymark"
)

// An Event is one exit of a supervised function and the decision about it.
type Event struct {
	Name string
	// Err is the error that the function returned, or a *PanicError.
	Err error
	// Exit has the number of the call, when it began and ended, and a code and a reason:
	//
	//	0 Completed  nil was returned
	//	1 Error      an error was returned; an ExitError, or any error with a method
	//	             ExitCode() int such as that of an *exec.ExitError, has its own code
	//	1 GiveUp     the error wraps a GiveUpError, as that of a nested Supervisor does
	//	1 Goexit     runtime.Goexit was called
	//	2 Panic      the function panicked, or a method of the returned error did,
	//	             such as Unwrap of a nil pointer
	//
	// A returned error that wraps backoff.RetryAfter sets RetryAfter.
	Exit backoff.Exit
	// Decision is that of the rules, or to give up if the returned error wraps
	// backoff.Permanent. It is zero if the goroutine has been stopped.
	Decision backoff.Decision
}

// The reasons of an Event's Exit, for backoff.Rule.
const (
	ReasonCompleted = "Completed"
	ReasonError     = "Error"
	ReasonGiveUp    = "GiveUp"
	ReasonGoexit    = "Goexit"
	ReasonPanic     = "Panic"
)

// String describes the event, as in
// "importer", run 3: connection refused: Restart after 400ms.
func (e Event) String() string {
	text := fmt.Sprintf("%q, run %d: %s: ", e.Name, e.Exit.Run, e.outcome())
	switch e.Decision.Action {
	case "":
		return text + "stopped"
	case backoff.ActionRestart:
		return fmt.Sprintf("%s%s after %v", text, e.Decision.Action, e.Decision.Delay)
	}
	if !e.Decision.NotBefore.IsZero() {
		return fmt.Sprintf("%s%s for %v", text, e.Decision.Action, e.Decision.Delay)
	}
	return text + string(e.Decision.Action)
}

func (e Event) outcome() string {
	if e.Err == nil {
		return "returned nil"
	}
	return fmt.Sprint(e.Err) // unlike Err.Error, it survives a panic in that method, as of a nil pointer
}

// An ExitError gives an error an exit code and a reason, for rules to match.
type ExitError struct {
	Code   int32  // exit code; 0 means 1
	Reason string // empty means Error
	Err    error  // must not be nil
}

// Error returns the text of Err.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// A PanicError is the error of a function that panicked.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // the stack of the goroutine, as debug.Stack returns it
}

// Error returns the value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns Value if it is an error, and nil otherwise.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A GiveUpError reports a goroutine that failed for good: it gave up, or exited with an
// error after which its rules do not restart it, or panicked while it was being stopped.
type GiveUpError struct {
	Event // the last exit
}

// Error returns the goroutine's name, the number of its runs and the last error.
func (e *GiveUpError) Error() string {
	verb, runs := "ended", "1 run"
	if e.Decision.Action == backoff.ActionGiveUp {
		verb = "gave up"
	}
	if n := e.Exit.Run; n != 1 {
		runs = fmt.Sprint(n, " runs")
	}
	return fmt.Sprintf("supervise: %q %s after %s: %s", e.Name, verb, runs, e.outcome())
}

// Unwrap returns Err.
func (e *GiveUpError) Unwrap() error { return e.Err }

var errGoexit = errors.New("runtime.Goexit was called")

// exitOf returns the code and the reason of a returned error, and whether it is permanent.
func exitOf(err error) (e backoff.Exit, permanent bool) {
	var (
		nested *GiveUpError
		exit   *ExitError
		coded  interface{ ExitCode() int }
	)
	if err == nil {
		return backoff.Exit{Reason: ReasonCompleted}, false
	}
	e.Code, e.Reason = 1, ReasonError
	permanent, e.RetryAfter = retrymark.Of(err)
	switch {
	case errors.As(err, &nested): // not this goroutine's own exit
		e.Reason = ReasonGiveUp
	case errors.As(err, &exit):
		e.Code = cmp.Or(exit.Code, 1)
		if exit.Reason != "" {
			e.Reason = exit.Reason
		}
	case errors.As(err, &coded):
		if code := coded.ExitCode(); code > 0 && code <= math.MaxInt32 {
			e.Code = int32(code)
		}
	}
	return e, permanent
}
