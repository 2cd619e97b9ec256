// Package process runs commands on this machine.
//
//   - Each command has a process group of its own. It is stopped with a signal and, after
//     its grace, SIGKILL, both to every process of the group. When its first process ends,
//     the rest of the group is killed, as in a container.
//   - On Linux a stop also reaches the descendants that have left the group. Where this user
//     can make a control group (version 2), each command has one, and its end is the end of
//     all processes in it. Without one, a process that left the group and lost its parent is
//     killed when no command runs any more, since nobody can tell whose it was.
//   - If this program is killed, the first process of each command dies with it on Linux,
//     unless that has gained privileges, as by sudo. Other processes may stay. On other systems
//     all of them may.
//
// A program has one Runner at a time, and starts no process by other means, since the Runner
// waits for every child.
package process

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Command is a program to start.
type Command struct {
	Args []string // program and arguments; at least one
	Env  []string // complete environment, NAME=VALUE; nil means this program's
	Dir  string   // "" means this program's

	Stdin          *os.File // nil means no input
	Stdout, Stderr *os.File // nil means Output
	// Output receives the standard output and standard error, line by line, in
	// one goroutine. While it does not return, the command waits as soon as a pipe is full. Nil
	// drops the output.
	Output func(Line)
	// Colours keeps the escape sequences for colours in Output.
	Colours bool

	// SameGroup leaves the command in the process group of this program, so that the keys of
	// a terminal reach it. Signals then go to its first process, and to descendants on Linux.
	SameGroup bool
	// Leave spares the processes that the command leaves behind when it ends by itself.
	Leave bool
}

// Exit is the end of a command.
type Exit struct {
	Code   int            // exit code, or 128+n after signal n
	Signal syscall.Signal // signal that killed the first process, or 0
	Began  time.Time
	At     time.Time // when the first process was seen to have ended
	Left   bool      // some of its processes did not end within two seconds of SIGKILL
}

// StartError is the error of a command that cannot be started. Trying again cannot help. It
// wraps the system's error about the program, if there is one, but none about the working
// directory.
type StartError struct {
	Code int // a shell's exit code: 127 for a missing program, else 126
	text string
	err  error
}

func (e *StartError) Error() string { return e.text }

func (e *StartError) Unwrap() error { return e.err }

// programError returns the error of a program that exists, but cannot be started.
func programError(path string, err error) *StartError {
	return &StartError{Code: CannotStart, text: path + ": " + reason(err, nil), err: err}
}

// Exit codes of a shell for a command that cannot be started.
const (
	CannotStart = 126
	NotFound    = 127
)

// Runner starts commands and sees to their end. Create one with New; the zero value is not
// usable. A Runner is safe for concurrent use by multiple goroutines.
type Runner struct {
	forks  chan func()    // for the thread that starts processes
	wake   chan os.Signal // SIGCHLD, or something else to look at
	spared map[int]bool   // children from before New, which are nobody's business
	cgroup cgroup         // in which those of commands are made; "" for none

	mu     sync.Mutex
	live   map[int]*Process // not ended, by the pid of the first process
	ending []*Process       // whose first process has ended
	starts int
	closed bool

	killTimeout time.Duration
}

// New returns a Runner. On Linux, this program becomes the parent of orphaned descendants.
func New() (*Runner, error) {
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	r := &Runner{
		forks:  make(chan func()),
		wake:   make(chan os.Signal, 1),
		spared: make(map[int]bool),
		cgroup: ownCgroup(),
		live:   make(map[int]*Process),

		killTimeout: killTimeout,
	}
	for _, child := range descendants(os.Getpid(), nil) {
		r.spared[child.Pid] = true
	}
	notifyChildren(r.wake)
	// The parent-death signal is sent when the thread ends that started the process, so this
	// thread must not end before the program does.
	go func() {
		runtime.LockOSThread()
		for f := range r.forks {
			f()
		}
	}()
	go r.reap()
	return r, nil
}

// Start starts a command. It returns a *StartError if the command cannot run, and another
// error if this machine cannot start any at the moment.
func (r *Runner) Start(c Command) (*Process, error) {
	if len(c.Args) == 0 {
		return nil, &StartError{Code: NotFound, text: "no command"}
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if err := checkDir(c.Dir); err != nil {
		return nil, err
	}
	path, err := lookPath(c.Args[0], c.Dir, c.Env)
	if err != nil {
		return nil, err
	}
	p := &Process{runner: r, command: c, done: make(chan struct{})}
	files, err := p.open()
	if err != nil {
		return nil, err
	}
	defer files.close()

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		p.output.close()
		return nil, errors.New("process: the Runner is closed")
	}
	if !c.Leave {
		r.starts++
		p.cgroup = r.cgroup.make(r.starts)
	}
	forked := make(chan struct{})
	r.forks <- func() {
		p.pid, err = fork(path, p, files.list())
		close(forked)
	}
	<-forked
	p.exit.Began = time.Now()
	if err != nil {
		p.cgroup.remove()
		p.output.close()
		return nil, startError(path, err)
	}
	r.live[p.pid] = p
	p.output.start(c.Output, c.Colours)
	r.look() // it may have ended already
	return p, nil
}

// Close kills all commands and their remaining processes, and waits for their end. Start fails
// afterwards.
func (r *Runner) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	all := slices.Clone(r.ending)
	for _, p := range r.live {
		all = append(all, p)
		p.kill()
	}
	r.mu.Unlock()
	for _, p := range all {
		<-p.done
	}
	deadline := time.Now().Add(r.killTimeout)
	for r.killOrphans() && time.Now().Before(deadline) {
		time.Sleep(killPause)
	}
	signal.Stop(r.wake)
	close(r.wake)
	close(r.forks)
}

