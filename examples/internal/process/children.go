package process

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// Options are settings of Children. The zero value is ready to use.
type Options struct {
	Folder string   // of the journal; "": no journal is kept
	Log    string   // its name there
	Hold   *os.File // kept open by the guard for as long as it runs, or nil

	// Report, if it is not nil, is told that the guard has been killed, and what came
	// of it.
	Report func(text string)
}

// Children starts programs. There must be only one at a time, and this program
// must not start processes otherwise. It is safe for concurrent use by multiple
// goroutines.
type Children struct {
	options Options
	run     mark
	self    string // this program

	mu      sync.Mutex
	guard   *guardian // nil: none could be started in place of one that was killed
	live    map[int64]*Process
	begun   int64 // processes, all in all
	closing bool
	failure error // why an end could not be written to the journal
}

// New returns Children with a guard: another process of this program, whose main
// must begin with Guard.
func New(o Options) (*Children, error) {
	self := "/proc/self/exe" // there even when the file has been replaced
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	c := &Children{options: o, run: newRun(), self: self, live: make(map[int64]*Process)}
	var err error
	if c.guard, err = c.startGuard(); err != nil {
		return nil, err
	}
	return c, nil
}

// Run is the name of this run. What is left of a run whose guard was killed as well
// can be killed by its name, with KillRun.
func (c *Children) Run() string { return c.run.String() }

// Err returns why the end of a process could not be written to the journal, nil if
// all have been.
func (c *Children) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Forget says that the journal need not keep the records of an owner.
func (c *Children) Forget(owner string) {
	c.mu.Lock()
	g := c.guard
	c.mu.Unlock()
	if g != nil && c.options.Folder != "" {
		_ = g.conn.send(request{Kind: forgetRequest, Record: RecordKey{Owner: owner}}, nil, true)
	}
}

// Start runs the command, without input. A StartError says that this command
// cannot be run; any other error that this machine cannot start it now.
func (c *Children) Start(cmd Command) (*Process, error) {
	for {
		p, err := c.request(cmd)
		if err != nil {
			return nil, err
		}
		<-p.started
		if p.failure == errGuardLost {
			continue // another one does it
		}
		if p.failure != nil {
			return nil, p.failure
		}
		return p, nil
	}
}

var errGuardLost = errors.New("process: the guard was killed")

// request asks the guard to start a command. Messages are sent without the lock:
// whoever waits for the guard to read must not keep it from being read.
func (c *Children) request(cmd Command) (*Process, error) {
	p, err := c.register(cmd)
	if err != nil {
		return nil, err
	}
	r := request{Kind: startRequest, ID: p.id, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Record: cmd.Record}
	_ = p.guard.conn.send(r, nil, false) // listen ends what a guard cannot be told any more
	return p, nil
}

func (c *Children) register(cmd Command) (*Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, errors.New("process: Start: the run is over")
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

// handle takes a message of the guard.
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
		if file == nil { // and without its output nobody can know what it does
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

// end tells how a process ended. The caller holds the lock.
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

// Close kills all processes of this run and ends the guard; then nothing is left.
// Nothing can be started afterwards.
func (c *Children) Close() {
	c.mu.Lock()
	c.closing = true
	g := c.guard
	c.mu.Unlock()
	if g != nil {
		g.dismiss()
		<-g.gone
	}
}
