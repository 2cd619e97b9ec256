// Package printer writes what a program prints from a goroutine of its own, so that
// nothing in the program waits for a terminal that is stopped, a pager that is
// paused or a pipe that is stuck.
package printer

import (
	"io"
	"sync"
	"time"
)

// How much may wait to be written, in bytes.
const (
	ownLimit    = 1 << 20  // of the program's own text; what does not fit is dropped
	sourceLimit = 64 << 10 // of one source
	allLimit    = 4 << 20  // of all sources
)

// piece is how much is written at once: as much as a pipe takes as a whole, so that
// a slow reader can be told from one that does not read.
const piece = 4096

// patience is how long a single piece may take before the destination is stuck.
const patience = time.Second

// Printer writes to one or several destinations, in the order in which it was asked
// to. It is safe for concurrent use by multiple goroutines.
//
//  1. No method but Source.Line and Flush ever waits.
//  2. All that Outputs are given is written in the end, unless a destination does not
//     take it: then what would make own text longer than ownLimit is dropped, and
//     said to be, unless the Output keeps all.
//  3. A Source waits while too much of it is not written yet, so that it cannot fill
//     the memory. Once it has ended it does not wait for a destination that is stuck:
//     its lines are dropped, and said to be. After Late no Source waits at all.
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

// entry is what waits: text for an output or, if that is nil, the note that n bytes
// of a source have been passed.
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
	KeepAll bool // drop nothing; to be set before the first Write of what is not much

	p      *Printer
	w      io.Writer
	err    error
	broken chan struct{}
}

// To returns an Output that writes to w. Two for the same w are two that know
// nothing of each other's errors.
func (p *Printer) To(w io.Writer) *Output {
	return &Output{p: p, w: w, broken: make(chan struct{})}
}

// Write takes text to be written. It always returns len(text), nil.
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

// Err returns the first error of writing, nil if there was none. After it nothing
// more is written.
func (o *Output) Err() error {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	return o.err
}

// Broken returns a channel that is closed when there is an error.
func (o *Output) Broken() <-chan struct{} { return o.broken }

// Behind reports whether much waits to be written.
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
