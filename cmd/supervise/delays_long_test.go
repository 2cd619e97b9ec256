//go:build long

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// readLog returns the times that commands have written into a file with
// date +%s%N, by the words before them.
func readLog(t testing.TB, path string) map[string][]time.Duration {
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

// crashing is KEP-4603's e2e test: commands that crash and write down when they
// start, each with its curve. With Free 1 the delays are 0, initial, twice initial,
// ... (kubernetes#123602).
var crashing = map[string]backoff.Policy{
	"plain":  {Initial: 50 * time.Millisecond, Max: 400 * time.Millisecond},
	"free":   {Initial: 50 * time.Millisecond, Max: 400 * time.Millisecond, FreeFailures: 1},
	"factor": {Initial: 100 * time.Millisecond, Max: 300 * time.Millisecond, Factor: 1.25},
}

// lateness runs these commands until each has been restarted ten times. It returns
// by how much the gaps between two starts are longer than the delays, and what was
// printed.
func lateness(t testing.TB) (late map[string][]time.Duration, printed string) {
	dir := t.TempDir()
	commands := []string{"commands:"}
	for name, p := range crashing {
		commands = append(commands, fmt.Sprintf(`
- name: %s
  command: [sh, -c, "echo %[1]s $(date +%%s%%N) >> log; exit 1"]
  curve: {initial: %v, max: %v, freeFailures: %d, factor: %v}
`, name, p.Initial, p.Max, p.FreeFailures, p.Factor))
	}
	p := start(t, dir, "-explain", "-f", file(t, dir, "c.yaml", strings.Join(commands, "\n")))
	var log map[string][]time.Duration
	p.Eventually("eleven starts of each", func() bool {
		log = readLog(t, filepath.Join(dir, "log"))
		return len(log["plain"]) > 10 && len(log["free"]) > 10 && len(log["factor"]) > 10
	})
	p.Signal(syscall.SIGINT)
	p.Done(130)
	late = make(map[string][]time.Duration)
	for name, at := range log {
		for i := range at[:len(at)-1] {
			late[name] = append(late[name], at[i+1]-at[i]-crashing[name].Delay(i+1))
		}
	}
	return late, p.Err.String()
}

// Every start comes after its delay, which is the one of the curve. (How long after
// is measured by BenchmarkLateness.)
func TestStartsComeAfterTheirDelays(t *testing.T) {
	late, printed := lateness(t)
	for name, late := range late {
		for i, d := range late {
			if d < 0 {
				t.Errorf("%s: gap %d is %v shorter than the delay", name, i+1, -d)
			}
			want := fmt.Sprintf("%s: exit code 1 under restartPolicy Always: restarted after %v (failure %d in a row)", name, crashing[name].Delay(i+1), i+1)
			if crashing[name].Delay(i+1) == 0 {
				want = fmt.Sprintf("%s: exit code 1 under restartPolicy Always: restarted ", name)
			}
			if !strings.Contains(printed, want) {
				t.Errorf("not printed: %s", want)
			}
		}
	}
}

// BenchmarkLateness measures how much longer than its delay the time between two
// starts of a command is, its run included: half of the times and the worst one, in
// milliseconds. The KEP's test allows some seconds.
func BenchmarkLateness(b *testing.B) {
	var all []time.Duration
	for b.Loop() {
		late, _ := lateness(b)
		for _, d := range late {
			all = append(all, d...)
		}
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2])/1e6, "median-ms")
	b.ReportMetric(float64(all[len(all)-1])/1e6, "worst-ms")
}

// Fifty commands that crash at once are not started more often than the ceiling
// allows, all in all. (That it holds in any window is tested in package backoff.)
func TestRateBoundsAllRestarts(t *testing.T) {
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
}

// A run longer than resetAfter starts the curve over; shorter ones do not.
func TestLongRunResetsTheCurve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-explain", "-f", file(t, dir, "c.yaml", `
commands:
- name: c
  command: [sh, -c, "echo >> runs; if test $(wc -l < runs) -eq 4; then sleep 4.2; fi; exit 1"]
  curve: {initial: 20ms, max: 30s, resetAfter: 4s}
`))
	decisions := func() (all []string) {
		for line := range strings.Lines(p.Err.String()) {
			if _, after, ok := strings.Cut(line, "restarted "); ok && strings.HasSuffix(line, "\n") {
				all = append(all, strings.TrimSpace(after))
			}
		}
		return all
	}
	// A busy machine may make any run long, but not the fourth one short.
	p.Eventually("four exits", func() bool { return len(decisions()) >= 4 })
	if got := decisions(); got[3] != "after 20ms (failure 1 in a row)" {
		t.Fatalf("the fourth of the decisions %q does not start the curve over", got)
	}
	p.Eventually("a short run after it", func() bool { return slices.Contains(decisions()[4:], "after 40ms (failure 2 in a row)") })
}
