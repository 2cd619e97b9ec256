package printer

import "fmt"

// Source passes on the lines of a program's child, and keeps them from filling the
// memory. One goroutine may call Line; Ended may be called by another.
type Source struct {
	p       *Printer
	print   func(line []byte)
	waiting int  // bytes in the queue
	ended   bool // it has no more to say than what is there
	dropped int  // lines
}

// Source returns a Source whose lines are given to print, which hands them to an
// Output of the same Printer.
func (p *Printer) Source(print func(line []byte)) *Source { return &Source{p: p, print: print} }

// Line prints a line, as soon as enough of the source's earlier lines is written.
func (s *Source) Line(line []byte) {
	p := s.p
	p.mu.Lock()
	for s.full() && !p.late && !(s.ended && p.stuck()) {
		p.changed.Wait()
	}
	if s.full() || s.dropped > 0 {
		s.dropped++ // and all that come after it, so that none seems to follow on another
		p.mu.Unlock()
		return
	}
	// Until the note behind it is passed the line is the source's, not the program's.
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

// prefixRoom is for what print adds to a line.
const prefixRoom = 512

// full reports whether too much is waiting. The caller holds the lock.
func (s *Source) full() bool {
	return s.waiting >= sourceLimit || s.p.sources >= allLimit
}

// Late says that it is too late to wait for a reader: from now on the lines of all
// sources are dropped that do not fit.
func (p *Printer) Late() {
	p.mu.Lock()
	p.late = true
	p.changed.Broadcast()
	p.mu.Unlock()
}

// Ended says that no line is to wait for a destination that is stuck.
func (s *Source) Ended() {
	s.p.mu.Lock()
	s.ended = true
	s.p.changed.Broadcast()
	s.p.mu.Unlock()
}

// Close says how many lines were dropped, if that was so. No line may follow.
func (s *Source) Close() {
	if s.dropped == 0 {
		return
	}
	p := s.p
	p.mu.Lock()
	room := 0
	if p.own < 2*ownLimit { // it may be more than what the program itself says
		room = ownLimit
	}
	p.own -= room
	p.mu.Unlock()
	s.print(fmt.Appendf(nil, "… %d lines dropped", s.dropped))
	p.mu.Lock()
	p.own += room
	p.mu.Unlock()
}
