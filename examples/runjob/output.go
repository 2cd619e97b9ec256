package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// output passes on what the processes write, line by line with a prefix.
type output struct {
	print func(prefix string, line []byte)
}

// stream is the output of one process.
type stream struct {
	child  *os.File // the end to hand to the process
	finish func()   // returns when what the process wrote, which has ended or was never started, is printed
}

// open returns a stream whose lines are printed under that prefix: as they come
// or, by way of a file that outlives this program, all at the end.
func (o *output) open(prefix, file string) (*stream, error) {
	if file != "" {
		child, err := os.Create(file)
		return &stream{child, func() { o.replay(prefix, file) }}, err
	}
	read, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{read: read, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		o.copy(prefix, p)
	}()
	return &stream{child, p.finish}, nil
}

// replay prints a file, if it is there, and removes it.
func (o *output) replay(prefix, file string) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	o.copy(prefix, f)
	f.Close()
	_ = os.Remove(file)
}

// copy prints what r has.
func (o *output) copy(prefix string, r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadSlice('\n') // a longer line comes in pieces
		if len(line) > 0 {
			o.print(prefix, line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// pipe is the end of a process's output at which it is read.
type pipe struct {
	read  *os.File
	limit atomic.Pointer[time.Time] // set when the process has ended: nothing is read after it
	done  chan struct{}             // closed when all has been printed
}

// When a process has ended the end of its output comes at once, unless something
// that has left the process's group holds it open.
const (
	outputPause = 100 * time.Millisecond // how long to wait for more of it
	outputLimit = 5 * time.Second        // and for all of it
)

// Read reads from the process, for as long as output can be expected.
func (p *pipe) Read(b []byte) (int, error) {
	if limit := p.limit.Load(); limit != nil {
		now := time.Now()
		if now.After(*limit) {
			return 0, os.ErrDeadlineExceeded
		}
		_ = p.read.SetReadDeadline(now.Add(outputPause))
	}
	return p.read.Read(b)
}

func (p *pipe) finish() {
	now := time.Now()
	limit := now.Add(outputLimit)
	p.limit.Store(&limit)
	_ = p.read.SetReadDeadline(now.Add(outputPause)) // for a Read that has begun
	<-p.done
	p.read.Close()
}
