//go:build long && linux

package main

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/statefile"
)

// killedDelay is the delay after every exit in the kill matrix.
const killedDelay = 30 * time.Millisecond

const killedFile = `
delay: {initial: 30ms, max: 30ms}
commands:
- {name: a, command: [sh, kept.sh, a, "0.01"]}
- {name: b, command: [sh, kept.sh, b, "0.05"]}
- {name: over, command: [sh, kept.sh, over, "0.02"], restartPolicy: Never}
`

// killedScript logs its start and its exit with their times, and notices if the process of
// the run before still runs.
const killedScript = `
[ -e $1.pid ] && read before <$1.pid && kill -0 $before 2>/dev/null && echo twice >>$1.log
echo start $(date +%s%N) $$ >>$1.log
echo $$ >$1.pid # after the log, since the test waits for those in it to end
sleep $2
echo exit $(date +%s%N) >>$1.log
exit 1
`

// killedLog is what a command has logged.
type killedLog struct {
	starts, exits []time.Time
	pids          []int
	twice         bool
	order         string // of starts (s) and exits (e)
}

func readKilledLog(t *testing.T, path string) (l killedLog) {
	t.Helper()
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "twice" {
			l.twice = true
			continue
		}
		nanos, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			t.Fatalf("%s: %q", path, line)
		}
		l.order += words[0][:1]
		if words[0] == "exit" {
			l.exits = append(l.exits, time.Unix(0, nanos))
			continue
		}
		pid, _ := strconv.Atoi(words[2])
		l.starts, l.pids = append(l.starts, time.Unix(0, nanos)), append(l.pids, pid)
	}
	return l
}

var toldFailure = regexp.MustCompile(`^\S+ (\w+): exit code 1 .*(?:\(failure (\d+) in a row\)|not restarted)$`)

// Killed at any moment, 200 times, the next run goes on: no failure that was told is lost, no
// command runs twice at the same time or starts before its delay, what has ended stays so, and
// the first process of each command dies.
func TestKilledRuns(t *testing.T) {
	const kills = 200
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	random := rand.New(rand.NewPCG(seed, 48))
	dir := t.TempDir()
	for name, text := range map[string]string{"run.yaml": killedFile, "kept.sh": killedScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"a", "b", "over"}
	told := make(map[string]int)     // failures in a row, as printed
	saved := make(map[string]int)    // as in the state
	counted := make(map[string]bool) // the last exit is in the state
	checked, across, overTold := 0, 0, 0

	for round := range kills {
		before := make(map[string]killedLog)
		for _, name := range names {
			before[name] = readKilledLog(t, filepath.Join(dir, name+".log"))
		}
		toldBefore := map[string]int{"a": told["a"], "b": told["b"], "over": told["over"]}

		cmd := exec.Command("restart", "run", "-f", "run.yaml", "--state", "state.json")
		cmd.Dir = dir
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if round > 0 {
			cmd.Stderr = nil
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Some are killed before they print anything, most a little after one of the first lines.
		kill := func(within time.Duration) {
			time.AfterFunc(time.Duration(random.Int64N(int64(within))), func() { _ = cmd.Process.Kill() })
		}
		last := random.IntN(12)
		if last == 0 {
			kill(200 * time.Millisecond)
		}
		lines := bufio.NewScanner(out)
		for n := 1; lines.Scan(); n++ {
			if n == last {
				kill(50 * time.Millisecond)
			}
			if m := toldFailure.FindStringSubmatch(lines.Text()); m != nil {
				told[m[1]], _ = strconv.Atoi(cmp.Or(m[2], "1"))
			}
		}
		_ = cmd.Wait()

		// Those that it ran die with it.
		for _, name := range names {
			l := readKilledLog(t, filepath.Join(dir, name+".log"))
			for _, pid := range l.pids[len(before[name].pids):] {
				for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("round %d: %s, process %d, still runs", round, name, pid)
					}
				}
			}
		}

		restarter, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{})
		if err != nil {
			t.Fatal(err)
		}
		st := runState{Restarts: restarter}
		if _, err := statefile.Load(filepath.Join(dir, "state.json"), &st); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for _, name := range names {
			l := readKilledLog(t, filepath.Join(dir, name+".log"))
			s, _ := restarter.State(name)
			at := fmt.Sprintf("round %d: %s, log %s, failures %d saved and %d told", round, name, l.order, s.Failures, told[name])
			if l.twice {
				t.Fatalf("%s: ran twice at the same time", at)
			}
			if s.Failures < told[name] || s.Failures < saved[name] || s.Failures > len(l.exits) {
				t.Fatalf("%s: a count is lost or invented", at)
			}
			if starts := int(st.Commands[name].Starts); starts < len(l.starts) || starts > len(l.starts)+round+1 {
				t.Fatalf("%s: %d starts saved", at, starts)
			}
			if name == "over" && told["over"] > 0 {
				overTold++
				if toldBefore["over"] > 0 && len(l.starts) != len(before["over"].starts) {
					t.Fatalf("%s: started again after its end", at)
				}
			}
			saved[name] = s.Failures

			// A start that follows a counted exit, logged within this run, comes after the delay.
			starts, exits := len(before[name].starts), len(before[name].exits)
			order := l.order[len(before[name].order):]
			for i, c := range order {
				if c == 'e' {
					exits++
					continue
				}
				if i > 0 && order[i-1] == 'e' {
					checked++
					if gap := l.starts[starts].Sub(l.exits[exits-1]); gap < killedDelay {
						t.Fatalf("%s: started %v after its exit", at, gap)
					}
				}
				starts++
			}
			// So does the first start of this run, if the one before had counted the last exit.
			if previous := before[name]; counted[name] && len(order) > 0 {
				across++
				if gap := l.starts[len(previous.starts)].Sub(previous.exits[len(previous.exits)-1]); gap < killedDelay {
					t.Fatalf("%s: started %v after the exit before the kill", at, gap)
				}
			}
			counted[name] = s.StartedAt.IsZero() && s.Exit.Run > 0 && s.Exit.Run == st.Commands[name].Starts
		}
	}
	t.Logf("%d kills: %d and %d failures counted; %d delays checked within a run, %d across a kill; over seen %d times", kills, saved["a"], saved["b"], checked, across, overTold)
	if saved["a"] < 20 || saved["b"] < 10 || checked < 10 || across < 10 || overTold < 10 {
		t.Error("too little has happened to show anything")
	}
}
