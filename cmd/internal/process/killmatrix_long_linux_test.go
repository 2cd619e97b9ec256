//go:build long

package process

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var matrixRounds = flag.Int("process.rounds", 1, "rounds of each case of TestKillMatrix")

// matrixScript is a command of the matrix: it leaves processes in its group, in
// another session and without a parent. Below runjob it fails the first time; below
// supervise it goes on.
const matrixScript = daemon + `
sleep 1000.%[1]s & setsid sleep 1000.%[1]s & daemon sleep 1000.%[1]s
test "$FAILURES" || exec sleep 1000.%[1]s
sleep 0.1
test "$FAILURES" -gt 0
`

// matrixJob is a Job of 6 indexes, each of which fails once.
const matrixJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: matrix}
spec:
  completions: 6
  parallelism: 3
  completionMode: Indexed
  backoffLimitPerIndex: 1
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        env:
        - {name: FAILURES, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-index-failure-count']"}}}
        command: [sh, -c, %q]
`

// matrixCase is a program, with or without -state, and what is killed of it.
type matrixCase struct {
	program string
	state   bool
	victim  string // program, guard or both

	rounds, left, leftIn int // processes left, and rounds with any
	leftAfterResume      int
}

// TestKillMatrix kills runjob and supervise, their guards or both, at any moment. No
// process stays if one of the two was alive, nor once -state has resumed the run, and no
// result is wrong. Run it with -process.rounds 50 -v for the table.
func TestKillMatrix(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "../../runjob", "../../supervise")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var table strings.Builder
	for _, program := range []string{"runjob", "supervise"} {
		for _, state := range []bool{false, true} {
			for _, victim := range []string{"program", "guard", "both"} {
				c := &matrixCase{program: program, state: state, victim: victim}
				for range *matrixRounds {
					c.round(t, filepath.Join(bin, program))
				}
				fmt.Fprintf(&table, "%-9s  %-5v  %-7s  %6d  %14d  %14d  %12d\n", program, state, victim, c.rounds, c.leftIn, c.left, c.leftAfterResume)
			}
		}
	}
	t.Logf("\nPROGRAM    STATE  KILLED   ROUNDS  ROUNDS W. LEFT  PROCESSES LEFT  AFTER RESUME\n%s", table.String())
}

// round starts the program, kills at a moment, and looks for what is left.
func (c *matrixCase) round(t *testing.T, path string) {
	t.Helper()
	c.rounds++
	number := fmt.Sprint(1_000_000 + rand.IntN(8_000_000)) // the digits of a sleep tell whose it is
	defer killMatching(number)
	dir := t.TempDir()
	script := fmt.Sprintf(matrixScript, number)
	var args []string
	if c.program == "runjob" {
		manifest := filepath.Join(dir, "job.yaml")
		if err := os.WriteFile(manifest, fmt.Appendf(nil, matrixJob, script), 0o600); err != nil {
			t.Fatal(err)
		}
		args = []string{"-backoff", "10ms", "-max-backoff", "20ms", manifest}
	} else {
		args = []string{"-reduced", "-max-period", "1s", "-grace", "1s", "--", "sh", "-c", script}
	}
	if c.state {
		args = append([]string{"-state", filepath.Join(dir, "state")}, args...)
	}
	run := func() (*exec.Cmd, *bytes.Buffer) {
		var out bytes.Buffer
		cmd := exec.Command(path, args...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &out
	}
	cmd, out := run()
	time.Sleep(time.Duration(rand.Int64N(int64(400 * time.Millisecond)))) // any moment will do
	guard := guardOf(cmd.Process.Pid)
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", guard))
	if name := filepath.Base(strings.TrimSpace(string(text))); strings.HasPrefix(name, "restart-") { // it may stay, empty
		group := filepath.Join(ownCgroup(), name)
		defer func() {
			killMatching(number)
			for range 100 {
				if err := os.Remove(group); !errors.Is(err, syscall.EBUSY) {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	switch c.victim {
	case "program":
		_ = cmd.Process.Kill()
	case "guard":
		if guard > 0 {
			_ = syscall.Kill(guard, syscall.SIGKILL)
		}
		if c.program == "supervise" { // it goes on for ever
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	case "both":
		_ = cmd.Process.Signal(syscall.SIGSTOP) // so that it does not kill what the guard leaves
		if guard > 0 {
			_ = syscall.Kill(guard, syscall.SIGKILL)
		}
		_ = cmd.Process.Kill()
	}
	err := cmd.Wait()
	if c.victim == "guard" {
		c.checkEnd(t, cmd, err, out)
	}
	left := matching(number)
	if c.victim == "both" {
		left = settled(number)
	} else {
		deadline := time.Now().Add(patience)
		for ; len(left) > 0 && time.Now().Before(deadline); left = matching(number) {
			time.Sleep(10 * time.Millisecond)
		}
		if len(left) > 0 {
			t.Errorf("%+v: left: %q", *c, left)
		}
	}
	if c.left += len(left); len(left) > 0 {
		c.leftIn++
	}
	if !c.state || c.victim == "guard" {
		return
	}
	cmd, out = run()
	if c.program == "supervise" {
		time.AfterFunc(200*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	}
	c.checkEnd(t, cmd, cmd.Wait(), out)
	if left := matching(number); len(left) > 0 {
		c.leftAfterResume += len(left)
		t.Errorf("%+v: left after the next run: %q", *c, left)
	}
}

// completed matches the status of matrixJob at its end.
var completed = regexp.MustCompile(`(?s)completedIndexes: 0-5\n.*failed: 6\n.*succeeded: 6\n`)

// checkEnd checks how a program ended that was left alone in the end.
func (c *matrixCase) checkEnd(t *testing.T, cmd *exec.Cmd, err error, out *bytes.Buffer) {
	t.Helper()
	code := cmd.ProcessState.ExitCode()
	if c.program == "runjob" && (code != 0 || !completed.MatchString(out.String())) {
		t.Errorf("%+v: %v:\n%s", *c, err, out)
	}
	if c.program == "supervise" && code != 143 && code != -1 { // -1: SIGTERM came before it listened
		t.Errorf("%+v: %v:\n%s", *c, err, out)
	}
}

// guardOf returns the guard of a program, 0 if there is none yet.
func guardOf(program int) int {
	for pid := range processes {
		if parent, _ := parentOf(pid); parent == program && strings.HasPrefix(commandLine(fmt.Sprint(pid)), guardName) {
			return pid
		}
	}
	return 0
}

// matching returns the command lines of the matrix's processes that are alive.
func matching(token string) (lines []string) {
	for pid := range processes {
		line := commandLine(fmt.Sprint(pid))
		if _, ended := parentOf(pid); !ended && strings.Contains(line, "sleep 1000."+token) {
			lines = append(lines, fmt.Sprintf("%d %.40q", pid, line))
		}
	}
	return lines
}

// settled returns the processes that stay: their number does not change for a while.
func settled(token string) (lines []string) {
	for same := 0; same < 10; same++ {
		time.Sleep(50 * time.Millisecond)
		if now := matching(token); len(now) != len(lines) {
			lines, same = now, 0
		}
	}
	return lines
}

func killMatching(token string) {
	for pid := range processes {
		if strings.Contains(commandLine(fmt.Sprint(pid)), "sleep 1000."+token) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
