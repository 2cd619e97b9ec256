// Package printer writes output in a goroutine, so that a program does not wait for a
// stopped terminal, a paused pager or a stuck pipe.
package printer

import (
	"io"
	"sync"
	"time"
)

// Limits of the queued text, in bytes.
const (
	ownLimit    = 1 << 20  // the program's own text; excess is dropped
	sourceLimit = 64 << 10 // one source
	allLimit    = 4 << 20  // all sources
)

// piece is the size of one write in bytes. A pipe takes this much at once, which
// distinguishes a slow reader from a stopped one.
const piece = 4096

// patience is how long a write may take before the destination counts as stuck.
const patience = time.Second

// Printer writes to destinations in the order of the calls. It is safe for concurrent
// use.
//
//  1. Only Source.Line, Flush and Finish wait.
//  2. All text written to an Output reaches its destination. If that is stuck, text beyond
//     ownLimit is dropped, with a note, unless the Output keeps all text.
//  3. A Source waits while too much of its text is queued, which bounds memory. Once it has
//     ended, it drops lines for a stuck destination, with a note, instead of waiting. After
//     Late no Source waits.
type Printer struct {
	mu      sync.Mutex
	changed *sync.Cond // the queue is shorter, a source has ended, or a destination is stuck
	queue   []entry
	own     int       // bytes of the program's own text in the queue
	sources int       // bytes of all sources in the queue
	late    bool      // sources no longer wait
	end     time.Time // when Finish gives up; zero means only on a signal
	writing time.Time // start of the current write; zero if idle
	wake    chan struct{}
}

// entry is a queued text for an output. If to is nil, it marks the end of n bytes of a
// source.
type entry struct {
	to      *Output
	text    []byte
	dropped int // number of lines dropped here
	source  *Source
	n       int
}

// New returns a Printer, which runs until the program ends.
func New() *Printer {
	p := &Printer{wake: make(chan struct{}, 1)}
	p.changed = sync.NewCond(&p.mu)
	go p.run()
	return p
}

// Output is an io.Writer that never waits or fails.
type Output struct {
	KeepAll bool // drop nothing; for short texts; set before the first Write

	p      *Printer
	w      io.Writer
	err    error
	broken chan struct{}
}

// To returns an Output for w. Outputs for the same w do not share errors.
func (p *Printer) To(w io.Writer) *Output {
	return &Output{p: p, w: w, broken: make(chan struct{})}
}

// Write queues text. It always returns len(text) and nil.
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

// Err returns the first write error, or nil. After an error the Output writes nothing.
func (o *Output) Err() error {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	return o.err
}

// Broken returns a channel that closes on the first write error.
func (o *Output) Broken() <-chan struct{} { return o.broken }

// Behind reports whether much text is queued.
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
