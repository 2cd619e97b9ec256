//go:build unix

package process

import (
	"io"
	"slices"
	"syscall"
	"time"
)

// reap reaps children until there is none and the program is gone.
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

// reaped reaps a child that has ended, and sweeps. The caller holds the lock.
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

// sweep kills the orphans whose child has ended, and those without a mark. Then it
// reports the children that have no process left. The caller holds the lock, so that
// no child is reaped meanwhile.
func (g *guard) sweep() {
	held, all := make(map[mark]bool), false // marks of the killed; all: they may be any child's
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

// sweepAgain sweeps if a sweep has skipped what may have been the starting child. The
// caller holds the lock.
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

// end kills all children until none is left, and saves their output that the program
// has not read.
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

// drop drops a child of which nothing is needed any more. The caller holds the lock.
func (g *guard) drop(c *child) {
	if c.output == nil && g.live[c.pid] != c && !slices.Contains(g.leaving, c) {
		delete(g.known, c.id)
	}
}
