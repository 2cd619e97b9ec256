package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/cmd/internal/timeline"
)

// A run that is killed, and started again on its state, comes to the end of its Job. It
// runs again what was running, uncounted, and nothing that had ended. Its events are
// appended to those of the killed run.
func TestKilledRunGoesOn(t *testing.T) {
	t.Parallel()
	dir, gate := t.TempDir(), newGate(t)
	log, events := filepath.Join(dir, "log"), filepath.Join(dir, "events")
	args := []string{"-backoff", "1ms", "-state", filepath.Join(dir, "state"), "-events", events, "-"}
	manifest := perIndex(3, 3, `
echo index $JOB_COMPLETION_INDEX after $FAILURES failures >> `+log+`
test $JOB_COMPLETION_INDEX != 0 || exit 0
test $JOB_COMPLETION_INDEX$FAILURES != 10 || exit 1
`+gate.wait)
	p := start(t, manifest, args...)
	p.Err.Says("test-0-1: succeeded", 1)
	p.Eventually("an attempt of each index has begun, and two of index 1", func() bool { return lines(log) == 4 })
	p.Kill()
	p.Eventually("no process is left", func() bool { return len(p.Processes()) == 0 })
	gate.open(t)
	q := start(t, manifest, args...)
	q.Done(exitComplete)

	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	attempts := slices.Sorted(strings.Lines(string(text)))
	if diff := cmp.Diff([]string{
		"index 0 after 0 failures\n",
		"index 1 after 0 failures\n",
		"index 1 after 1 failures\n", "index 1 after 1 failures\n",
		"index 2 after 0 failures\n", "index 2 after 0 failures\n",
	}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if out := q.Out.String(); !strings.Contains(out, "\n  succeeded: 3\n") || !strings.Contains(out, "\n  failed: 1\n") {
		t.Errorf("status:\n%s", out)
	}
	if n := strings.Count(q.Err.String(), "was running: runs again"); n != 2 {
		t.Errorf("%d attempts run again:\n%s", n, q.Err.String())
	}
	_, all := eventLines(t, events)
	count := make(map[timeline.Kind]int)
	for _, e := range all {
		count[e.Kind]++
	}
	for kind, want := range map[timeline.Kind]int{timeline.Began: 1, timeline.Resumed: 1, timeline.Ended: 1, timeline.Succeeded: 3, timeline.Failed: 1} {
		if count[kind] != want {
			t.Errorf("%d events %s, want %d", count[kind], kind, want)
		}
	}
}
