//go:build long

package main

import (
	"strings"
	"testing"
)

// Its failure counts at once, and how it ended is printed when it has.
func TestPodDecidedWhileItTerminatesHasALastLine(t *testing.T) {
	t.Parallel()
	p := start(t, plainPods("completionMode: Indexed\n  completions: 1\n  backoffLimit: 0", "restartPolicy: Never\n      terminationGracePeriodSeconds: 1", `
trap "" TERM; while :; do sleep 0.05; done`), "-disrupt", "0@200ms", "-")
	p.Done(exitFailed)
	text := p.Err.String()
	for _, want := range []string{"is disrupted", "pod plain-0-1: ended: container main was killed by signal "} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q:\n%s", want, text)
		}
	}
}
