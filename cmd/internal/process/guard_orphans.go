//go:build unix

package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// orphan is a child that lost its parent. The guard did not start it.
type orphan struct {
	mark   mark
	killed bool      // SIGKILL was sent
	due    time.Time // when to give it up after the attempt to kill it; zero if it may run
	left   bool      // given up
}

// A killed process ends soon, unless it is frozen or waits for a device. A process that
// this user may not kill ends only by itself.
const (
	killPatience    = 5 * time.Second // before giving up a killed process
	refusedPatience = time.Second     // before giving up one that may not be killed
	overdueTick     = 250 * time.Millisecond
)

// dueAfter returns when to give up a process, given the result of killing it.
func dueAfter(err error) time.Time {
	if errors.Is(err, syscall.EPERM) {
		return time.Now().Add(refusedPatience)
	}
	return time.Now().Add(killPatience)
}

// leftText returns why a process is given up.
func leftText(pid int) string {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Sprintf("process %s cannot be killed and is left: %v", title(pid), err)
	}
	return fmt.Sprintf("process %s was killed but does not end, as if frozen or waiting for a device, and is left", title(pid))
}

// kill kills a child, which may have joined another group, and the group it started
// with. The caller holds the lock.
func (g *guard) kill(c *child) {
	err := syscall.Kill(c.pid, syscall.SIGKILL)
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	if c.due.IsZero() {
		c.due = dueAfter(err)
		g.watch()
	}
}

// sweep kills the orphans of ended children and those without a mark. Then it reports
// the children without remaining processes. The caller holds the lock, so that no child
// is reaped meanwhile.
func (g *guard) sweep() {
	alive := make(map[mark]bool)
	for _, c := range g.live {
		alive[c.mark] = !g.ending
	}
	held, all := make(map[mark]bool), false // marks of killed orphans; all if they may belong to any child
	for _, pid := range g.look() {
		if g.live[pid] != nil {
			continue
		}
		o := g.orphans[pid]
		if o == nil {
			o = &orphan{}
			if !g.ending && (len(alive) > 0 || len(g.leaving) > 1 || g.starting != 0) {
				o.mark = markOf(pid)
			}
			g.orphans[pid] = o
		}
		switch {
		case o.left, alive[o.mark]:
			continue
		case g.starting != 0 && (o.mark == g.starting || o.mark.run() != g.run): // it may be the starting child
			all, g.again = true, true
			continue
		case o.due.IsZero():
			g.killOrphan(pid, o)
		}
		held[o.mark] = true
		all = all || o.mark.run() != g.run
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

// killOrphan kills an orphan once. An orphan cannot escape, since the guard has not
// reaped it. The caller holds the lock.
func (g *guard) killOrphan(pid int, o *orphan) {
	err := syscall.Kill(pid, syscall.SIGKILL)
	o.due = dueAfter(err)
	if o.killed = err == nil; o.killed {
		g.dying++
	}
	g.watch()
}

// reapedOrphan notes that an orphan was reaped. It reports whether all killed orphans
// have been reaped, so that it is time to look for the orphans they left. Each
// generation therefore costs at most one look. The caller holds the lock.
func (g *guard) reapedOrphan(pid int) (look bool) {
	o := g.orphans[pid]
	if o == nil || o.due.IsZero() {
		delete(g.orphans, pid)
		return false
	}
	g.settle(o)
	delete(g.orphans, pid)
	return g.dying == 0
}

// settle notes that the guard no longer waits for an orphan. The caller holds the lock.
func (g *guard) settle(o *orphan) {
	if o.killed && !o.left {
		g.dying--
	}
	o.left = true
}

// watch schedules checkOverdue. The caller holds the lock.
func (g *guard) watch() {
	if !g.overdue {
		g.overdue = true
		time.AfterFunc(overdueTick, g.checkOverdue)
	}
}

// checkOverdue gives up and reports the processes that should have ended by now. A
// child given up counts as killed.
func (g *guard) checkOverdue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.overdue = false
	g.reapAll(0, nil)
	now, waiting, left := time.Now(), false, false
	overdue := func(due time.Time) bool {
		waiting = waiting || !due.IsZero() && now.Before(due)
		return !due.IsZero() && !now.Before(due)
	}
	for pid, o := range g.orphans {
		if !o.left && overdue(o.due) {
			g.settle(o)
			g.report(leftText(pid))
		}
		left = left || o.left
	}
	for pid, c := range g.live {
		if overdue(c.due) {
			g.orphans[pid] = &orphan{mark: c.mark, due: c.due, left: true}
			g.report(leftText(pid))
			g.ended(c, syscall.WaitStatus(syscall.SIGKILL))
			left = true
		}
	}
	g.sweep()
	switch {
	case waiting || g.dying > 0:
		g.watch()
	case !g.ending:
	case left:
		g.finish()
	case now.After(g.giveUp):
		g.report("processes that /proc does not show are left")
		g.finish()
	default:
		g.watch()
	}
}

// report sends a message for the program to report.
func (g *guard) report(text string) {
	_ = g.conn.send(reply{Kind: leftReply, Text: text}, nil, false)
}
