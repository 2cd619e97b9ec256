package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/process"
)

// A signal ends retry only if it comes before the end. One that comes later, or while the
// end is being told, changes neither the exit code nor the note.
func TestRetryEndsBySignal(t *testing.T) {
	failed := &attemptError{exit: process.Exit{Code: 7}}
	signalled := &backoff.RetryError{Attempts: 1, Limit: backoff.RetryLimitContext, Last: failed,
		Context: fmt.Errorf("%w: %w", context.Canceled, errSignalled)}
	exhausted := &backoff.RetryError{Attempts: 1, Limit: backoff.RetryLimitAttempts, Last: failed}
	for name, test := range map[string]struct {
		err      error
		exitCode int // of the attempt
		runs     bool
		want     int
		note     string
	}{
		"after a success":        {nil, 0, false, 0, ""},
		"after the last failure": {exhausted, 7, false, 7, "restart retry: exit code 7; given up after 1 attempt\n"},
		"during a wait":          {signalled, 7, false, 128 + 15, "restart retry: ended by a signal (terminated)\n"},
		"while the command runs": {signalled, 7, true, 7, "restart retry: ended by a signal (terminated)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var notes bytes.Buffer
			r := &retrier{flags: &retryFlags{}, notes: &notes, ended: syscall.SIGTERM, waited: !test.runs}
			r.exit.Code = test.exitCode
			if got := r.end(test.err, 1); got != test.want || notes.String() != test.note {
				t.Errorf("exit code %d and %q, want %d and %q", got, &notes, test.want, test.note)
			}
		})
	}

	// The race detector watches the signal that comes meanwhile.
	r := &retrier{flags: &retryFlags{}, notes: new(bytes.Buffer)}
	signals, passed := make(chan os.Signal, 1), make(chan struct{})
	signals <- syscall.SIGTERM
	close(signals)
	go func() {
		r.pass(signals, func(error) {})
		close(passed)
	}()
	if got := r.end(nil, 1); got != 0 {
		t.Errorf("exit code %d after a success, want 0", got)
	}
	<-passed
}
