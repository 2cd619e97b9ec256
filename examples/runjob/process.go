package main

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// command is what to start: a program with its arguments, as a container's
// command and args say.
type command struct {
	argv   []string
	env    []string
	dir    string
	output *os.File // where its standard output and error go
	record string   // file in which a shim is to write how it ended; "": there is no shim
}

// process is a running program in a process group of its own.
type process struct {
	table  *processes
	pid    int
	record string
	began  time.Time
	done   chan struct{} // closed when it has ended
	exit   exit          // valid then
}

// processes starts programs and reaps every child of this one, those it
// inherits from its children too. There must be only one, and nothing else may
// wait for children. It is safe for concurrent use by multiple goroutines.
type processes struct {
	null *os.File
	self string // this program

	mu       sync.Mutex
	live     map[int]*process
	starting int                        // processes that may be there but not in live yet
	early    map[int]syscall.WaitStatus // children that ended meanwhile, one of which may be such a process
	started  *sync.Cond                 // live has grown
}

func newProcesses() (*processes, error) {
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
	t := &processes{null: null, self: self, live: make(map[int]*process), early: make(map[int]syscall.WaitStatus)}
	t.started = sync.NewCond(&t.mu)
	adoptOrphans()
	go t.reap()
	return t, nil
}

// start runs the command, in a process group of its own and without input. A
// startError says that this command cannot run; any other error that this
// machine cannot start it now.
func (t *processes) start(c command) (*process, error) {
	if c.dir != "" {
		if info, err := os.Stat(c.dir); err != nil || !info.IsDir() {
			return nil, &startError{code: exitCannotRun, text: "working directory " + c.dir + ": " + reason(err, syscall.ENOTDIR)}
		}
	}
	path, err := lookPath(c.argv[0], c.dir, c.env)
	if err != nil {
		return nil, err
	}
	argv := c.argv
	if c.record != "" {
		argv = shimArgs(c.record, path, argv)
		path = t.self
	}
	p := &process{record: c.record}
	if err := t.launch(p, path, argv, &syscall.ProcAttr{
		Dir:   c.dir,
		Env:   c.env,
		Files: []uintptr{t.null.Fd(), c.output.Fd(), c.output.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}); err != nil {
		return nil, classify(path, err)
	}
	return p, nil
}

// launch starts p, and sees to it that its end is noticed.
func (t *processes) launch(p *process, path string, argv []string, attr *syscall.ProcAttr) (err error) {
	t.mu.Lock()
	t.starting++
	t.mu.Unlock()
	p.table, p.began, p.done = t, time.Now(), make(chan struct{})
	p.pid, err = syscall.ForkExec(path, argv, attr) // not under the lock: meanwhile others are reaped
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starting--
	if status, ended := t.early[p.pid]; err == nil && ended {
		p.end(status, time.Now())
	} else if err == nil {
		t.live[p.pid] = p
		t.started.Signal()
	}
	if t.starting == 0 {
		clear(t.early)
	}
	return err
}

// terminate asks the process and all of its group to end.
func (p *process) terminate() { p.signal(syscall.SIGTERM) }

// kill ends the process and all of its group.
func (p *process) kill() {
	if p.record != "" {
		p.signal(killSignal)
	} else {
		p.signal(syscall.SIGKILL)
	}
}

// signal does nothing once the process has ended.
func (p *process) signal(sig syscall.Signal) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	if p.table.live[p.pid] == p {
		_ = syscall.Kill(-p.pid, sig) // the group is there as long as its leader is not reaped
	}
}

// reap waits for children, for ever.
func (t *processes) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		now := time.Now()
		t.mu.Lock()
		p := t.live[pid]
		switch {
		case p != nil:
			delete(t.live, pid)
			p.end(status, now)
		case err == nil && t.starting > 0:
			t.early[pid] = status
		}
		for errors.Is(err, syscall.ECHILD) && len(t.live) == 0 {
			t.started.Wait()
		}
		t.mu.Unlock()
	}
}

// end tells how the process ended. What is left of its group is killed, as in a
// container whose first process ends.
func (p *process) end(status syscall.WaitStatus, at time.Time) {
	// The process's number is free now, but the kernel gives out all others
	// before it comes back to this one.
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	p.exit = exitOf(status)
	p.exit.Began, p.exit.At = p.began, at
	close(p.done)
}

func exitOf(s syscall.WaitStatus) exit {
	if s.Signaled() {
		return exit{Code: 128 + int(s.Signal()), Signal: int(s.Signal())}
	}
	return exit{Code: s.ExitStatus()}
}
