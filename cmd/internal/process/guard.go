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

// File descriptors of a guard after the standard ones.
const (
	guardSocket = 3 // to its program
	guardHold   = 4 // Options.Hold, if set
)

// guardSettings are the only argument of a guard, as JSON.
type guardSettings struct {
	Run    mark
	Folder string // of the journal; "" means no journal
	Log    string // name of the journal in Folder
	Group  cgroup // to join, or ""
}

// Guard runs the guard and exits, if this process was started as one. Otherwise it is a
// no-op.
func Guard() {
	if len(os.Args) != 2 || os.Args[0] != guardName {
		return
	}
	// Signals sent to the program by name or from its terminal must not end its guard.
	// The guard catches them instead of ignoring them, since children would inherit
	// ignored signals.
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

// runGuard guards a program until it ends, and returns when all processes have ended.
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
	reserveThreads(threadsNeeded(), 2*threadsNeeded()) // with too few threads for the program, the guard crashes first
	runtime.LockOSThread()                             // children die with the thread that started them
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
		g.group = "" // run without a group
	}
	if g.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if s.Folder != "" {
		g.journal, err = openJournal(s.Folder, s.Log)
	}
	return err
}

// guard is the parent of all processes started by its program, and adopts descendants
// that lose their parent. When a guard has no children, the run has no processes. The
// guard signals only children that it has not reaped, since their pids cannot be
// reused.
type guard struct {
	run   mark
	conn  *conn
	null  *os.File
	group cgroup       // of the guard and its children, or ""
	look  func() []int // returns the children

	mu      sync.Mutex // protects the fields below
	journal *journal
	live    map[int]*child   // started and not reaped, by pid
	known   map[int64]*child // live, and ended ones whose exit or output is still needed
	leaving []*child         // reaped, but may have left processes behind
	orphans map[int]*orphan  // children that the guard did not start
	dying   int              // killed orphans expected to end
	overdue bool             // a call of checkOverdue is due
	ending  bool             // the program has ended
	giveUp  time.Time        // when an ending guard stops waiting for processes it cannot see

	starting mark       // of the child being started, or 0
	started  *sync.Cond // signals that starting is 0 again
	again    bool       // a sweep skipped a process that may be this child

	grown  chan struct{} // holds a token if children may exist again
	empty  chan struct{} // closed when the guard has nothing left to wait for
	finish func()        // closes empty
}

// child is a process started for the program.
type child struct {
	id       int64
	mark     mark
	pid      int
	record   Record
	status   syscall.WaitStatus
	output   *os.File  // read end; nil if not needed
	due      time.Time // when to give it up after SIGKILL; zero if it may run
	cut      bool      // was running when the program ended
	recorded bool      // its exit is in the journal
	lost     string    // error of writing its exit to the journal
}

// serve handles requests until the program ends.
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

// signal sends a signal to a child. SIGKILL goes to its whole group. The caller holds
// the lock.
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
