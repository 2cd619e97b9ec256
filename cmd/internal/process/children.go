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

// Options configure Children. The zero value is ready to use.
type Options struct {
	Folder string   // of the journal; "" means no journal
	Log    string   // name of the journal in Folder
	Hold   *os.File // kept open by the guard while it runs, or nil

	// Report, if not nil, receives messages about a killed guard, about processes that
	// cannot be killed and, from New, about those that may be missed.
	Report func(text string)
}

// Children starts programs. A program must start all its processes through one Children
// at a time. Children is safe for concurrent use.
type Children struct {
	options Options
	run     mark
	group   cgroup // of all processes of the run, or ""
	self    string // this program
	others  bool   // this process may have children from elsewhere

	forking sync.Mutex // held while a guard starts or other children are reaped
	guards  map[int]*guardian

	mu      sync.Mutex
	guard   *guardian // nil if it was killed and no other one started yet
	live    map[int64]*Process
	begun   int64 // number of processes begun
	closing bool
	failure error // first failure to write an end to the journal
}

// New starts a guard, another process of this program, whose main must begin by calling
// Guard.
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
		c.report("the limit of file locks (ulimit -x) leaves no room for marks: the end of a command ends the daemons of all commands")
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

// Run returns the name of this run for KillRun.
func (c *Children) Run() string { return c.run.String() }

// Err returns the first error of writing an exit to the journal, or nil.
func (c *Children) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Forget allows the journal to drop an owner's records.
func (c *Children) Forget(owner string) {
	c.mu.Lock()
	g := c.guard
	c.mu.Unlock()
	if g != nil && c.options.Folder != "" {
		_ = g.conn.send(request{Kind: forgetRequest, Record: RecordKey{Owner: owner}}, nil, true)
	}
}

// Start starts cmd with empty input. It returns a *StartError if cmd can never run.
// Other errors mean that this machine cannot start it now.
func (c *Children) Start(cmd Command) (*Process, error) {
	for {
		p, err := c.request(cmd)
		if err != nil {
			return nil, err
		}
		<-p.started
		if p.failure == errGuardLost {
			continue // with a new guard
		}
		if p.failure != nil {
			return nil, p.failure
		}
		return p, nil
	}
}

var errGuardLost = errors.New("process: the guard was killed")

// request asks the guard to start a command. It sends without holding the lock, because
// handle needs the lock and the guard stops reading while its replies are not handled.
func (c *Children) request(cmd Command) (*Process, error) {
	p, err := c.register(cmd)
	if err != nil {
		return nil, err
	}
	r := request{Kind: startRequest, ID: p.id, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Record: cmd.Record}
	_ = p.guard.conn.send(r, nil, false) // if the guard has gone, listen ends the process
	go p.guard.awaitAnswer(p.started)
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

// handle handles a reply of the guard.
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
		if file == nil { // do not run a process without output
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

// end publishes the exit of a process. The caller holds the lock.
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

// Close kills all processes of this run and ends the guard. It reports processes that
// cannot be killed. Start fails afterwards.
func (c *Children) Close() {
	c.mu.Lock()
	c.closing = true
	g := c.guard
	c.mu.Unlock()
	if g != nil {
		g.dismiss()
		go g.awaitAnswer(g.gone)
		<-g.gone
	}
}

// hasOthers reports whether this process has children that it did not start. Process 1
// always may, since it adopts orphans.
func hasOthers() bool {
	list := new(childList)
	defer list.close()
	return os.Getpid() == 1 || len(list.read()) > 0
}

// reapOthers reaps children other than guards.
func (c *Children) reapOthers() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	for ; ; <-signals {
		for g := c.reapUpToGuard(); g != nil; g = c.reapUpToGuard() {
			<-g.exited
		}
	}
}

// reapUpToGuard reaps ended children. If it meets a guard, which attend reaps, it
// returns that guard.
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
