//go:build unix

package process

import (
	"os"
	"syscall"
	"time"
)

// start starts a child and reports the result.
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
	g.mu.Unlock() // lets others be reaped meanwhile
	if err == nil {
		undo := setMark(c.mark)
		c.pid, err = fork(path, r.Args, &syscall.ProcAttr{
			Dir:   r.Dir,
			Env:   r.Env,
			Files: []uintptr{g.null.Fd(), write.Fd(), write.Fd()},
			Sys:   childAttr(),
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
	delete(g.orphans, c.pid) // a sweep may have seen it
	_ = g.conn.send(reply{Kind: startedReply, ID: r.ID}, read, false)
	if g.journal != nil && r.Record.Owner != "" {
		c.output = read // the output needs a reader after the program has ended
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

// wake tells reap to look for children again.
func (g *guard) wake() {
	select {
	case g.grown <- struct{}{}:
	default:
	}
}
