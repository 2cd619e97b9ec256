package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// worstSpawn is the longest that starting a process has taken since the tests
// began, in nanoseconds: it tells how busy the machine is with other things.
var worstSpawn atomic.Int64

// watchMachine keeps worstSpawn up to date.
func watchMachine() {
	for ; ; time.Sleep(100 * time.Millisecond) {
		began := time.Now()
		_ = exec.Command("sh", "-c", "date").Run()
		worstSpawn.Store(max(worstSpawn.Load(), int64(time.Since(began))))
	}
}

// slack is how late this machine may start a process: a second, since what else it
// does changes while the tests run, and twice the longest that a start has taken,
// since between two starts of a command there is the end of one, too.
func slack() time.Duration {
	return time.Second + 2*time.Duration(worstSpawn.Load())
}

// readLog returns the times that commands have written into a file with
// date +%s%N, by the words before them.
func readLog(t *testing.T, path string) map[string][]time.Duration {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	times := make(map[string][]time.Duration)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		n, err := strconv.ParseInt(words[len(words)-1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Join(words[:len(words)-1], " ")
		times[name] = append(times[name], time.Duration(n))
	}
	return times
}

// KEP-4603's e2e test: a command that crashes ten times and writes down when it
// starts is started after each delay, and not much later. With Free 1 the delays
// are 0, initial, twice initial, ... (kubernetes#123602).
//
// It does not run beside the other tests, which keep the machine busy.
func TestGaps(t *testing.T) {
	dir := t.TempDir()
	commands := []string{"commands:"}
	curves := map[string]backoff.Policy{
		"plain":  {Initial: 50 * time.Millisecond, Max: 400 * time.Millisecond},
		"free":   {Initial: 50 * time.Millisecond, Max: 400 * time.Millisecond, Free: 1},
		"factor": {Initial: 100 * time.Millisecond, Max: 300 * time.Millisecond, Factor: 1.25},
	}
	for name, p := range curves {
		commands = append(commands, fmt.Sprintf(`
- name: %s
  command: [sh, -c, "echo %[1]s $(date +%%s%%N) >> log; exit 1"]
  curve: {initial: %v, max: %v, free: %d, factor: %v}
`, name, p.Initial, p.Max, p.Free, p.Factor))
	}
	p := start(t, dir, "-f", file(t, dir, "c.yaml", strings.Join(commands, "\n")))
	times := func() map[string][]time.Duration { return readLog(t, filepath.Join(dir, "log")) }
	p.Eventually("eleven starts of each", func() bool {
		log := times()
		return len(log["plain"]) > 10 && len(log["free"]) > 10 && len(log["factor"]) > 10
	})
	p.Signal(syscall.SIGINT)
	p.Done(130)
	for name, at := range times() {
		var late []time.Duration
		for i := range at[:len(at)-1] {
			want := curves[name].Delay(i + 1)
			gap := at[i+1] - at[i]
			late = append(late, gap-want)
			if gap < want || gap > want+slack() {
				t.Errorf("%s: gap %d is %v, want %v to %v", name, i+1, gap, want, want+slack())
			}
		}
		slices.Sort(late)
		if median, most := late[len(late)/2], slack()/4; median > most {
			t.Errorf("%s: half of the gaps are %v longer than the delays, want at most %v", name, median, most)
		}
	}
}

// Fifty commands that crash at once are not started more often than the ceiling
// allows, in any window.
func TestRate(t *testing.T) {
	t.Parallel()
	const count, rate, burst = 50, 20, 5
	dir := t.TempDir()
	commands := []string{"commands:"}
	for i := range count {
		commands = append(commands, fmt.Sprintf(`
- name: c%d
  command: [sh, -c, "echo c%[1]d $(date +%%s%%N) >> log; exit 1"]
  curve: {initial: 10ms, max: 50ms}
`, i))
	}
	began := time.Now()
	p := start(t, dir, "-f", file(t, dir, "c.yaml", strings.Join(commands, "\n")), "-rate", fmt.Sprint(rate), "-burst", fmt.Sprint(burst))
	var restarts []time.Duration
	p.Eventually("a start of each, and many restarts", func() bool {
		log := readLog(t, filepath.Join(dir, "log"))
		restarts = nil
		for _, at := range log {
			restarts = append(restarts, at[1:]...) // the first is a start
		}
		return len(log) == count && len(restarts) >= 60
	})
	took := time.Since(began)
	p.Signal(syscall.SIGINT)
	p.Done(130)
	if most := int(rate*took.Seconds()) + burst; len(restarts) > most {
		t.Errorf("%d restarts in %v, want at most %d", len(restarts), took, most)
	}
	// A start that comes late may come close to the next one.
	slices.Sort(restarts)
	for i := range restarts {
		for j := i + 1; j < len(restarts); j++ {
			window := restarts[j] - restarts[i] + slack()
			if n := j - i + 1; float64(n) > rate*window.Seconds()+burst {
				t.Fatalf("%d restarts in %v", n, restarts[j]-restarts[i])
			}
		}
	}
}

// A run longer than resetAfter starts the curve over; shorter ones do not.
func TestReset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-explain", "-f", file(t, dir, "c.yaml", `
commands:
- name: c
  command: [sh, -c, "echo >> runs; if test $(wc -l < runs) -eq 4; then sleep 4.2; fi; exit 1"]
  curve: {initial: 20ms, max: 30s, resetAfter: 4s}
`))
	p.Eventually("six exits", func() bool { return strings.Count(p.Err.String(), "exit code 1") >= 6 })
	var got []string
	for line := range strings.Lines(p.Err.String()) {
		_, after, _ := strings.Cut(line, "restarted ")
		got = append(got, strings.TrimSpace(after))
	}
	want := []string{"after 20ms (failure 1 in a row)", "after 40ms (failure 2 in a row)", "after 80ms (failure 3 in a row)",
		"after 20ms (failure 1 in a row)", "after 40ms (failure 2 in a row)", "after 80ms (failure 3 in a row)"}
	if fmt.Sprint(got[:6]) != fmt.Sprint(want) {
		t.Errorf("decisions %q, want %q", got, want)
	}
}

// SIGHUP ends the waits, and keeps the count of failures.
func TestWake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-explain", "--", "sh", "-c", "exit 1")
	for i := range 3 {
		p.Out.Says("CrashLoopBackOff", i+1)
		woken := time.Now()
		p.Signal(syscall.SIGHUP)
		p.Out.Says("Running", i+2)
		if wait := backoff.CrashLoop().Delay(i + 1); time.Since(woken) > wait/2 {
			t.Errorf("waking from a wait of %v took %v", wait, time.Since(woken))
		}
	}
	p.Eventually("failure 4", func() bool { return strings.Contains(p.Err.String(), "after 1m20s (failure 4 in a row)") })
	p.Signal(syscall.SIGTERM)
	p.Done(143)
}