// How long the end of a command waits for the end of processes that were killed, and how
// often it looks. Those that are not children of this program give no sign of their end.
const (
	killTimeout = 2 * time.Second
	killPause   = 20 * time.Millisecond
)

// reap waits for children until Close.
func (r *Runner) reap() {
	var pause <-chan time.Time
	for {
		select {
		case _, open := <-r.wake:
			if !open {
				return
			}
		case <-pause:
		}
		r.mu.Lock()
		r.collect()
		r.finish()
		pause = nil
		if len(r.ending) > 0 {
			pause = time.After(killPause)
		}
		r.mu.Unlock()
	}
}

// collect takes the exit status of all ended children. The caller holds the lock.
func (r *Runner) collect() {
	for {
		pid, status, ok := waitAny()
		if !ok {
			return
		}
		p := r.live[pid]
		if p == nil {
			continue // an orphan
		}
		delete(r.live, pid)
		p.exit.At = time.Now()
		p.exit.Code = status.ExitStatus()
		if status.Signaled() {
			p.exit.Signal = status.Signal()
			p.exit.Code = 128 + int(status.Signal())
		}
		if p.timer != nil {
			p.timer.Stop()
		}
		r.ending = append(r.ending, p)
	}
}

// finish ends the commands of which no process is left. The caller holds the lock.
func (r *Runner) finish() {
	r.ending = slices.DeleteFunc(r.ending, func(p *Process) bool {
		if !p.command.Leave || p.stopped {
			left := p.killRest()
			if len(r.live) == 0 {
				left = r.killOrphansLocked() || left
			}
			if left && time.Since(p.exit.At) < r.killTimeout {
				return false
			}
			p.exit.Left = left
		}
		p.cgroup.remove()
		go func() {
			p.output.finish()
			close(p.done)
		}()
		return true
	})
}

// killOrphans kills every descendant of this program, and reports whether there was one. The
// caller must not hold the lock.
func (r *Runner) killOrphans() (found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collect()
	return r.killOrphansLocked()
}

func (r *Runner) killOrphansLocked() (found bool) {
	for _, d := range descendants(os.Getpid(), r.spared) {
		found = true
		_ = d.Signal(os.Kill)
	}
	return found
}

// look makes reap look again.
func (r *Runner) look() {
	select {
	case r.wake <- nil:
	default:
	}
}

// Process is a command that was started. It is safe for concurrent use by multiple
// goroutines.
type Process struct {
	runner  *Runner
	command Command
	pid     int
	cgroup  cgroup
	output  *output
	exit    Exit // complete once done is closed
	done    chan struct{}

	// Under the Runner's lock:
	strays  []*os.Process // descendants when the command was stopped and killed
	stopped bool
	timer   *time.Timer // that kills at killAt; nil before a Stop
	killAt  time.Time
}

// Pid returns the process id of the first process, which is the id of the group too.
func (p *Process) Pid() int { return p.pid }

// Done returns a channel that closes when the command has ended with all its processes, as
// far as they can be found, and its output was read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for Done and returns the exit.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends a signal to the group, unless the command has ended.
func (p *Process) Signal(s syscall.Signal) {
	p.runner.mu.Lock()
	defer p.runner.mu.Unlock()
	if p.runs() {
		p.signalGroup(s)
	}
}

// Stop sends the first signal to every process of the command and, when grace is over,
// SIGKILL. A later Stop can only shorten the grace. Stop reports whether the command was
// still running.
func (p *Process) Stop(first syscall.Signal, grace time.Duration) bool {
	r := p.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if !p.runs() {
		return false
	}
	if grace <= 0 {
		p.kill()
		return true
	}
	killAt := time.Now().Add(grace)
	switch {
	case !p.stopped:
		p.stopped = true
		p.signalAll(first)
		p.signalAll(resume)
	case p.timer == nil || !killAt.Before(p.killAt):
		return true
	default:
		p.timer.Stop()
	}
	p.killAt, p.timer = killAt, time.AfterFunc(grace, p.Kill)
	return true
}

// Kill sends SIGKILL to every process of the command.
func (p *Process) Kill() {
	p.runner.mu.Lock()
	defer p.runner.mu.Unlock()
	p.kill()
}

// The caller of the following holds the Runner's lock.

func (p *Process) runs() bool { return p.runner.live[p.pid] == p }

func (p *Process) kill() {
	if p.runs() {
		p.stopped = true
		p.signalAll(syscall.SIGKILL)
	}
}

// signalAll sends a signal to the group and to descendants outside it.
func (p *Process) signalAll(s syscall.Signal) {
	known := make(map[int]bool)
	for _, d := range p.strays {
		known[d.Pid] = true
	}
	for _, d := range descendants(p.pid, nil) {
		if !known[d.Pid] {
			p.strays = append(p.strays, d)
		}
	}
	for _, d := range p.strays {
		if p.command.SameGroup || !inGroup(d.Pid, p.pid) {
			_ = d.Signal(s)
		}
	}
	p.signalGroup(s)
	if s == syscall.SIGKILL {
		p.cgroup.kill()
	}
}

func (p *Process) signalGroup(s syscall.Signal) {
	if p.command.SameGroup {
		_ = signalProcess(p.pid, s)
	} else {
		_ = signalGroup(p.pid, s)
	}
}

// killRest kills the remaining processes of a command whose first process has ended, and reports
// whether there is anything.
func (p *Process) killRest() (left bool) {
	if !p.command.SameGroup {
		left = signalGroup(p.pid, syscall.SIGKILL)
	}
	for _, d := range p.strays {
		left = d.Signal(os.Kill) == nil || left
	}
	if p.cgroup.occupied() {
		p.cgroup.kill()
		left = true
	}
	return left
}
