//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/crashpoint"
	"github.com/restartkit/restart/statefile"
)

// TestMain runs the supervisor instead of the tests if SUPERVISOR_DELAY is set, which is the
// delay of every restart. At the crash point with the number SUPERVISOR_CRASH, it is killed.
func TestMain(m *testing.M) {
	delay, err := time.ParseDuration(os.Getenv("SUPERVISOR_DELAY"))
	if err != nil {
		os.Exit(m.Run())
	}
	curve = backoff.Policy{Initial: delay, Max: delay, ResetAfter: time.Hour}
	if n, _ := strconv.Atoi(os.Getenv("SUPERVISOR_CRASH")); n > 0 {
		crashpoint.Reached = func() {
			if n--; n == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	main()
}

// must returns the value of a call that cannot fail in a test.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// load returns the state that supervisors have left in a folder.
func load(t *testing.T, dir string) *backoff.Restarter[string] {
	restarter := must(backoff.NewRestarter(policy(), backoff.RestarterOptions[string]{}))
	if _, err := statefile.Load(filepath.Join(dir, stateFile), restarter); err != nil {
		t.Fatal(err)
	}
	return restarter
}

// supervisor starts one that is killed at a crash point, or runs until the end of
// the test if that is 0.
func supervisor(t *testing.T, delay time.Duration, crashAt int, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), fmt.Sprint("SUPERVISOR_DELAY=", delay), fmt.Sprint("SUPERVISOR_CRASH=", crashAt))
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

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// awaitCrash waits until a supervisor was killed at its crash point.
func awaitCrash(t *testing.T, cmd *exec.Cmd) {
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v: %v", cmd.Env[len(cmd.Env)-1], err)
	}
}

// Killed before and after each fsync, while a command runs and before its exit is seen,
// supervisors start each run once, in order, and miss no exit.
func TestSupervisorSurvivesKills(t *testing.T) {
	const crashPoints = 12 // of three exits
	dir := t.TempDir()
	log, gate := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	gatekeeper := must(os.OpenFile(gate, os.O_RDWR, 0)) // without it, opening the other end would block
	defer gatekeeper.Close()                            // ends a run that still waits
	const logged = `echo begin $RUN >>%[1]s; %[2]s; echo end $RUN >>%[1]s; exit 1`
	args := []string{dir}
	names := []string{"a", "b", "held"}
	for i, command := range []string{"true", "true", "read line <" + gate} {
		args = append(args, names[i], fmt.Sprintf(logged, log, command))
	}
	const delay = 10 * time.Millisecond
	supervised := func() *exec.Cmd { return supervisor(t, delay, 0, args...) }
	lines := func() []string {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all := strings.Split(string(text), "\n")
		return all[:len(all)-1] // without a line that is being written
	}
	await := func(line string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !slices.Contains(lines(), line); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no %s in the log:\n%s", line, strings.Join(lines(), "\n"))
			}
		}
	}
	// runs returns how many runs of a command have begun, which must be consecutive.
	runs := func(name string) (n int) {
		t.Helper()
		begun, ended := 0, 0
		for _, line := range lines() {
			switch what, run, _ := strings.Cut(line, " "); {
			case !strings.HasSuffix(run, "."+name):
			case what == "begin" && begun == ended && run == fmt.Sprint(begun+1, ".", name):
				begun++
			case what == "end" && begun == ended+1 && run == fmt.Sprint(begun, ".", name):
				ended++
			default:
				t.Fatalf("%s comes after %d begins and %d ends:\n%s", line, begun, ended, strings.Join(lines(), "\n"))
			}
		}
		return begun
	}
	release := func() { must(gatekeeper.WriteString("go\n")) }

	for n := 1; n <= crashPoints; n++ {
		awaitCrash(t, supervisor(t, delay, n, args...))
	}
	// The first run of one command has been held since it began.
	cmd := supervised()
	await("begin 1.held")
	await(fmt.Sprintf("begin %d.a", runs("a")+2))
	await(fmt.Sprintf("begin %d.b", runs("b")+2))
	if n := runs("held"); n != 1 {
		t.Errorf("%d runs of a command whose first goes on", n)
	}
	// It ends while a supervisor runs, then while none does.
	release()
	await("begin 2.held")
	kill(cmd)
	release()
	await("end 2.held")
	cmd = supervised()
	await("begin 3.held")
	// Exits go on to be noticed.
	await(fmt.Sprintf("begin %d.a", runs("a")+2))
	await(fmt.Sprintf("begin %d.b", runs("b")+2))
	kill(cmd)
	release()
	awaitEnd(t, dir)

	restarter := load(t, dir)
	for _, name := range names {
		n := runs(name)
		s, _ := restarter.State(name)
		if int(s.Exit.Run) < n-1 || s.Failures != int(s.Exit.Run) {
			t.Errorf("%s: %d runs, the last decision is about run %d: %+v", name, n, s.Exit.Run, s.Decision())
		}
	}
	t.Logf("%d runs of a, %d of b", runs("a"), runs("b"))
}

// awaitEnd waits until no run holds the lock on its file.
func awaitEnd(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file := must(os.Open(name))
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
}

func TestTwoCommandsOfOneNameAreRefused(t *testing.T) {
	if _, _, err := parse([]string{"folder", "web", "a", "db", "b", "web", "c"}); err == nil {
		t.Error("no error")
	}
	if _, commands, err := parse([]string{"folder", "web", "a", "db", "b"}); err != nil || len(commands) != 2 {
		t.Error(commands, err)
	}
}

// The file of a run that was killed has no exit code, and nobody knows when it ended.
func TestKilledRunEndedAtAnUnknownTime(t *testing.T) {
	for text, want := range map[string]run{
		"1000\n":    {ended: true, started: time.Unix(1000, 0), code: 137},
		"1000\n3\n": {ended: true, started: time.Unix(1000, 0), finished: time.Unix(2000, 0), code: 3},
	} {
		name := filepath.Join(t.TempDir(), "run")
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, time.Time{}, time.Unix(2000, 0))); err != nil {
			t.Fatal(err)
		}
		if got := must(readRun(name)); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
