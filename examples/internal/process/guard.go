package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// guardName is the program name under which a program guards another run of
// itself: when that is gone, however it went, no process of it is left.
const guardName = "process-guard"

// Guard is the whole program if it was started to guard another run; else it
// returns at once.
func Guard() {
	if len(os.Args) != 2 || os.Args[0] != guardName {
		return
	}
	guard(os.Args[1])
	os.Exit(0)
}

// guardian is the process that guards this one. Its standard input says which
// process groups there are, and ends when this process does. A nil guardian does
// nothing.
type guardian struct {
	pid   int
	input *os.File
	gone  chan struct{} // closed when it has been reaped
}

// startGuard returns when the guard is ready.
func startGuard(self, run string) (*guardian, error) {
	stdin, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	ready, stdout, err := os.Pipe()
	if err != nil {
		input.Close()
		return nil, err
	}
	defer ready.Close()
	pid, err := syscall.ForkExec(self, []string{guardName, run}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{stdin.Fd(), stdout.Fd(), stdout.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true}, // what ends this process must not end its guard
	})
	stdout.Close()
	if err == nil {
		if _, err = ready.Read(make([]byte, 1)); err != nil {
			err = fmt.Errorf("the guard of this program has not begun: %w", err)
		}
	}
	if err != nil {
		input.Close()
		return nil, err
	}
	return &guardian{pid, input, make(chan struct{})}, nil
}

// tell names a group that has begun, or one that has ended by its negative number.
func (g *guardian) tell(group int) {
	if g != nil {
		fmt.Fprintln(g.input, group)
	}
}

// reaped is told of every child that has been waited for.
func (g *guardian) reaped(pid int) {
	if g != nil && pid == g.pid {
		close(g.gone)
	}
}

// dismiss ends the guard: nothing is left to kill.
func (g *guardian) dismiss() {
	if g == nil {
		return
	}
	_ = syscall.Kill(g.pid, syscall.SIGKILL)
	<-g.gone
	g.input.Close()
}

// guard waits for the end of standard input, then kills what is left of the run.
func guard(run string) {
	// Who kills this program by its name must not kill its guard.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	_ = os.WriteFile("/proc/self/comm", []byte(guardName), 0)
	fmt.Println("ready")
	for group := range groupsLeft(os.Stdin) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	for range 10 {
		KillRun(run)
		time.Sleep(lastChild / 10)
	}
}

// groupsLeft reads what the guarded program tells, to its end, and returns the
// groups that have not ended.
func groupsLeft(told io.Reader) map[int]bool {
	groups := make(map[int]bool)
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		switch group, _ := strconv.Atoi(lines.Text()); {
		case group > 0:
			groups[group] = true
		case group < 0:
			delete(groups, -group)
		}
	}
	return groups
}

// lastChild is how long a process may take to show its environment that was being
// started when the guarded program ended: long on a machine that is busy.
const lastChild = time.Second
