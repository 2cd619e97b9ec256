//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// guardian is the program's handle on its guard.
type guardian struct {
	pid       int
	conn      *conn
	heard     atomic.Int64       // last answer, in Unix nanoseconds
	exited    chan struct{}      // closed when the guard is reaped
	status    syscall.WaitStatus // exit status of the guard
	abandoned chan struct{}      // closed when the guard has been silent for too long
	abandon   func()             // closes abandoned
	gone      chan struct{}      // closed when waiting for the guard and its processes is over
}

// errGuardKilled is returned if a guard was killed before it was ready.
var errGuardKilled = errors.New("it was killed")

// startGuard starts a guard and returns when it is ready. If the guard is killed
// before, startGuard tries again.
func (c *Children) startGuard() (*guardian, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		g, err := c.tryGuard()
		switch {
		case err == nil:
			go c.listen(g)
			return g, nil
		case !errors.Is(err, errGuardKilled) || attempt == attempts:
			return nil, fmt.Errorf("the guard of this program does not start: %w", err)
		}
	}
}

// tryGuard makes one attempt to start a guard and returns when it is ready.
func (c *Children) tryGuard() (*guardian, error) {
	settings, err := json.Marshal(guardSettings{Run: c.run, Folder: c.options.Folder, Log: c.options.Log, Group: c.group})
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
	g := &guardian{conn: conn, exited: make(chan struct{}), abandoned: make(chan struct{}), gone: make(chan struct{})}
	g.abandon = sync.OnceFunc(func() { close(g.abandoned); conn.file.Close() })
	c.forking.Lock() // reapOthers must not reap the guard
	g.pid, err = syscall.ForkExec(c.self, []string{guardName, string(settings)}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: files,
		Sys:   guardAttr(),
	})
	if err == nil {
		c.guards[g.pid] = g
	}
	c.forking.Unlock()
	_ = syscall.Close(pair[1])
	if err != nil {
		conn.file.Close()
		return nil, err
	}
	go c.attend(g)
	var ready reply
	err = conn.receive(&ready)
	if err == nil && ready.Text != "" {
		err = errors.New(ready.Text)
	}
	if err != nil {
		conn.file.Close()
		<-g.exited
		c.endLeft(g)
		switch {
		case ready.Text != "":
		case g.status.Signaled() && g.status.Signal() == syscall.SIGKILL:
			err = errGuardKilled
		default:
			err = fmt.Errorf("it has ended (%s); is the number of processes limited (ulimit -u)?", describe(g.status))
		}
		return nil, err
	}
	return g, nil
}

// attend waits for the end of a guard. It continues a stopped guard, so that requests
// take effect.
func (c *Children) attend(g *guardian) {
	for {
		switch _, err := syscall.Wait4(g.pid, &g.status, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err == nil && g.status.Stopped():
			_ = syscall.Kill(g.pid, syscall.SIGCONT)
		default:
			c.forking.Lock()
			delete(c.guards, g.pid)
			c.forking.Unlock()
			close(g.exited)
			return
		}
	}
}

// listen handles a guard's replies until the guard ends, and then ends its processes.
func (c *Children) listen(g *guardian) {
	for {
		var r reply
		if g.conn.receive(&r) != nil {
			break
		}
		g.heard.Store(time.Now().UnixNano())
		if r.Kind == leftReply {
			c.report("%s", r.Text)
			continue
		}
		c.handle(g, &r)
	}
	g.conn.file.Close()
	ended, left, exited := 0, []string(nil), true
	select {
	case <-g.exited:
		ended, left = c.endLeft(g)
	case <-g.abandoned:
		exited = false
	}
	lost, closing := c.lose(g)
	close(g.gone)
	switch {
	case !exited:
		c.report("the guard (process %d) does not answer, as if frozen; it is left with the %d running below it, and kills them when it goes on", g.pid, lost)
	case !closing:
		c.report("the guard (process %d) has ended (%s); the %d running below it are killed, %d processes in all; the next one gets another guard",
			g.pid, describe(g.status), lost, max(lost, ended))
	}
	for _, text := range left {
		c.report("%s", text)
	}
}

// lose ends the processes of a lost guard.
func (c *Children) lose(g *guardian) (lost int, closing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	return lost, c.closing
}

// report passes a message to Options.Report.
func (c *Children) report(format string, args ...any) {
	if c.options.Report != nil {
		c.options.Report(fmt.Sprintf(format, args...))
	}
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}

// signal asks the guard to send a signal to a child.
func (g *guardian) signal(id int64, sig syscall.Signal) {
	_ = g.conn.send(request{Kind: signalRequest, ID: id, Signal: sig}, nil, false)
}

// dismiss asks the guard to end after killing all its children.
func (g *guardian) dismiss() {
	_ = withFd(g.conn.file, func(fd int) { _ = syscall.Shutdown(fd, syscall.SHUT_WR) })
}

// answerTime is how long a guard may be silent while an answer is due. It is much
// longer than killPatience, since a guard answers after giving up unkillable processes.
const answerTime = 30 * time.Second

// awaitAnswer abandons the guard if it stays silent for answerTime before done is closed.
func (g *guardian) awaitAnswer(done <-chan struct{}) {
	for since := time.Now(); ; {
		select {
		case <-done:
			return
		case <-g.exited:
			return
		case <-time.After(time.Until(since.Add(answerTime))):
		}
		heard := time.Unix(0, g.heard.Load())
		if !heard.After(since) {
			g.abandon()
			return
		}
		since = heard
	}
}

// endLeft kills the processes left by a killed guard, now children of this process. It
// returns the number of ended processes and messages about the others.
func (c *Children) endLeft(g *guardian) (ended int, left []string) {
	if g.status.Exited() && g.status.ExitStatus() == 0 {
		return 0, nil
	}
	c.group.kill()
	list, seen := new(childList), make(map[int]bool)
	defer list.close()
	left = endAll(func() map[int]error {
		c.forking.Lock() // no child is reaped meanwhile, so pids are not reused
		defer c.forking.Unlock()
		found := make(map[int]error)
		for _, pid := range list.read() {
			if c.guards[pid] != nil || c.others && markOf(pid).run() != c.run {
				continue
			}
			seen[pid] = true
			err := syscall.Kill(pid, syscall.SIGKILL)
			if reaped, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); reaped != pid {
				found[pid] = err
			}
		}
		return found
	})
	_ = c.group.remove() // the next guard makes it again
	return len(seen) - len(left), left
}
