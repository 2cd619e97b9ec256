//go:build long

package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// daemon runs what follows it as a daemon that nothing connects with its origin
// but its mark: without its environment, in another session, with a parent that has
// ended, and with another title.
const daemon = `daemon() { (env -i setsid sh -c '"$@" <&- >/dev/null 2>&1 & echo $!' other "$@"); }
`

// family has a process in its group, one that has left it, one that shows no
// environment, one that is a daemon and, if this is root's, one of another user;
// all of them write their numbers down.
func family() string {
	return daemon + `
sleep 1000 & echo $!
setsid sh -c 'echo $$; exec sleep 1000' &
env -i sleep 1000 & echo $!
daemon sleep 1000
` + anotherUser()
}

// familySize returns how many processes that are.
func familySize() int { return 4 + strings.Count(anotherUser(), "\n") }

// anotherUser runs a process that has changed its user and its session. It is empty
// where that cannot be.
var anotherUser = sync.OnceValue(func() string {
	if os.Geteuid() != 0 || exec.Command("su", "-", "nobody", "-s", "/bin/sh", "-c", "true").Run() != nil {
		return ""
	}
	return "su - nobody -s /bin/sh -c 'echo $$; exec sleep 1000' 2>/dev/null &\n"
})

func TestAnotherUserIsTested(t *testing.T) {
	if anotherUser() == "" {
		t.Skip("not tried: needs root, and a su that takes it to the user nobody")
	}
}

