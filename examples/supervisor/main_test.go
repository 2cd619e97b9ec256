//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/crashpoint"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/statefile"
)

// delay is the delay of every restart in the test. It exceeds the 50 ms between two polls of
// the supervisor, which would hide a restart that comes too soon.
const delay = 100 * time.Millisecond

func TestMain(m *testing.M) {
	crashAt, isSupervisor := os.LookupEnv("SUPERVISOR_CRASH")
	if !isSupervisor {
		os.Exit(m.Run())
	}
	curve = backoff.Policy{Initial: delay, Max: delay, ResetAfter: time.Hour}
	if n, _ := strconv.Atoi(crashAt); n > 0 {
		crashpoint.Reached = func() {
			if n--; n == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	main()
}

// Killed at 200 random moments, and before and after each fsync, supervisors start each
// run once, no sooner than decided, and miss no exit.
func TestSupervisorSurvivesKills(t *testing.T) {
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
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	supervise := func(crashAt int) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), fmt.Sprint("SUPERVISOR_CRASH=", crashAt))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// One that never comes to its crash ends with a dump of its goroutines.
		dump := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
		t.Cleanup(func() {
			dump.Stop()
			kill(cmd)
		})
		return cmd
	}
	random := rand.New(rand.NewPCG(1, 2))
	window, runs := 60*time.Millisecond, 0 // wide enough for exits, on any machine
	for range kills {
		cmd := supervise(0)
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
		cmd := supervise(n)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("crash point %d: %v", n, err)
		}
	}
	// Every command goes on.
	before := readLog(t, logs)
	last := supervise(0)
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

	restarter := must(backoff.NewRestarter(curve, backoff.RestarterOptions[string]{}))
	var position *pleg.ExitPosition[string]
	must(statefile.Load(filepath.Join(dir, "state.json"), &[2]any{restarter, &position}))
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
		if int(s.Last.Run) < len(runs)-1 || s.Decision.Failures != int(s.Last.Run) {
			t.Errorf("%s: %d runs, the last decision is about run %d: %+v", name, len(runs), s.Last.Run, s.Decision)
		}
	}
	t.Logf("%d runs, %d kills", total(all), kills+points)
}

// awaitEnd waits until no run holds the lock on its file.
func awaitEnd(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file := must(os.Open(name))
		must(0, syscall.Flock(int(file.Fd()), syscall.LOCK_SH))
		file.Close()
	}
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
