package main

import (
	"io"
	"os"
	"syscall"
)

// guardName is the program name under which this program guards another run of
// itself: when that is gone, however it went, no process of it is left.
const guardName = "runjob-guard"

// guardian is the process that guards this one. A nil guardian does nothing.
type guardian struct {
	process *process
	alive   *os.File // its standard input ends when this process does
}

// startGuard starts the guard of a run.
func startGuard(t *processes, run string) (*guardian, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	stdin, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	g := &guardian{process: new(process), alive: alive}
	if err := t.launch(g.process, t.self, []string{guardName, run}, &syscall.ProcAttr{
		Files: []uintptr{stdin.Fd(), null.Fd(), null.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true}, // what ends this process must not end its guard
	}); err != nil {
		alive.Close()
		return nil, err
	}
	return g, nil
}

// dismiss ends the guard: nothing is left to kill.
func (g *guardian) dismiss() {
	if g == nil {
		return
	}
	g.process.kill()
	<-g.process.done
	g.alive.Close()
}

// guard waits for the end of standard input, then kills what is left of the run.
func guard(args []string) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, run := range args {
		killMarked(run, func(string) bool { return true })
	}
}