// Processes that a child leaves behind, in any session or group, end before the child's
// end is reported, and delay no other process.
func TestNothingIsLeftOfAChild(t *testing.T) {
	lines := make(chan string, 10)
	p, err := shared().Start(Command{
		Args: []string{"sh", "-c", family() + "exec sleep 1000"}, Env: os.Environ(),
		Output: sink(func(line []byte) { lines <- strings.TrimSpace(string(line)) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for len(pids) < familySize() {
		select {
		case pid := <-lines:
			pids = append(pids, pid)
		case <-time.After(patience):
			t.Fatalf("only %d of %d have begun", len(pids), familySize())
		}
	}
	p.Signal(syscall.SIGTERM)
	if e := p.Wait(); e.Signal != syscall.SIGTERM {
		t.Errorf("%+v", e)
	}
	for _, pid := range pids {
		if alive(t, pid) {
			t.Errorf("process %s is left: %s", pid, commandLine(pid))
		}
	}
}

// A daemon of a child that still runs stays when another child ends, and ends with
// its own.
func TestDaemonStaysWithItsChild(t *testing.T) {
	lines := make(chan string, 10)
	p, err := shared().Start(Command{
		Args: []string{"sh", "-c", daemon + "daemon sleep 1000; exec sleep 1000"}, Env: os.Environ(),
		Output: sink(func(line []byte) { lines <- strings.TrimSpace(string(line)) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := <-lines
	_, other := run(t, "sh", "-c", daemon+"daemon sleep 1000")
	if !alive(t, pid) {
		t.Error("the daemon was killed when another child ended")
	}
	if other = strings.TrimSpace(other); alive(t, other) {
		t.Error("the daemon of the child that ended is left")
	}
	p.Signal(syscall.SIGTERM)
	if e := p.Wait(); e.Code != 143 || alive(t, pid) {
		t.Errorf("%+v; the daemon is alive: %v", e, alive(t, pid))
	}
}

// SIGTERM is for the first process alone, SIGKILL for all of its group.
func TestSIGTERMIsForTheFirstProcess(t *testing.T) {
	lines := make(chan string, 10)
	p, err := shared().Start(Command{
		Args:   []string{"sh", "-c", `trap 'echo yes' TERM; sh -c 'trap "echo no" TERM; echo ready; while :; do sleep 0.01; done' & while :; do sleep 0.01; done`},
		Env:    os.Environ(),
		Output: sink(func(line []byte) { lines <- strings.TrimSpace(string(line)) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	<-lines
	for range 3 {
		p.Signal(syscall.SIGTERM)
		if got := <-lines; got != "yes" {
			t.Errorf("another process got it: %s", got)
		}
	}
	p.Signal(syscall.SIGKILL)
	if e := p.Wait(); e.Signal != syscall.SIGKILL {
		t.Errorf("%+v", e)
	}
}

// testProgram is another process of the test program, which runs a script three
// times.
type testProgram struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	run   string
	guard int
	pids  []string
}

func startProgram(t *testing.T, script string, set ...func(cmd *exec.Cmd)) *testProgram {
	t.Helper()
	p := &testProgram{Cmd: exec.Command("/proc/self/exe")}
	p.Env = append(os.Environ(), programOf+"="+script)
	p.Stderr = os.Stderr
	for _, set := range set {
		set(p.Cmd)
	}
	stdin, err1 := p.StdinPipe()
	stdout, err2 := p.StdoutPipe()
	if err := errors.Join(err1, err2, p.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	p.stdin, p.lines = stdin, bufio.NewScanner(stdout)
	p.lines.Scan()
	if _, err := fmt.Sscan(p.lines.Text(), &p.run, &p.guard); err != nil {
		t.Fatalf("%q: %v", p.lines.Text(), err)
	}
	each := 1
	if strings.Contains(script, family()) {
		each = familySize()
	}
	for len(p.pids) < 3*each && p.lines.Scan() {
		p.pids = append(p.pids, p.lines.Text())
	}
	return p
}

// When the program is killed no process of it is left.
func TestKilledProgramLeavesNoProcess(t *testing.T) {
	p := startProgram(t, family()+"wait")
	_ = p.Process.Kill()
	gone(t, append(p.pids, strconv.Itoa(p.guard)))
}

// leaving is the script of a child that joins another group and does not listen to
// SIGTERM.
func leaving(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "unset " + programOf + "; " + leaver + "=1 exec '" + self + "'"
}

// A child is killed, even one that has joined another group.
func TestChildOfAnotherGroupIsKilled(t *testing.T) {
	lines := make(chan string, 10)
	p, err := shared().Start(Command{
		Args: []string{"sh", "-c", leaving(t)}, Env: os.Environ(),
		Output: sink(func(line []byte) { lines <- strings.TrimSpace(string(line)) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := <-lines
	p.Signal(syscall.SIGKILL)
	gone(t, []string{pid})
	if e := p.Wait(); e.Signal != syscall.SIGKILL {
		t.Errorf("%+v", e)
	}
}

// It does not outlive its program either.
func TestChildOfAnotherGroupDiesWithItsProgram(t *testing.T) {
	p := startProgram(t, leaving(t))
	_ = p.Process.Kill()
	gone(t, append(p.pids, strconv.Itoa(p.guard)))
}

// When it ends in order nothing is left either, not even what does not listen to
// signals, nor the guard, before it says so.
func TestCloseLeavesNothing(t *testing.T) {
	p := startProgram(t, "trap '' TERM HUP INT;"+family()+"while :; do sleep 1; done")
	p.stdin.Close()
	for p.lines.Scan() && p.lines.Text() != "closed" {
	}
	for _, pid := range append(p.pids, strconv.Itoa(p.guard)) {
		if alive(t, pid) {
			t.Errorf("process %s is left: %s", pid, commandLine(pid))
		}
	}
}

// Signals to the program by name or from its terminal do not end its guard.
func TestGuardHasAnotherName(t *testing.T) {
	p := startProgram(t, family()+"wait")
	name := func(pid int) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if name(p.guard) == name(p.Process.Pid) {
		t.Errorf("the guard has the name of its program, %s", name(p.guard))
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		_ = syscall.Kill(p.guard, sig)
	}
	_ = p.Process.Kill()
	gone(t, append(p.pids, strconv.Itoa(p.guard)))
}

// gone waits until no process of these numbers is left.
func gone(t *testing.T, pids []string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var left []string
		for _, pid := range pids {
			if alive(t, pid) {
				left = append(left, pid+" "+commandLine(pid))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes left: %q", left)
		}
	}
}

func commandLine(pid string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	return strings.ReplaceAll(string(text), "\x00", " ")
}

// alive reports whether there is such a process, other than one that only waits
// for its parent to notice its end.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	_, ended := parentOf(n)
	return !ended
}
