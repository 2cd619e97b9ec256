package main

import (
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

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

// Who waits for it must not take the exit code for the Job's.
func TestUnwrittenStatusIsAnError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"../testdata/sidecar.yaml"}, {"-backoff", "1ms", "../testdata/not-found.yaml"}, {"-dry-run", "../testdata/sidecar.yaml"}, {"-h"}} {
		programtest.FullDisk(t, exitUnwritten, args...)
	}
}
