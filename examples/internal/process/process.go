// Package process runs programs as children of this one, each in a process group
// of its own, and leaves none of them behind: whatever a child leaves in its group
// ends with it, whatever has moved out of the group is found by its environment
// and ends a moment later, and everything ends with this program, even if that is
// killed, unless its children are meant to outlive it.
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

	// Shim, if it is not nil, is given the path of the program, and returns the
	// arguments with which this program is started in its place, to start it.
	Shim func(path string) []string
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
	Began    time.Time // when it was started
	children *Children
	pid      int
	tag      string
	done     chan struct{}
	exit     Exit
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

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

// Children starts programs and reaps every child of this one, those that it
// inherits from its children too. There must be only one at a time, and nothing
// else may wait for children. It is safe for concurrent use by multiple goroutines.
type Children struct {
	run   string // names this run in the environment of its processes
	self  string // this program
	null  *os.File
	guard *guardian // nil if the children may outlive this program

	mu       sync.Mutex
	live     map[int]*Process
	starting int                        // processes that may be there but not in live yet
	early    map[int]syscall.WaitStatus // children that ended meanwhile, one of which may be such a process
	started  *sync.Cond                 // live has grown
	begun    int                        // processes, all in all
	strays   map[string]bool
}

// New returns Children, watched by a guard: another process of this program, whose
// main must begin with Guard.
func New() (*Children, error) {
	c, err := newChildren()
	if err != nil {
		return nil, err
	}
	if c.guard, err = startGuard(c.self, c.run); err != nil {
		return nil, err
	}
	go c.reap()
	return c, nil
}

// NewOutliving returns Children that go on if this program is killed.
func NewOutliving() (*Children, error) {
	c, err := newChildren()
	if err != nil {
		return nil, err
	}
	go c.reap()
	return c, nil
}

func newChildren() (*Children, error) {
	self := "/proc/self/exe" // there even when the file has been replaced
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	c := &Children{run: rand.Text(), self: self, null: null, live: make(map[int]*Process), early: make(map[int]syscall.WaitStatus)}
	c.started = sync.NewCond(&c.mu)
	adoptOrphans()
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
	args := cmd.Args
	if cmd.Shim != nil {
		path, args = c.self, cmd.Shim(path)
	}
	c.mu.Lock()
	c.begun++
	c.starting++
	p := &Process{Began: time.Now(), children: c, tag: strconv.Itoa(c.begun), done: make(chan struct{})}
	c.mu.Unlock() // others are reaped meanwhile
	p.pid, err = Fork(path, args, &syscall.ProcAttr{
		Dir:   cmd.Dir,
		Env:   append(cmd.Env[:len(cmd.Env):len(cmd.Env)], marker(c.run)+"="+p.tag),
		Files: []uintptr{c.null.Fd(), cmd.Output.Fd(), cmd.Output.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting--
	if err == nil {
		c.guard.tell(p.pid)
		if status, ended := c.early[p.pid]; ended {
			c.ended(p, status, time.Now())
		} else {
			c.live[p.pid] = p
			c.started.Signal()
		}
	}
	if c.starting == 0 {
		clear(c.early)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// reap waits for children, for ever.
func (c *Children) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		now := time.Now()
		c.mu.Lock()
		c.guard.reaped(pid)
		switch p := c.live[pid]; {
		case p != nil:
			delete(c.live, pid)
			c.ended(p, status, now)
		case err == nil && c.starting > 0:
			c.early[pid] = status
		}
		for errors.Is(err, syscall.ECHILD) && len(c.live) == 0 {
			c.started.Wait()
		}
		c.mu.Unlock()
	}
}

// ended tells how a process ended. What is left of its group is killed, as in a
// container whose first process ends. The caller holds the lock.
func (c *Children) ended(p *Process, status syscall.WaitStatus, at time.Time) {
	// The process's number is free now, but the kernel gives out all others before
	// it comes back to this one.
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	c.guard.tell(-p.pid)
	c.sweepLater(p.tag)
	p.exit = ExitOf(status, at)
	close(p.done)
}

// ExitOf is how a process ended that has been waited for.
func ExitOf(s syscall.WaitStatus, at time.Time) Exit {
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
