//go:build long

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/interrupt"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// Who does not listen to SIGTERM gets SIGKILL after the grace period, or at once
// with the second signal.
func TestStubbornCommandIsKilled(t *testing.T) {
	t.Parallel()
	const stubborn = `trap "" TERM; echo ready; while :; do sleep 0.05; done`
	p := start(t, t.TempDir(), "-grace", "700ms", "--", "sh", "-c", stubborn)
	p.Out.Says("| ready", 1)
	began := time.Now()
	p.Signal(syscall.SIGINT)
	p.Done(130)
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("took %v, with a grace period of 700ms", took)
	}

	var q *programtest.Program
	waits := func() bool {
		q = start(t, t.TempDir(), "-grace", "1h", "--", "sh", "-c", stubborn)
		q.Out.Says("| ready", 1)
		q.SignalTogether(syscall.SIGTERM, syscall.SIGINT) // which count as one
		q.Out.Says("Terminating", 1)
		time.Sleep(4 * interrupt.Same)
		return !q.Ended() && !strings.Contains(q.Out.String(), "killed")
	}
	for try := 1; !waits(); try++ { // a busy machine may part them
		if try == 5 {
			t.Fatal("did not wait for the grace period")
		}
	}
	q.Signal(syscall.SIGINT)
	if code := q.Wait(); code != 143 && code != 130 { // whichever of the two was seen first
		t.Errorf("exit code %d", code)
	}
	if out := q.Out.String(); !strings.Contains(out, "137 (killed)") {
		t.Errorf("printed\n%s", out)
	}
}
