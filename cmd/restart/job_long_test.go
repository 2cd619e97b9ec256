//go:build long

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The large manifests of testdata.
func TestJobStatusOfAThousandPods(t *testing.T) {
	runManifests(t, func(name string) bool { return strings.HasSuffix(name, "-1000") })
}

// matrixKills is how often the runs of a kill matrix are killed.
const matrixKills = 200

// killed runs a manifest, whose processes each write a line to log, again and again, and
// kills each run at any moment, half of them after some processes have begun. It returns
// what the runs printed.
func killed(t *testing.T, log, manifest string, args ...string) (printed []string) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	longest := 80 * time.Millisecond
	again := 0
	for kill := range matrixKills {
		before, most := linesOf(log), random.IntN(4)
		p := start(t, manifest, args...)
		if kill%2 == 0 { // on a slow machine it would never come so far
			p.eventually("some processes have begun", func() bool { return linesOf(log) > before+most })
		}
		time.Sleep(time.Duration(random.Int64N(int64(longest))))
		p.kill()
		if p.ProcessState.Exited() {
			t.Fatalf("ended by itself after %d kills:\n%s%s", kill, p.Out.String(), p.Err.String())
		}
		again += strings.Count(p.Err.String(), "was running: runs again")
		printed = append(printed, p.Err.String())
	}
	t.Logf("after %d kills: %d attempts run again", matrixKills, again)
	if again == 0 {
		t.Error("no attempt was running when its run was killed")
	}
	return printed
}

// A Job whose run is killed again and again comes to the same end as one that was left
// alone, and each end of a pod is decided once.
func TestKilledJobComesToTheSameEnd(t *testing.T) {
	const completions = 300
	// Of ten indexes one fails for good, and one the first time. Index 7 waits for a file:
	// however fast the machine is, no run ends before it is killed.
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	log := filepath.Join(dir, "log")
	manifest := perIndex(fmt.Sprint(completions), "8", `
echo >> `+log+`
sleep 0.03
case $JOB_COMPLETION_INDEX in
  7) until test -e `+open+`; do sleep 0.03; done;;
  *0) exit 1;;
  *1) test $FAILURES -gt 0;;
esac
`)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	calm := start(t, manifest, "job", "--backoff", "1ms", "-")
	calm.done(exitFailed)
	want := times.ReplaceAllString(calm.Out.String(), "TIME")
	if err := os.Remove(open); err != nil {
		t.Fatal(err)
	}

	args := []string{"job", "--backoff", "1ms", "--state", filepath.Join(dir, "state"), "-"}
	printed := killed(t, log, manifest, args...)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	last := start(t, manifest, args...)
	last.done(exitFailed)
	if got := times.ReplaceAllString(last.Out.String(), "TIME"); got != want {
		t.Errorf("got:\n%s\nundisturbed:\n%s", got, want)
	}
	ends := make(map[string]int)
	for _, text := range append(printed, last.Err.String()) {
		for line := range strings.Lines(text) {
			if _, event, ok := strings.Cut(line, "  pod "); ok && (strings.Contains(event, ": failed") || strings.Contains(event, ": succeeded")) {
				ends[event]++
			}
		}
	}
	if len(ends) < completions {
		t.Errorf("only %d pods are printed to have ended", len(ends))
	}
	for event, n := range ends {
		if n > 1 { // something followed from a decision before it was saved
			t.Errorf("decided %d times: %s", n, event)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "state*"))
	if len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	// A finished Job is not run again.
	again := start(t, manifest, args...)
	again.done(exitFailed)
	if got := times.ReplaceAllString(again.Out.String(), "TIME"); got != want || strings.Contains(again.Err.String(), "created") {
		t.Errorf("run again:\n%s%s", got, again.Err.String())
	}
}

// Kills count neither as failures nor as restarts in place, and no restart is forgotten.
func TestRestartsInPlaceAreNeitherForgottenNorInvented(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	manifest := `
apiVersion: batch/v1
kind: Job
metadata: {name: in-place}
spec:
  backoffLimit: 100000
  template:
    spec:
      restartPolicy: OnFailure
      initContainers:
      - name: once
        command: [sh, -c, "echo init >> ` + dir + `/init"]
      containers:
      - name: main
        command: [sh, -c, "echo run >> ` + dir + `/runs; sleep 0.05; test -e ` + open + ` && exit; exit 1"]
`
	args := []string{"job", "--backoff", "1ms", "--max-backoff", "1ms", "--state", filepath.Join(dir, "state"), "-"}
	printed := killed(t, dir+"/runs", manifest, args...)
	number, last := 0, 0
	for _, text := range printed {
		for line := range strings.Lines(text) {
			if _, after, ok := strings.Cut(line, ": failure "); ok {
				_, _ = fmt.Sscanf(after, "%d", &number)
				if number > last+1 || number < last { // said before it is saved, so perhaps twice
					t.Errorf("restart %d after %d", number, last)
				}
				last = number
			}
		}
	}
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, manifest, args...)
	p.done(0)
	if out := p.Out.String(); !strings.Contains(out, "\n  succeeded: 1\n") || strings.Contains(out, "\n  failed:") {
		t.Errorf("status:\n%s", out)
	}
	runs, inits := linesOf(dir+"/runs"), linesOf(dir+"/init")
	if runs <= last || runs > last+2*matrixKills+2 {
		t.Errorf("%d runs, %d restarts", runs, last)
	}
	if last < matrixKills/4 {
		t.Errorf("only %d restarts", last)
	}
	t.Logf("%d runs, %d restarts, %d runs of the init container", runs, last, inits)
}
