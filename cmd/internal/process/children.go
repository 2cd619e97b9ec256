//go:build unix

package process

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Options are settings of Children. The zero value is ready to use.
type Options struct {
	Folder string   // of the journal; "": no journal is kept
	Log    string   // its name there
	Hold   *os.File // kept open by the guard for as long as it runs, or nil

	// Report, if it is not nil, is called with a message when the guard has been
	// killed, when a process cannot be killed, and by New when it may miss processes.
	Report func(text string)
}

// Children starts programs. A program may have only one Children at a time, and must
// not start processes in another way. It is safe for concurrent use by multiple
// goroutines.
type Children struct {
	options Options
	run     mark
	group   cgroup // of all processes of the run, or ""
	self    string // this program
	others  bool   // this process may have children that the run does not know

	forking sync.Mutex // held while a guard is started or children are reaped that are none
	guards  map[int]*guardian

	mu      sync.Mutex
	guard   *guardian // nil: it was killed, and another one could not be started yet
	live    map[int64]*Process
	begun   int64 // number of processes
	closing bool
	failure error // why an end could not be written to the journal
}

// New starts a guard and returns Children. The guard is another process of this
// program, whose main must begin with a call of Guard.
func New(o Options) (*Children, error) {
	self := "/proc/self/exe" // works even if the file was replaced
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	c := &Children{
		options: o, run: newRun(), self: self, others: hasOthers(),
		guards: make(map[int]*guardian), live: make(map[int64]*Process),
	}
	c.group = cgroupFor(c.run)
	if !canMark() {
		c.report("the limit of file locks (ulimit -x) leaves no room for marks: when a command ends, the daemons of all end")
	}
	if !ownProc() {
		c.report("/proc shows another PID namespace: processes that leave their group are not found")
	}
	if c.others {
		go c.reapOthers()
	}
	var err error
	if c.guard, err = c.startGuard(); err != nil {
		return nil, err
	}
	reserveThreads(threadsNeeded(), 0)
	return c, nil
}

// Run returns the name of this run. If program and guard are killed, KillRun kills the
// remaining processes by this name.
func (c *Children) Run() string { return c.run.String() }

// Err returns the first error of writing the end of a process to the journal, nil if
// there was none.
func (c *Children) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Forget lets the journal drop the records of an owner.
func (c *Children) Forget(owner string) {
	c.mu.Lock()
	g := c.guard
	c.mu.Unlock()
	if g != nil && c.options.Folder != "" {
		_ = g.conn.send(request{Kind: forgetRequest, Record: RecordKey{Owner: owner}}, nil, true)
	}
}

// Start starts the command, without input. The error is a *StartError if this command
// cannot run. Any other error means that this machine cannot start it now.
func (c *Children) Start(cmd Command) (*Process, error) {
	for {
		p, err := c.request(cmd)
		if err != nil {
			return nil, err
		}
		<-p.started
		if p.failure == errGuardLost {
			continue // with another one
		}
		if p.failure != nil {
			return nil, p.failure
		}
		return p, nil
	}
}

var errGuardLost = errors.New("process: the guard was killed")

// request asks the guard to start a command. It sends without the lock: handle needs
// the lock, and the guard reads no message while nobody handles its own.
func (c *Children) request(cmd Command) (*Process, error) {
	p, err := c.register(cmd)
	if err != nil {
		return nil, err
	}
	r := request{Kind: startRequest, ID: p.id, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Record: cmd.Record}
	_ = p.guard.conn.send(r, nil, false) // if the guard is gone, listen ends the process
	go p.guard.insist(p.started)
	return p, nil
}

func (c *Children) register(cmd Command) (*Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, errors.New("process: Start: Children is closed")
	}
	if c.guard == nil {
		var err error
		if c.guard, err = c.startGuard(); err != nil {
			return nil, err
		}
	}
	c.begun++
	p := &Process{
		id: c.begun, guard: c.guard, output: newOutput(cmd.Output),
		started: make(chan struct{}), ended: make(chan struct{}), done: make(chan struct{}),
	}
	c.live[p.id] = p
	return p, nil
}

// handle handles a message of the guard.
func (c *Children) handle(g *guardian, r *reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.live[r.ID]
	if p == nil {
		return
	}
	if r.Unrecorded != "" && c.failure == nil {
		c.failure = errors.New(r.Unrecorded)
	}
	switch r.Kind {
	case startedReply:
		p.Began = time.Now()
		file := g.conn.takeFile()
		if file == nil { // a process without output must not run
			p.failure = syscall.EMFILE
			go p.Signal(syscall.SIGKILL)
		}
		p.output.open(file)
		close(p.started)
	case failedReply:
		delete(c.live, p.id)
		p.failure = errors.New(r.Text)
		if r.Code != 0 {
			p.failure = &StartError{Code: r.Code, text: r.Text}
		}
		close(p.started)
	case endedReply:
		delete(c.live, p.id)
		c.end(p, exitOf(r.Status, time.Now()))
	}
}

// end publishes how a process ended. The caller holds the lock.
func (c *Children) end(p *Process, e Exit) {
	p.exit = e
	close(p.ended)
	go func() {
		p.output.finish()
		if c.options.Folder != "" {
			_ = p.guard.conn.send(request{Kind: releaseRequest, ID: p.id}, nil, true)
		}
		close(p.done)
	}()
}

// Close kills all processes of this run and ends the guard. It leaves no process but
// those that cannot be killed, which it reports. Nothing can be started afterwards.
func (c *Children) Close() {
	c.mu.Lock()
	c.closing = true
	g := c.guard
	c.mu.Unlock()
	if g != nil {
		g.dismiss()
		go g.insist(g.gone)
		<-g.gone
	}
}

// hasOthers reports whether this process has children that it did not start, or gets
// some: as process 1, all that lose their parent.
func hasOthers() bool {
	list := new(childList)
	defer list.close()
	return os.Getpid() == 1 || len(list.read()) > 0
}

// reapOthers reaps children that are no guards.
func (c *Children) reapOthers() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	for ; ; <-signals {
		for g := c.reapUpToGuard(); g != nil; g = c.reapUpToGuard() {
			<-g.exited
		}
	}
}

// reapUpToGuard reaps children that have ended. It stops at a guard, which attend reaps,
// and returns that.
func (c *Children) reapUpToGuard() *guardian {
	c.forking.Lock()
	defer c.forking.Unlock()
	for {
		pid, status, err := waitAny(syscall.WNOHANG)
		if err != nil || pid == 0 || c.guards[pid] != nil {
			return c.guards[pid]
		}
		if status == nil {
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}
}
