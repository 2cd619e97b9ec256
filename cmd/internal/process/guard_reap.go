//go:build unix

package process

import (
	"io"
	"slices"
	"syscall"
	"time"
)

// reap reaps children until the program and all children have ended.
func (g *guard) reap() {
	for {
		pid, status, err := waitAny(0)
		g.mu.Lock()
		if err == nil {
			g.reapAll(pid, status)
		}
		none := err != nil && len(g.live) == 0
		if none && g.ending {
			g.finish()
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		if none {
			<-g.grown
		}
	}
}

// reapAtOnce is the number of children reaped before requests are handled again.
const reapAtOnce = 1024

// reapAll reaps all ended children, including pid unless it is 0. Then it sweeps if
// they may have left processes to kill. The caller holds the lock.
func (g *guard) reapAll(pid int, status *syscall.WaitStatus) {
	left := false
	for range reapAtOnce {
		if status == nil { // pid may have been reaped meanwhile
			pid, status, _ = waitAny(syscall.WNOHANG)
		}
		if pid <= 0 {
			break
		}
		if g.live[pid] == nil && g.starting != 0 { // it may be the starting child
			g.started.Wait()
			continue
		}
		left = g.reaped(pid, status) || left
		status = nil
	}
	if left {
		g.sweep()
	}
}

// reaped reaps an ended child and reports whether it may have left processes to kill.
// The caller holds the lock.
func (g *guard) reaped(pid int, status *syscall.WaitStatus) (left bool) {
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
		return g.reapedOrphan(pid)
	}
	g.ended(c, *status)
	return true
}

// ended notes that a child has ended or was given up. The caller holds the lock.
func (g *guard) ended(c *child, status syscall.WaitStatus) {
	delete(g.live, c.pid)
	c.status = status
	g.leaving = append(g.leaving, c)
	if !c.cut {
		exit := exitOf(c.status, time.Now())
		c.record.Code, c.record.Signal, c.record.At = exit.Code, int(exit.Signal), exit.At
		c.lost = errorText(g.journal.write(c.record))
		c.recorded = c.lost == ""
	}
}

// sweepAgain repeats a sweep that skipped a possible starting child. The caller holds
// the lock.
func (g *guard) sweepAgain() {
	if g.again {
		g.again = false
		g.sweep()
	}
}

// end kills all children and saves any output that the program has not read. It returns
// when all children have ended or been given up.
func (g *guard) end() {
	g.mu.Lock()
	g.reapAll(0, nil) // these ended by themselves
	g.ending, g.giveUp = true, time.Now().Add(killPatience)
	for _, c := range g.live {
		c.cut = true
	}
	if g.group.leave() == nil {
		g.group.kill()
	}
	for _, c := range g.live {
		g.kill(c)
	}
	g.sweep()
	g.watch()
	g.mu.Unlock()
	g.wake()
	<-g.empty
	g.mu.Lock() // held for good
	_ = g.group.remove()
	for _, c := range g.known {
		if c.output == nil || !c.recorded {
			continue
		}
		_ = c.output.SetReadDeadline(time.Now().Add(outputPause)) // all writers have ended
		if text, _ := io.ReadAll(c.output); len(text) > 0 {
			g.journal.add(c.record, string(text))
		}
	}
}

// drop forgets a child once it is no longer needed. The caller holds the lock.
func (g *guard) drop(c *child) {
	if c.output == nil && g.live[c.pid] != c && !slices.Contains(g.leaving, c) {
		delete(g.known, c.id)
	}
}
