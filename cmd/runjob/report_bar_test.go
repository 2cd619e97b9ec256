package main

import (
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// On a terminal there is a progress bar, and a line only for what is not as it
// should be.
func TestTerminalHasAProgressBar(t *testing.T) {
	t.Parallel()
	gate := newGate(t)
	p := programtest.New(t, "-backoff", "1ms", "-")
	p.Stdin = strings.NewReader(perIndex(10, 10, gate.wait+"test $JOB_COMPLETION_INDEX -ne 3"))
	p.Stderr = p.Terminal(&p.Err, 80, 24)
	p.Start()
	p.Err.Says("10 active, 0 succeeded", 1)
	gate.open(t)
	p.Done(exitFailed)
	out := p.Err.String()
	if !strings.Contains(out, "/10") || strings.Contains(out, "[0s") {
		t.Errorf("no progress:\n%q", out)
	}
	if strings.Contains(out, "created") || !strings.Contains(out, "failure 3 of index 3") {
		t.Errorf("other lines:\n%q", out)
	}
}
