// Package process runs programs as children of this one, each in a process group
// of its own, and leaves none of them behind: whatever a child leaves in its group
// ends with it, whatever has moved out of the group is found by its environment
// and ends a moment later, and everything ends with this program, even if that is
// killed.
package process

import (
	"crypto/rand"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Command is what to start.
type Command struct {
	Args   []string // the program and its arguments; at least one
	Env    []string // its whole environment, NAME=VALUE
	Dir    string   // "": this program's
	Output *os.File // where its standard output and error go
}

// Exit is how a process ended.
type Exit struct {
	Code   int            // its exit code, 128+n if signal n killed it
	Signal syscall.Signal // the signal that killed it, or 0
	At     time.Time
}

// Process is a running program. It is safe for concurrent use by multiple
// goroutines.
type Process struct {
	children *Children
	pid      int
	tag      string
	done     chan struct{}
	exit     Exit
}

// Wait returns how the process ended, once it has.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the process and all of its group. It does nothing once the
// process has ended.
func (p *Process) Signal(sig syscall.Signal) {
	p.children.mu.Lock()
	defer p.children.mu.Unlock()
	if p.children.live[p.pid] == p {
		_ = syscall.Kill(-p.pid, sig) // the group is there as long as its leader is not reaped
	}
}

// Children starts programs and reaps every child of this one. There must be only
// one at a time, and nothing else may wait for children. It is safe for concurrent
// use by multiple goroutines.
type Children struct {
	run   string // names this run in the environment of its processes
	null  *os.File
	guard *guardian

	mu      sync.Mutex
	live    map[int]*Process
	started *sync.Cond // live has grown
	begun   int        // processes, all in all
	strays  map[string]bool
}

// New returns Children, watched by a guard: another process of this program, whose
// main must begin with Guard.
func New() (*Children, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	c := &Children{run: rand.Text(), null: null, live: make(map[int]*Process)}
	c.started = sync.NewCond(&c.mu)
	if c.guard, err = startGuard(c.run); err != nil {
		null.Close()
		return nil, err
	}
	go c.reap()
	return c, nil
}

// Run is the name of this run. What another run has left behind can be killed by
// that run's name, with KillRun.
func (c *Children) Run() string { return c.run }

// Start runs the command, without input. A StartError says that this command
// cannot be run; any other error that this machine cannot start it now.
func (c *Children) Start(cmd Command) (*Process, error) {
	if cmd.Dir != "" {
		if info, err := os.Stat(cmd.Dir); err != nil || !info.IsDir() {
			return nil, &StartError{Code: cannotRun, text: "working directory " + cmd.Dir + ": " + reason(err, syscall.ENOTDIR)}
		}
	}
	path, err := lookPath(cmd.Args[0], cmd.Dir, cmd.Env)
	if err != nil {
		return nil, err
	}
	// The lock spans the fork, so that the reaper finds in the table whatever has
	// been started.
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	p := &Process{children: c, tag: strconv.Itoa(c.begun), done: make(chan struct{})}
	p.pid, err = syscall.ForkExec(path, cmd.Args, &syscall.ProcAttr{
		Dir:   cmd.Dir,
		Env:   append(cmd.Env[:len(cmd.Env):len(cmd.Env)], marker(c.run)+"="+p.tag),
		Files: []uintptr{c.null.Fd(), cmd.Output.Fd(), cmd.Output.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, classify(path, err)
	}
	c.guard.tell(p.pid)
	c.live[p.pid] = p
	c.started.Signal()
	return p, nil
}

// reap waits for children, for ever. What is left of a process's group when the
// process has ended is killed, as in a container whose first process ends.
func (c *Children) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		now := time.Now()
		c.mu.Lock()
		if errors.Is(err, syscall.ECHILD) {
			for len(c.live) == 0 {
				c.started.Wait()
			}
		}
		if pid == c.guard.pid {
			close(c.guard.gone)
		}
		p := c.live[pid]
		if p != nil {
			delete(c.live, pid)
			// The number is free now, but the kernel gives out all others before
			// it comes back to this one.
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			c.guard.tell(-pid)
			c.sweepLater(p.tag)
		}
		c.mu.Unlock()
		if p != nil {
			p.exit = exitOf(status, now)
			close(p.done)
		}
	}
}

func exitOf(s syscall.WaitStatus, at time.Time) Exit {
	if s.Signaled() {
		return Exit{Code: 128 + int(s.Signal()), Signal: s.Signal(), At: at}
	}
	return Exit{Code: s.ExitStatus(), At: at}
}

// Close kills all processes of this run, those that have moved out of their group
// included, and dismisses the guard. Nothing may be started meanwhile or
// afterwards.
func (c *Children) Close() {
	c.mu.Lock()
	for pid := range c.live {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	c.mu.Unlock()
	KillRun(c.run)
	c.guard.dismiss()
}
