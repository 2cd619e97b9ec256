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

// Killed at 200 random moments, and before and after each fsync, supervisors start each
// run once, no sooner than decided, and miss no exit.
func TestSupervisorSurvivesKillsAtRandomMoments(t *testing.T) {
	// delay exceeds the 50 ms between two polls of the supervisor, which would hide a restart
	// that comes too soon.
	const delay = 100 * time.Millisecond
	kills, points := 200, 40
	if testing.Short() {
		kills, points = 30, 16
	}
	dir := t.TempDir()
	logs := filepath.Join(t.TempDir(), "log")
	args := []string{dir}
	names := []string{"a", "b", "c"}
	for i, name := range names {
		// The supervisor takes a run's end from a file's time, which is that of the kernel's last
		// tick. The log does the same: by the clock of date alone, a run may begin too soon.
		args = append(args, name, fmt.Sprintf(`echo begin $RUN $(date +%%s%%N) >>%[1]s
			sleep 0.0%[2]d
			touch %[1]s
			echo end $RUN $(date -r %[1]s +%%s%%N) >>%[1]s
			exit 1`, logs, 2*i))
	}
	random := rand.New(rand.NewPCG(1, 2))
	window, runs := 60*time.Millisecond, 0 // wide enough for exits, on any machine
	for range kills {
		cmd := supervisor(t, delay, 0, args...)
		time.Sleep(time.Duration(random.Int64N(int64(window))))
		kill(cmd)
		if n := total(readLog(t, logs)); n > runs {
			window, runs = max(window*3/4, 60*time.Millisecond), n
		} else {
			window = min(window*5/4, 5*time.Second)
		}
	}
	if runs < kills/4 {
		t.Errorf("only %d runs between %d kills", runs, kills)
	}
	for n := 1; n <= points; n++ {
		awaitCrash(t, supervisor(t, delay, n, args...))
	}
	// Every command goes on.
	before := readLog(t, logs)
	last := supervisor(t, delay, 0, args...)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now, going := readLog(t, logs), 0
		for _, name := range names {
			if len(now[name]) > len(before[name])+2 {
				going++
			}
		}
		if going == len(names) {
			break
		}
		if time.Now().After(deadline) {
			kill(last)
			t.Fatalf("a command was lost: it ran %v, then %v times", sizes(before), sizes(now))
		}
	}
	kill(last)
	awaitEnd(t, dir)

	restarter := load(t, dir)
	all := readLog(t, logs)
	for name, runs := range all {
		for i, r := range runs {
			if r.number != i+1 {
				t.Fatalf("%s: run %d comes after run %d", name, r.number, i)
			}
			if i > 0 && r.begin.Sub(runs[i-1].end) < delay {
				t.Errorf("%s: run %d began %v after the end of run %d", name, r.number, r.begin.Sub(runs[i-1].end), i)
			}
		}
		s, _ := restarter.State(name)
		if int(s.Exit.Run) < len(runs)-1 || s.Failures != int(s.Exit.Run) {
			t.Errorf("%s: %d runs, the last decision is about run %d: %+v", name, len(runs), s.Exit.Run, s.Decision())
		}
	}
	t.Logf("%d runs, %d kills", total(all), kills+points)
}

type logged struct {
	number     int
	begin, end time.Time
}

// readLog returns the runs of each command in the order of their begins.
func readLog(t *testing.T, path string) map[string][]logged {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	runs := map[string][]logged{}
	for line := range strings.Lines(string(text)) {
		var what, name string
		var number int
		var at int64
		if !strings.HasSuffix(line, "\n") {
			break // being written
		}
		if n, _ := fmt.Sscanf(line, "%s %d.%s %d", &what, &number, &name, &at); n != 4 {
			t.Fatalf("line %q", line)
		}
		if what == "begin" {
			runs[name] = append(runs[name], logged{number: number, begin: time.Unix(0, at)})
			continue
		}
		for i := range runs[name] {
			if runs[name][i].number == number {
				runs[name][i].end = time.Unix(0, at)
			}
		}
	}
	return runs
}

func total(runs map[string][]logged) (n int) {
	for _, r := range runs {
		n += len(r)
	}
	return n
}

func sizes(runs map[string][]logged) map[string]int {
	n := map[string]int{}
	for name, r := range runs {
		n[name] = len(r)
	}
	return n
}
