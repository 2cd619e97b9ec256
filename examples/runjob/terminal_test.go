package main

import (
	"strings"
	"testing"

	"github.com/restartkit/restart/examples/internal/programtest"
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

// The decision has a colour on a terminal, unless the user or the terminal has none.
func TestDecisionIsColouredOnTerminals(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"TERM=xterm NO_COLOR=":  "\x1b[32m# Complete",
		"TERM=xterm NO_COLOR=1": "\n# Complete",
		"TERM=dumb NO_COLOR=":   "\n# Complete",
	} {
		p := programtest.New(t, "../testdata/sidecar.yaml")
		p.Stdout = p.Terminal(&p.Out, 80, 24)
		p.Env = append(p.Env, strings.Fields(env)...)
		p.Start()
		p.Done(exitComplete)
		if !strings.Contains(p.Out.String(), want) {
			t.Errorf("%s: want %q:\n%q", env, want, p.Out.String())
		}
	}
}
