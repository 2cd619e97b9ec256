//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// guardName is the program name of a guard.
const guardName = "process-guard"

// The files of a guard, besides the first three.
const (
	guardSocket = 3 // to its program
	guardHold   = 4 // Options.Hold, if there is one
)

// guardSettings are a guard's only argument, as JSON.
type guardSettings struct {
	Run    mark
	Folder string // of the journal; "": there is none
	Log    string // its name there
	Group  cgroup // to be joined, or ""
}

// Guard runs the guard and exits if this process was started as one. Otherwise it
// returns at once.
func Guard() {
	if len(os.Args) != 2 || os.Args[0] != guardName {
		return
	}
	// A signal for the program, by its name or from its terminal, must not end its
	// guard. The signals are caught, not ignored: children would inherit that.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	_ = os.WriteFile("/proc/self/comm", []byte(guardName), 0)
	if err := runGuard(os.Args[1]); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// runGuard guards a program until it is gone, and returns when no process is left.
func runGuard(settings string) error {
	var s guardSettings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return err
	}
	syscall.CloseOnExec(guardSocket)
	syscall.CloseOnExec(guardHold)
	conn, err := newConn(guardSocket)
	if err != nil {
		return err
	}
	reserveThreads(threadsNeeded(), 2*threadsNeeded()) // if its program cannot have enough, the guard crashes first, unseen
	runtime.LockOSThread()                             // children die with the thread that starts them
	g := newGuard(s.Run, conn)
	err = g.prepare(s)
	ready := reply{Kind: readyReply}
	if err != nil {
		ready.Text = err.Error()
	}
	if failed := conn.send(ready, nil, false); err != nil || failed != nil {
		return errors.Join(err, failed, g.group.leave(), g.group.remove())
	}
	go g.reap()
	g.serve()
	g.end()
	return nil
}

func newGuard(run mark, conn *conn) *guard {
	g := &guard{
		run: run, conn: conn, look: new(childList).read,
		live: make(map[int]*child), known: make(map[int64]*child), orphans: make(map[int]*orphan),
		grown: make(chan struct{}, 1), empty: make(chan struct{}),
	}
	g.started = sync.NewCond(&g.mu)
	g.finish = sync.OnceFunc(func() { close(g.empty) })
	return g
}

func (g *guard) prepare(s guardSettings) (err error) {
	if err = adoptOrphans(); err != nil {
		return err
	}
	if g.group = s.Group; g.group.join() != nil {
		g.group = "" // it does without
	}
	if g.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if s.Folder != "" {
		g.journal, err = openJournal(s.Folder, s.Log)
	}
	return err
}

// guard is the parent of all processes that its program starts. Descendants that lose
// their parent become its children too. So a run has no process left when its guard
// has no child. The guard signals only children that it has not reaped, whose pid no
// other process can have.
type guard struct {
	run   mark
	conn  *conn
	null  *os.File
	group cgroup       // of the guard and all its children; "": there is none
	look  func() []int // returns the children

	mu      sync.Mutex // holds all that follows
	journal *journal
	live    map[int]*child   // started and not reaped, by process
	known   map[int64]*child // these, and others whose end or output is still needed
	leaving []*child         // reaped, but processes that they left may be there
	orphans map[int]*orphan  // children that the guard did not start
	dying   int              // orphans that were killed and are expected to end
	overdue bool             // a call of checkOverdue is due
	ending  bool             // the program is gone
	giveUp  time.Time        // when an ending guard stops waiting for processes that it does not see

	starting mark       // of the child that is being started, or 0
	started  *sync.Cond // starting is 0 again
	again    bool       // a sweep has skipped what may be this child

	grown  chan struct{} // holds a token when there may be a child again
	empty  chan struct{} // closed when there is none to wait for and none will be
	finish func()        // closes empty
}

// child is a process that was started for the program.
type child struct {
	id       int64
	mark     mark
	pid      int
	record   Record
	status   syscall.WaitStatus
	output   *os.File  // to read from; nil if it is not needed
	due      time.Time // when it is given up, after SIGKILL; zero: it may run
	cut      bool      // it still ran when the program was gone
	recorded bool      // its end is in the journal
	lost     string    // why it is not in the journal
}

// serve handles the requests of the program until that is gone.
func (g *guard) serve() {
	for {
		var r request
		if g.conn.receive(&r) != nil {
			return
		}
		if r.Kind == startRequest {
			g.start(&r)
			continue
		}
		g.mu.Lock()
		switch c := g.known[r.ID]; {
		case r.Kind == forgetRequest:
			g.journal.forget(r.Record.Owner)
		case c == nil:
		case r.Kind == signalRequest:
			g.signal(c, r.Signal)
		case r.Kind == releaseRequest:
			c.output.Close()
			c.output = nil
			g.drop(c)
		}
		g.mu.Unlock()
	}
}

// signal sends a signal to a child; SIGKILL goes to all of its group. The caller
// holds the lock.
func (g *guard) signal(c *child, sig syscall.Signal) {
	if g.live[c.pid] != c {
		return
	}
	c.record.Stopped = true
	if sig == syscall.SIGKILL {
		g.kill(c)
		return
	}
	_ = syscall.Kill(c.pid, sig)
}
