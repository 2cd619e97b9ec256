//go:build unix

package process

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// output passes the output of one process to a Sink.
type output struct {
	sink  Sink
	read  *os.File // nil if no output is expected
	ended atomic.Bool
	rest  int           // bytes to read at most after the end
	done  chan struct{} // closed when all output was passed on
}

// longestLine is the length in bytes of the pieces into which a longer line is cut.
const longestLine = 64 << 10

func newOutput(sink Sink) *output {
	return &output{sink: sink, rest: outputRest, done: make(chan struct{})}
}

// open begins to read the output.
func (o *output) open(read *os.File) {
	o.read = read
	if read == nil {
		close(o.done)
		return
	}
	go func() {
		defer close(o.done)
		eachLine(o, func(line []byte) {
			if o.sink != nil {
				o.sink.Line(line)
			}
		})
	}()
}

// EachLine calls print with each line of text in order.
func EachLine(text string, print func(line []byte)) { eachLine(strings.NewReader(text), print) }

// eachLine calls print with each line of r in order, until its end.
func eachLine(r io.Reader, print func(line []byte)) {
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

// After the end of a process, the rest of its output arrives at once, unless a process
// other than its descendants holds the output open.
const (
	outputPause = 100 * time.Millisecond // longest wait for more output
	outputRest  = 1 << 20                // most bytes left, as a pipe holds
)

// Read reads output while more can be expected.
func (o *output) Read(p []byte) (int, error) {
	if o.ended.Load() {
		if o.rest <= 0 {
			return 0, io.EOF
		}
		_ = o.read.SetReadDeadline(time.Now().Add(outputPause))
	}
	n, err := o.read.Read(p)
	if o.ended.Load() {
		o.rest -= n
	}
	return n, err
}

// finish waits until the Sink has received all output of an ended process.
func (o *output) finish() {
	if o.read == nil {
		return
	}
	if o.sink != nil {
		o.sink.Ended()
	}
	o.ended.Store(true)
	_ = o.read.SetReadDeadline(time.Now().Add(outputPause)) // for a pending Read
	<-o.done
	o.read.Close()
	if o.sink != nil {
		o.sink.Close()
	}
}
