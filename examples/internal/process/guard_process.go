//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// guardian is the guard, seen from its program.
type guardian struct {
	pid  int
	conn *conn
	gone chan struct{} // closed when it is reaped, with all processes that it left

	mu     sync.Mutex
	reaped bool
}

// startGuard starts a guard and returns when it is ready.
func (c *Children) startGuard() (*guardian, error) {
	settings, err := json.Marshal(guardSettings{Run: c.run, Folder: c.options.Folder, Log: c.options.Log})
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	syscall.ForkLock.RLock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	conn, err := newConn(pair[0])
	if err != nil {
		return nil, errors.Join(err, syscall.Close(pair[0]), syscall.Close(pair[1]))
	}
	files := []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(pair[1])}
	if c.options.Hold != nil {
		files = append(files, c.options.Hold.Fd())
	}
	g := &guardian{conn: conn, gone: make(chan struct{})}
	g.pid, err = syscall.ForkExec(c.self, []string{guardName, string(settings)}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: files,
		Sys:   guardAttr(),
	})
	_ = syscall.Close(pair[1])
	if err != nil {
		conn.file.Close()
		return nil, err
	}
	var ready reply
	err = conn.receive(&ready)
	if err == nil && ready.Text != "" {
		err = errors.New(ready.Text)
	}
	if err != nil {
		g.reap()
		return nil, fmt.Errorf("the guard of this program does not start: %w", err)
	}
	go c.listen(g)
	return g, nil
}

// listen handles a guard's messages until it is gone, and ends its processes.
func (c *Children) listen(g *guardian) {
	for {
		var r reply
		if g.conn.receive(&r) != nil {
			break
		}
		c.handle(g, &r)
	}
	status, left := g.reap()
	c.mu.Lock()
	lost := 0
	for id, p := range c.live {
		if p.guard != g {
			continue
		}
		delete(c.live, id)
		select {
		case <-p.started:
			lost++
			c.end(p, Exit{Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL, At: time.Now(), Lost: true})
		default:
			p.failure = errGuardLost
			close(p.started)
		}
	}
	if c.guard == g {
		c.guard = nil
	}
	closing := c.closing
	c.mu.Unlock()
	close(g.gone)
	if !closing && c.options.Report != nil {
		c.options.Report(fmt.Sprintf("the guard (process %d) has ended (%s): %d that ran below it are killed, with %d processes in all; the next one gets another guard",
			g.pid, describe(status), lost, left))
	}
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}

// signal has the guard send a signal to a child.
func (g *guardian) signal(id int64, sig syscall.Signal) {
	_ = g.conn.send(request{Kind: signalRequest, ID: id, Signal: sig}, nil, false)
	g.proceed()
}

// proceed continues a guard that somebody has stopped, so that a signal or an end takes
// effect.
func (g *guardian) proceed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped { // else another process may have its pid
		_ = syscall.Kill(g.pid, syscall.SIGCONT)
	}
}

// dismiss asks the guard to end, after all its children.
func (g *guardian) dismiss() {
	defer g.proceed()
	_ = withFd(g.conn.file, func(fd int) { _ = syscall.Shutdown(fd, syscall.SHUT_WR) })
}

// reap waits for the end of the guard, which has closed its socket. On Linux the
// processes of a guard that was killed have become children of this process. reap
// kills them until none is left, and returns how many there were.
func (g *guardian) reap() (status syscall.WaitStatus, left int) {
	g.conn.file.Close()
	g.mu.Lock() // not for long: a guard closes its socket only when it ends
	for {
		if _, err := syscall.Wait4(g.pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	g.reaped = true
	g.mu.Unlock()
	if status.Exited() && status.ExitStatus() == 0 {
		return status, 0
	}
	for list := new(childList); ; {
		pids := list.read()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) == 0 {
			list.close()
			return status, left
		}
		for _, pid := range pids {
			if _, err := syscall.Wait4(pid, nil, 0, nil); err == nil {
				left++
			}
		}
	}
}
