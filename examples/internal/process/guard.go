package process

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// guardName is the program name under which a program guards another run of
// itself.
const guardName = "process-guard"

// The files of a guard beside the first three.
const (
	guardSocket = 3 // to its program
	guardHold   = 4 // Options.Hold, if there is one
)

// guardSettings are a guard's only argument, as JSON.
type guardSettings struct {
	Run    mark
	Folder string // of the journal; "": there is none
	Log    string // its name there
}

// Guard is the whole program if it was started to guard another run; else it
// returns at once.
func Guard() {
	if len(os.Args) != 2 || os.Args[0] != guardName {
		return
	}
	// Who ends the program by its name or from its terminal must not end its guard.
	// (They are not ignored, since what it starts would ignore them as well.)
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

// runGuard guards a program until it is gone, and returns when nothing is left.
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
	g := &guard{
		run: s.Run, conn: conn,
		live: make(map[int]*child), known: make(map[int64]*child), orphans: make(map[int]mark),
		grown: make(chan struct{}, 1), empty: make(chan struct{}),
	}
	g.started = sync.NewCond(&g.mu)
	err = g.prepare(s)
	ready := reply{Kind: readyReply}
	if err != nil {
		ready.Text = err.Error()
	}
	if failed := conn.send(ready, nil, false); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	go g.reap()
	g.serve()
	g.end()
	return nil
}

func (g *guard) prepare(s guardSettings) (err error) {
	if err = adoptOrphans(); err != nil {
		return err
	}
	if g.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if s.Folder != "" {
		g.journal, err = openJournal(s.Folder, s.Log)
	}
	return err
}

// guard is the parent of all that its program has it start. Whatever loses its
// parent below it becomes its child too. So nothing is left of a run when its guard
// has no child, and no process is signalled but a child that is not reaped yet,
// whose number nobody else can have.
type guard struct {
	run  mark
	conn *conn
	null *os.File
	list childList

	mu      sync.Mutex // holds all that follows
	journal *journal
	live    map[int]*child   // started and not reaped, by process
	known   map[int64]*child // these, and those whose end or output is still needed
	leaving []*child         // reaped, but what they have left may be there
	orphans map[int]mark     // children that were not started here
	ending  bool             // the program is gone

	starting mark       // of the child that is just being started, or 0
	started  *sync.Cond // starting is 0 again
	again    bool       // a sweep has left out what may be this child

	grown chan struct{} // holds something when there may be a child again
	empty chan struct{} // closed when there is none and none will be
}

// child is a process that was started for the program.
type child struct {
	id       int64
	mark     mark
	pid      int
	record   Record
	status   syscall.WaitStatus
	output   *os.File // to read from; nil if it is not needed
	cut      bool     // it ran when the program was gone
	recorded bool     // its end is in the journal
	lost     string   // why it is not
}

// serve does what the program asks for, until that is gone.
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

