package printer

import "fmt"

// Source prints a child's lines within limits. One goroutine may call Line while
// another calls Ended.
type Source struct {
	p       *Printer
	print   func(line []byte)
	waiting int  // bytes in the queue
	ended   bool // the process has ended
	dropped int  // lines
}

// Source returns a Source that calls print with each line. print must write to an
// Output of this Printer.
func (p *Printer) Source(print func(line []byte)) *Source { return &Source{p: p, print: print} }

// Line prints a line. It waits while too much of the source's text is queued.
func (s *Source) Line(line []byte) {
	p := s.p
	p.mu.Lock()
	for s.full() && !p.late && !(s.ended && p.stuck()) {
		p.changed.Wait()
	}
	if s.full() || s.dropped > 0 {
		s.dropped++ // with all later lines, so that the output has no hidden gap
		p.mu.Unlock()
		return
	}
	// The line counts for the source instead of the program until the next entry is
	// written.
	s.waiting += len(line)
	p.sources += len(line)
	p.own -= len(line) + prefixRoom
	p.mu.Unlock()
	s.print(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own += prefixRoom
	p.queue = append(p.queue, entry{source: s, n: len(line)})
	p.signal()
}

// prefixRoom is the number of bytes allowed for print's additions to a line.
const prefixRoom = 512

// full reports whether too much text is queued. The caller holds the lock.
func (s *Source) full() bool {
	return s.waiting >= sourceLimit || s.p.sources >= allLimit
}

// Late makes all sources drop lines instead of waiting.
func (p *Printer) Late() {
	p.mu.Lock()
	p.late = true
	p.changed.Broadcast()
	p.mu.Unlock()
}

// Ended makes the source drop lines instead of waiting for a stuck destination.
func (s *Source) Ended() {
	s.p.mu.Lock()
	s.ended = true
	s.p.changed.Broadcast()
	s.p.mu.Unlock()
}

// Close prints the number of dropped lines, if any. Line must not be called afterwards.
func (s *Source) Close() {
	if s.dropped == 0 {
		return
	}
	p := s.p
	p.mu.Lock()
	room := 0
	if p.own < 2*ownLimit { // the note may exceed the limit, within bounds
		room = ownLimit
	}
	p.own -= room
	p.mu.Unlock()
	s.print(fmt.Appendf(nil, "… %d lines dropped", s.dropped))
	p.mu.Lock()
	p.own += room
	p.mu.Unlock()
}
