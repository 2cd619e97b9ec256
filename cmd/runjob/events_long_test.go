//go:build long

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/timeline"
)

// A run that was killed is resumed at the end of its file: everything stands there at
// least once, and in the picture once.
func TestResumedRunAppendsItsEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, state, picture := filepath.Join(dir, "events"), filepath.Join(dir, "state"), filepath.Join(dir, "run.svg")
	gate := newGate(t)
	args := []string{"-backoff", "20ms", "-state", state, "-events", file, "-timeline", picture, "-"}
	manifest := perIndex(4, 4, `test $JOB_COMPLETION_INDEX = 0 || { `+strings.TrimSpace(gate.wait)+`; }
test $JOB_COMPLETION_INDEX != 1 || test "$FAILURES" -ge 1`)
	p := start(t, manifest, args...)
	p.Err.Says("test-0-1: succeeded", 1)
	p.Running(2 + 3)
	p.Kill()
	p.Eventually("the guard has killed the pods", func() bool { return len(p.Processes()) == 0 })
	torn, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString(`{"time":"2026-`); err != nil {
		t.Fatal(err)
	}
	torn.Close()
	gate.open(t)
	start(t, manifest, args...).Done(exitComplete)
	_, events := eventLines(t, file)
	kinds := make(map[timeline.Kind]int)
	for _, e := range events {
		kinds[e.Kind]++
	}
	if kinds[timeline.Began] != 1 || kinds[timeline.Resumed] != 1 || kinds[timeline.Ended] != 1 || kinds[timeline.Succeeded] < 4 || kinds[timeline.Started] < 5 {
		t.Errorf("%v", kinds)
	}
	c := timeline.Layout(events)
	if c.Attempts != 5 || c.Outcomes[timeline.OutcomeSucceeded] != 4 || c.Outcomes[timeline.OutcomeFailed] != 1 || c.Outcomes[timeline.OutcomeUnfinished] == 0 {
		t.Errorf("%+v", c)
	}
	if svg, err := os.ReadFile(picture); err != nil || !bytes.Contains(svg, []byte(">resumed<")) || !bytes.Contains(svg, []byte("Job test: Complete")) {
		t.Errorf("%v: %s", err, svg)
	}
}