// start starts a child and tells what became of that.
func (g *guard) start(r *request) {
	c := &child{id: r.ID, mark: g.run.child(r.ID), record: Record{RecordKey: r.Record, Began: time.Now()}}
	path, err := "", checkDir(r.Dir)
	if err == nil {
		path, err = lookPath(r.Args[0], r.Dir, r.Env)
	}
	var read, write *os.File
	if err == nil {
		read, write, err = os.Pipe()
	}
	g.mu.Lock()
	g.starting = c.mark
	g.mu.Unlock() // others are reaped meanwhile
	if err == nil {
		undo := setMark(c.mark)
		c.pid, err = fork(path, r.Args, &syscall.ProcAttr{
			Dir:   r.Dir,
			Env:   r.Env,
			Files: []uintptr{g.null.Fd(), write.Fd(), write.Fd()},
			Sys:   &syscall.SysProcAttr{Setpgid: true},
		})
		undo()
		write.Close()
		if err != nil {
			read.Close()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starting = 0
	g.started.Broadcast()
	defer g.sweepAgain()
	if err != nil {
		failed := reply{Kind: failedReply, ID: r.ID, Text: err.Error()}
		if failure, ok := err.(*StartError); ok {
			failed.Code = failure.Code
			c.record.Code, c.record.Message, c.record.At = failure.Code, failure.text, time.Now()
			failed.Unrecorded = errorText(g.journal.write(c.record))
		}
		_ = g.conn.send(failed, nil, false)
		return
	}
	g.live[c.pid], g.known[c.id] = c, c
	delete(g.orphans, c.pid) // it may have been seen
	_ = g.conn.send(reply{Kind: startedReply, ID: r.ID}, read, false)
	if g.journal != nil && r.Record.Owner != "" {
		c.output = read // else what the child writes would have no reader when the program is gone
	} else {
		read.Close()
	}
	g.wake()
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// wake has reap look for children again.
func (g *guard) wake() {
	select {
	case g.grown <- struct{}{}:
	default:
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
		c.kill()
		return
	}
	_ = syscall.Kill(c.pid, sig)
}

// kill kills the child, which may have joined another group, and all of its own.
func (c *child) kill() {
	_ = syscall.Kill(c.pid, syscall.SIGKILL)
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
}

// drop forgets a child of which nothing is needed any more. The caller holds the
// lock.
func (g *guard) drop(c *child) {
	if c.output == nil && g.live[c.pid] != c && !slices.Contains(g.leaving, c) {
		delete(g.known, c.id)
	}
}

// reap reaps all children, until there is none and the program is gone.
func (g *guard) reap() {
	for {
		pid, status, err := waitAny()
		g.mu.Lock()
		switch {
		case err == nil:
			g.reaped(pid, status)
		case len(g.live) == 0 && g.ending:
			close(g.empty)
			g.mu.Unlock()
			return
		}
		none := err != nil && len(g.live) == 0
		g.mu.Unlock()
		if none {
			<-g.grown
		}
	}
}

// reaped reaps a child that has ended, and looks at what it has left behind. The
// caller holds the lock.
func (g *guard) reaped(pid int, status *syscall.WaitStatus) {
	for g.live[pid] == nil && g.starting != 0 { // it may be the one
		g.started.Wait()
	}
	c := g.live[pid]
	if c != nil {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // as in a container whose first process ends
	}
	if status == nil {
		status = new(syscall.WaitStatus)
		for {
			if _, err := syscall.Wait4(pid, status, 0, nil); err != syscall.EINTR {
				break
			}
		}
	}
	if c == nil {
		delete(g.orphans, pid)
	} else {
		delete(g.live, pid)
		c.status = *status
		g.leaving = append(g.leaving, c)
		if !c.cut {
			exit := exitOf(c.status, time.Now())
			c.record.Code, c.record.Signal, c.record.At = exit.Code, int(exit.Signal), exit.At
			c.lost = errorText(g.journal.write(c.record))
			c.recorded = c.lost == ""
		}
	}
	g.sweep()
}

// sweep kills the orphans that no living child has left: those with the mark of one
// that has ended, and those that have got rid of their mark. Then it reports the
// children of which nothing is left. The caller holds the lock, so that no child is
// reaped meanwhile.
func (g *guard) sweep() {
	held, all := make(map[mark]bool), false // children that have left something
	for _, pid := range g.list.read() {
		if g.live[pid] != nil {
			continue
		}
		m, seen := g.orphans[pid]
		if !seen {
			m = markOf(pid)
			g.orphans[pid] = m
		}
		if !g.ending && g.lives(m) {
			continue
		}
		if g.starting != 0 && (m == g.starting || m.run() != g.run) { // it may be the one
			all, g.again = true, true
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		held[m] = true
		all = all || m.run() != g.run
	}
	if all {
		return
	}
	var leaving []*child
	for _, c := range g.leaving {
		if held[c.mark] {
			leaving = append(leaving, c)
			continue
		}
		_ = g.conn.send(reply{Kind: endedReply, ID: c.id, Status: c.status, Unrecorded: c.lost}, nil, false)
		defer g.drop(c)
	}
	g.leaving = leaving
}

// sweepAgain sweeps if a sweep had to leave out what it could not know. The caller
// holds the lock.
func (g *guard) sweepAgain() {
	if g.again {
		g.again = false
		g.sweep()
	}
}

// lives reports whether the child of that mark has not ended.
func (g *guard) lives(m mark) bool {
	for _, c := range g.live {
		if c.mark == m {
			return true
		}
	}
	return false
}

// end kills all that is there until nothing is left, and saves what the children
// wrote and nobody has read.
func (g *guard) end() {
	g.mu.Lock()
	g.ending = true
	for _, c := range g.live {
		c.cut = true
		c.kill()
	}
	g.sweep()
	g.mu.Unlock()
	g.wake()
	<-g.empty
	for _, c := range g.known {
		if c.output == nil || !c.recorded {
			continue
		}
		_ = c.output.SetReadDeadline(time.Now().Add(outputPause)) // all that could write has ended
		if text, _ := io.ReadAll(c.output); len(text) > 0 {
			g.journal.add(c.record, string(text))
		}
	}
}
