package process

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Output is what one process writes, line by line.
type Output struct {
	Child *os.File // the end to hand to the process; to be closed once it has started
	read  *os.File
	limit atomic.Pointer[time.Time] // set when the process has ended: nothing is read after it
	done  chan struct{}
}

// longestLine is what a longer line is cut into pieces of.
const longestLine = 64 << 10

// OpenOutput returns an Output whose lines are given to print, one after the
// other.
func OpenOutput(print func(line []byte)) (*Output, error) {
	read, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &Output{Child: child, read: read, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		EachLine(o, print)
	}()
	return o, nil
}

// EachLine gives the lines of r to print, one after the other, to its end.
func EachLine(r io.Reader, print func(line []byte)) {
	input := bufio.NewReader(r)
	var line []byte
	for {
		part, err := input.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) && len(line) < longestLine {
			continue
		}
		if len(line) > 0 {
			print(line)
			line = line[:0]
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// When a process has ended the end of its output comes at once, unless something
// that has left the process's group holds it open.
const (
	outputPause = 100 * time.Millisecond // how long to wait for more of it
	outputLimit = 5 * time.Second        // and for all of it
)

// Read reads from the process, for as long as output can be expected.
func (o *Output) Read(p []byte) (int, error) {
	if limit := o.limit.Load(); limit != nil {
		now := time.Now()
		if now.After(*limit) {
			return 0, os.ErrDeadlineExceeded
		}
		_ = o.read.SetReadDeadline(now.Add(outputPause))
	}
	return o.read.Read(p)
}

// Finish returns when what the process wrote has been printed. The process has
// ended, or was never started.
func (o *Output) Finish() {
	now := time.Now()
	limit := now.Add(outputLimit)
	o.limit.Store(&limit)
	_ = o.read.SetReadDeadline(now.Add(outputPause)) // for a Read that has begun
	<-o.done
	o.read.Close()
}
