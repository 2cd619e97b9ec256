//go:build long

package main

import (
	"strings"
	"syscall"
	"testing"
)

// The example of testdata runs as it says.
func TestExampleFileRunsAsItSays(t *testing.T) {
	t.Parallel()
	p := start(t, "..", "-f", "testdata/supervise/supervise.yaml")
	printed := func(want string) func() bool {
		return func() bool { return strings.Contains(strings.Join(strings.Fields(p.Out.String()), " "), want) }
	}
	for _, want := range []string{"web | working", "proxy | serving", "proxy Running 1 (", "migration Error", "typo CrashLoopBackOff 0"} {
		p.Eventually(want, printed(want))
	}
	p.Signal(syscall.SIGINT)
	p.Done(130)
	if !printed("steady Stopped 0")() {
		t.Error("steady has not been stopped")
	}
}
