package main

import (
	"strings"
	"testing"
)

// -h explains, and wrong flags start nothing.
func TestWrongFlagsOfRunjobStartNothing(t *testing.T) {
	t.Parallel()
	p := start(t, "", "-h")
	p.Done(0)
	if out := p.Out.String(); !strings.HasPrefix(out, "Usage: runjob") || !strings.Contains(out, "-max-backoff") {
		t.Errorf("-h prints:\n%s", out)
	}
	for _, args := range [][]string{{}, {"a", "b"}, {"-bogus"}, {"-backoff", "0s", "a"}, {"-backoff", "2s", "-max-backoff", "1s", "a"}, {"-backoff", "soon", "a"}, {"/no/such/file"}, {"/"}} {
		p := start(t, "", args...)
		p.Done(exitBad)
		if p.Out.String() != "" || !strings.HasPrefix(p.Err.String(), "runjob: ") {
			t.Errorf("runjob %q:\n%s%s", args, p.Out.String(), p.Err.String())
		}
	}
}
