//go:build long

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// TestKilledRunComesToTheSameEnd kills a run again and again, at any moment. The Job
// comes to the same end as one that was left alone.
func TestKilledRunComesToTheSameEnd(t *testing.T) {
	const kills = 50
	completions, longest := 450, 80*time.Millisecond
	if programtest.Race { // all is slower
		completions, longest = 150, 200*time.Millisecond
	}
	// Of ten indexes one fails for good, and one the first time. Index 7 waits for
	// the gate: however fast the machine is, no run ends before it is killed.
	gate := newGate(t)
	manifest := perIndex(completions, 8, `
sleep 0.03
echo from $JOB_COMPLETION_INDEX
case $JOB_COMPLETION_INDEX in
  7) `+strings.TrimSpace(gate.wait)+`;;
  *0) exit 1;;
  *1) test $FAILURES -gt 0;;
esac
`)
	gate.open(t)
	calm := start(t, manifest, "-backoff", "1ms", "-")
	calm.Done(exitFailed)
	want := times.ReplaceAllString(calm.Out.String(), "TIME")
	gate.close(t)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	run := func() *programtest.Program { return start(t, manifest, "-backoff", "1ms", "-state", dir, "-") }
	takenOver, again, printed := 0, 0, make(map[string]int)
	hear := func(p *programtest.Program) { // how pods ended
		for line := range strings.Lines(p.Err.String()) {
			if _, event, ok := strings.Cut(line, "  pod "); ok && (strings.Contains(event, ": failed") || strings.Contains(event, ": succeeded")) {
				printed[event]++
			}
		}
	}
	killed := 0
	for ; killed < kills || takenOver == 0 || again == 0; killed++ {
		if killed >= kills { // so slow is the machine that little happens in that time
			longest += longest / 2
		}
		if longest > programtest.Patience {
			t.Fatalf("after %d kills: %d attempts taken over, %d run again", killed, takenOver, again)
		}
		p := run()
		if killed%2 == 0 { // not before it has begun, which takes long on a slow machine
			p.Eventually("it prints what it does", func() bool { return strings.Contains(p.Err.String(), "  pod ") })
		}
		time.Sleep(time.Duration(random.Int64N(int64(longest))))
		if killed%2 == 0 { // attempts end that it does not hear of
			p.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(random.Int64N(int64(longest))))
		}
		p.Kill()
		if p.ProcessState.Exited() {
			t.Fatalf("ended by itself:\n%s", p.Err.String())
		}
		takenOver += strings.Count(p.Err.String(), "had ended meanwhile")
		again += strings.Count(p.Err.String(), "was running")
		hear(p)
		time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
	}
	t.Logf("after %d kills: %d attempts taken over, %d run again", killed, takenOver, again)
	gate.open(t)
	p := run()
	p.Done(exitFailed)
	if got := times.ReplaceAllString(p.Out.String(), "TIME"); got != want {
		t.Errorf("got:\n%s\nundisturbed:\n%s", got, want)
	}
	hear(p)
	if len(printed) < completions {
		t.Errorf("only %d pods are printed to have ended", len(printed))
	}
	for event, n := range printed {
		if n > 1 { // a run was over before it had been saved
			t.Errorf("decided %d times: %s", n, event)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 5 { // two locks, the state and two logs
		t.Errorf("left in the folder: %v", left)
	}
	// A finished Job is not run again.
	p = run()
	p.Done(exitFailed)
	if got := times.ReplaceAllString(p.Out.String(), "TIME"); got != want || strings.Contains(p.Err.String(), "created") {
		t.Errorf("run again:\n%s%s", got, p.Err.String())
	}
}

// An attempt that ended before its run was killed, which had not heard of it, is not
// lost, nor what it wrote, and not made again.
func TestEndedAttemptIsTakenOver(t *testing.T) {
	t.Parallel()
	dir, gate := t.TempDir(), newGate(t)
	manifest := perIndex(1, 1, `
echo attempt $FAILURES
echo $FAILURES >> `+dir+`/log
test $FAILURES -gt 0 && exit
`+gate.wait+`
echo the last words
exit 1
`)
	p := start(t, manifest, "-backoff", "1ms", "-state", dir, "-")
	p.Err.Says("attempt 0", 1)
	p.Signal(syscall.SIGSTOP)
	gate.open(t)
	p.Eventually("the attempt ends by itself", func() bool { return len(p.Processes()) == 2 }) // runjob, its guard
	p.Kill()
	p = start(t, manifest, "-backoff", "1ms", "-state", dir, "-")
	p.Done(exitComplete)
	for _, want := range []string{"had ended meanwhile", "main | the last words", "main | attempt 1", "failure 1 of index 0"} {
		if strings.Count(p.Err.String(), want) != 1 {
			t.Errorf("want %q:\n%s", want, p.Err.String())
		}
	}
	if n := lines(dir + "/log"); n != 2 || !strings.Contains(p.Out.String(), "\n  failed: 1\n") {
		t.Errorf("%d attempts:\n%s", n, p.Out.String())
	}
}

// An attempt that was still running has been killed with its run, with all that it
// had started, and is made again with the same failure count. When the guard was
// killed as well, the next run does that, even if it carries the mark of the killed
// one itself.
func TestRunningAttemptRunsAgainUncounted(t *testing.T) {
	t.Parallel()
	for _, guarded := range []bool{true, false} {
		dir := t.TempDir()
		manifest := perIndex(1, 1, `
echo $FAILURES >> `+dir+`/log
test $FAILURES -eq 0 && exit 1
test $(wc -l < `+dir+`/log) -gt 2 && exit
setsid env -i sleep 1001 &
echo $! > `+dir+`/pid
setsid sleep 1001
`)
		args := []string{"-backoff", "1ms", "-state", dir, "-"}
		p := start(t, manifest, args...)
		p.Eventually("all of the second attempt is running", func() bool { return lines(dir+"/log") == 2 && lines(dir+"/pid") == 1 })
		if !guarded {
			p.KillGuard()
		} else {
			p.Kill()
		}
		next := start(t, manifest, args...)
		next.Done(exitComplete)
		if left := p.Processes(); len(left) > 0 {
			t.Errorf("guarded %v: processes left behind: %v", guarded, left)
		}
		pid, _ := os.ReadFile(dir + "/pid")
		if line, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline"); len(line) > 0 { // else it waits to be reaped at most
			t.Errorf("guarded %v: process %s, which has no environment, is left behind", guarded, pid)
		}
		log, _ := os.ReadFile(dir + "/log")
		if string(log) != "0\n1\n1\n" || !strings.Contains(next.Out.String(), "\n  failed: 1\n") {
			t.Errorf("guarded %v: attempts with %q failures:\n%s%s", guarded, log, next.Err.String(), next.Out.String())
		}
	}
}

