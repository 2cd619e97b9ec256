// Package printer writes a program's output in its own goroutine, so that the program
// does not wait for a stopped terminal, a paused pager or a stuck pipe.
package printer

import (
	"io"
	"sync"
	"time"
)

// Limits of the text that waits to be written, in bytes.
const (
	ownLimit    = 1 << 20  // the program's own text; what exceeds it is dropped
	sourceLimit = 64 << 10 // one source
	allLimit    = 4 << 20  // all sources
)

// piece is the size of one write: what a pipe takes at once, so that a slow reader can
// be distinguished from one that does not read.
const piece = 4096

// patience is how long one write may take before the destination counts as stuck.
const patience = time.Second

// Printer writes to one or several destinations, in the order of the calls. It is safe
// for concurrent use by multiple goroutines.
//
//  1. Only Source.Line, Flush and Finish wait.
//  2. Everything that is written to an Output reaches its destination, unless the
//     destination is stuck: then text that exceeds ownLimit is dropped, with a note, unless
//     the Output keeps all.
//  3. A Source waits while too much of its text waits, so that it cannot fill the memory.
//     Once it has ended it does not wait for a stuck destination: its lines are dropped,
//     with a note. After Late no Source waits.
type Printer struct {
	mu      sync.Mutex
	changed *sync.Cond // the queue is shorter, or a source has ended, or something is stuck
	queue   []entry
	own     int       // bytes of the program's own text in the queue
	sources int       // bytes of all sources in the queue
	late    bool      // sources do not wait any more
	end     time.Time // when Finish gives up; zero: with a signal only
	writing time.Time // since when a piece is being written; zero: none is
	wake    chan struct{}
}

// entry is a queued text for an output or, if to is nil, the mark after n bytes of a
// source.
type entry struct {
	to      *Output
	text    []byte
	dropped int // lines that were dropped here
	source  *Source
	n       int
}

// New returns a Printer. It runs until the program ends.
func New() *Printer {
	p := &Printer{wake: make(chan struct{}, 1)}
	p.changed = sync.NewCond(&p.mu)
	go p.run()
	return p
}

// Output is a destination, as an io.Writer that never waits and never fails.
type Output struct {
	KeepAll bool // drop nothing; for short texts, set before the first Write

	p      *Printer
	w      io.Writer
	err    error
	broken chan struct{}
}

// To returns an Output that writes to w. Two Outputs for the same w do not share their
// errors.
func (p *Printer) To(w io.Writer) *Output {
	return &Output{p: p, w: w, broken: make(chan struct{})}
}

// Write queues text. It always returns len(text), nil.
func (o *Output) Write(text []byte) (int, error) {
	p := o.p
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.queue) - 1
	switch {
	case o.KeepAll || p.own+len(text) <= ownLimit:
		p.own += len(text)
		p.queue = append(p.queue, entry{to: o, text: append([]byte(nil), text...)})
		p.signal()
	case last >= 0 && p.queue[last].dropped > 0:
		p.queue[last].dropped++
	default:
		p.queue = append(p.queue, entry{to: o, dropped: 1})
	}
	return len(text), nil
}

// Err returns the first write error, nil if there was none. After an error nothing
// more is written.
func (o *Output) Err() error {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	return o.err
}

// Broken returns a channel that is closed at the first write error.
func (o *Output) Broken() <-chan struct{} { return o.broken }

// Behind reports whether much text waits to be written.
func (p *Printer) Behind() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own >= sourceLimit
}

func (p *Printer) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
