//go:build unix

package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// orphan is a child that the guard did not start: it lost its parent.
type orphan struct {
	mark   mark
	killed bool      // it was sent SIGKILL
	due    time.Time // when it is given up, after the attempt to kill it; zero: it may run
	left   bool      // it is given up
}

// A process that was sent SIGKILL ends soon, unless it is frozen or waits for a device.
// One that this user may not kill can only end by itself.
const (
	killPatience    = 5 * time.Second // before a killed process is given up
	refusedPatience = time.Second     // before one that may not be killed is given up
	overdueTick     = 250 * time.Millisecond
)

// dueAfter returns when to give up a process that kill was called for.
func dueAfter(err error) time.Time {
	if errors.Is(err, syscall.EPERM) {
		return time.Now().Add(refusedPatience)
	}
	return time.Now().Add(killPatience)
}

// leftText says why a process is given up.
func leftText(pid int) string {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Sprintf("process %s cannot be killed and is left: %v", title(pid), err)
	}
	return fmt.Sprintf("process %s was killed but does not end, as if frozen or waiting for a device, and is left", title(pid))
}

// kill kills a child, which may have joined another group, and all of its own. The
// caller holds the lock.
func (g *guard) kill(c *child) {
	err := syscall.Kill(c.pid, syscall.SIGKILL)
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	if c.due.IsZero() {
		c.due = dueAfter(err)
		g.watch()
	}
}

// sweep kills the orphans whose child has ended, and those without a mark. Then it
// reports the children that have no process left. The caller holds the lock, so that
// no child is reaped meanwhile.
func (g *guard) sweep() {
	alive := make(map[mark]bool)
	for _, c := range g.live {
		alive[c.mark] = !g.ending
	}
	held, all := make(map[mark]bool), false // marks of the killed; all: they may be any child's
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
		case g.starting != 0 && (o.mark == g.starting || o.mark.run() != g.run): // it may be the one
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

// killOrphan kills an orphan once: it cannot escape, since the guard has not reaped it.
// The caller holds the lock.
func (g *guard) killOrphan(pid int, o *orphan) {
	err := syscall.Kill(pid, syscall.SIGKILL)
	o.due = dueAfter(err)
	if o.killed = err == nil; o.killed {
		g.dying++
	}
	g.watch()
}

// reapedOrphan notes that an orphan is reaped. It reports whether it is time to look for
// the processes that killed ones have left: that is when all of these are reaped, so
// there are no more looks than generations. The caller holds the lock.
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

// settle notes that an orphan is not expected to end any more. The caller holds the lock.
func (g *guard) settle(o *orphan) {
	if o.killed && !o.left {
		g.dying--
	}
	o.left = true
}

// watch has checkOverdue called soon. The caller holds the lock.
func (g *guard) watch() {
	if !g.overdue {
		g.overdue = true
		time.AfterFunc(overdueTick, g.checkOverdue)
	}
}

// checkOverdue gives up the processes that should have ended by now, and names them. A
// child that is given up counts as killed.
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
			g.say(leftText(pid))
		}
		left = left || o.left
	}
	for pid, c := range g.live {
		if overdue(c.due) {
			g.orphans[pid] = &orphan{mark: c.mark, due: c.due, left: true}
			g.say(leftText(pid))
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
		g.say("processes that /proc does not show are left")
		g.finish()
	default:
		g.watch()
	}
}

// say has the program report a text.
func (g *guard) say(text string) {
	_ = g.conn.send(reply{Kind: leftReply, Text: text}, nil, false)
}