// A guard that is killed is printed, and what ran below it runs again, uncounted;
// nothing else is touched, and a program that has its number by then is not either.
func TestPodsOfAKilledGuardRunAgainUncounted(t *testing.T) {
	t.Parallel()
	for _, state := range []bool{false, true} {
		dir, gate := t.TempDir(), newGate(t)
		args := []string{"-backoff", "1ms", "-"}
		if state {
			args = append([]string{"-state", dir + "/state"}, args...)
		}
		p := start(t, perIndex(3, 3, "echo >> "+dir+"/log\necho started\n"+gate.wait+"test $FAILURES -gt 0"), args...)
		p.Err.Says("| started", 3)
		if pid := p.Guard(); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		p.Err.Says("| started", 6)
		gate.open(t)
		p.Done(exitComplete)
		if out := p.Out.String(); !strings.Contains(out, "\n  failed: 3\n") || lines(dir+"/log") != 9 {
			t.Errorf("%d attempts:\n%s", lines(dir+"/log"), out)
		}
		if text := p.Err.String(); strings.Count(text, "has ended (killed); the 3 running below it") != 1 || strings.Count(text, "was killed with its guard: runs again") != 3 {
			t.Errorf("printed:\n%s", text)
		}
	}
}

// An interruption counts nothing and forgets nothing.
func TestInterruptionCountsAndForgetsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manifest := perIndex(3, 3, `
test $FAILURES -lt 2 && exit 1
trap 'exit 0' TERM # that it was printed to end must not count as success
echo $JOB_COMPLETION_INDEX >> `+dir+`/log
test $(grep -c $JOB_COMPLETION_INDEX `+dir+`/log) -gt 2 && exit 1
while :; do sleep 0.01; done
`)
	for range 2 {
		before := lines(dir + "/log")
		p := start(t, manifest, "-backoff", "1ms", "-state", dir, "-")
		p.Eventually("all run", func() bool { return lines(dir+"/log") == before+3 })
		p.Signal(syscall.SIGTERM)
		p.Done(exitInterrupted)
		if out := p.Out.String(); !strings.Contains(out, "type: Suspended") || !strings.Contains(out, "\n  failed: 6\n") || strings.Contains(out, "active") {
			t.Errorf("status:\n%s", out)
		}
	}
	p := start(t, manifest, "-backoff", "1ms", "-state", dir, "-")
	p.Done(exitFailed)
	if out := p.Out.String(); !strings.Contains(out, "failedIndexes: 0-2") || !strings.Contains(out, "\n  failed: 9\n") {
		t.Errorf("status:\n%s", out)
	}
}

// Restarts inside a pod are counted over kills.
func TestRestartCountSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manifest := fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: on-failure
spec:
  backoffLimit: 20
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: main
        command: [sh, -c, "sleep 0.02; echo run >> %s/log; exit 1"]
`, dir)
	const kills = 5
	for i := range kills { // the last one at 13 restarts or more
		p := start(t, manifest, "-backoff", "1ms", "-max-backoff", "1ms", "-state", dir, "-")
		p.Eventually("it is restarted", func() bool { return lines(dir+"/log") > 3*i })
		p.Kill()
	}
	p := start(t, manifest, "-backoff", "1ms", "-max-backoff", "1ms", "-state", dir, "-")
	p.Done(exitFailed)
	if n := lines(dir + "/log"); n < 20 || n > 20+kills || !strings.Contains(p.Out.String(), "BackoffLimitExceeded") {
		t.Errorf("%d restarts:\n%s", n, p.Out.String())
	}
}

func (g gate) close(t *testing.T) {
	if err := os.Remove(g.file); err != nil {
		t.Fatal(err)
	}
}
