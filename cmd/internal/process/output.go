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

// output reads what one process writes, and passes it to a Sink.
type output struct {
	sink  Sink
	read  *os.File // nil: there is nothing to come
	ended atomic.Bool
	rest  int           // bytes that may be read after the end
	done  chan struct{} // closed when all is taken
}

// longestLine is the length of the pieces that a longer line is cut into.
const longestLine = 64 << 10

func newOutput(sink Sink) *output {
	return &output{sink: sink, rest: outputRest, done: make(chan struct{})}
}

// open begins to read from the process.
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

// EachLine gives the lines of a text to print, one after the other.
func EachLine(text string, print func(line []byte)) { eachLine(strings.NewReader(text), print) }

// eachLine gives the lines of r to print, one after the other, to its end.
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

// When a process has ended, the rest of its output comes at once, unless a process
// that is not its descendant holds the output open.
const (
	outputPause = 100 * time.Millisecond // how long to wait for more of it
	outputRest  = 1 << 20                // how much can be left: what a pipe holds
)

// Read reads from the process, as long as output can be expected.
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

// finish returns when the Sink has all output of the process, which has ended.
func (o *output) finish() {
	if o.read == nil {
		return
	}
	if o.sink != nil {
		o.sink.Ended()
	}
	o.ended.Store(true)
	_ = o.read.SetReadDeadline(time.Now().Add(outputPause)) // for a Read that has begun
	<-o.done
	o.read.Close()
	if o.sink != nil {
		o.sink.Close()
	}
}
