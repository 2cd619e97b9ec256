package printer

import "fmt"

// Source passes on the lines of a program's child, within limits. One goroutine may
// call Line; another may call Ended.
type Source struct {
	p       *Printer
	print   func(line []byte)
	waiting int  // bytes in the queue
	ended   bool // its process has ended
	dropped int  // lines
}

// Source returns a Source that calls print with its lines. print must write them to an
// Output of the same Printer.
func (p *Printer) Source(print func(line []byte)) *Source { return &Source{p: p, print: print} }

// Line prints a line. It waits while too many of the source's earlier lines wait to be
// written.
func (s *Source) Line(line []byte) {
	p := s.p
	p.mu.Lock()
	for s.full() && !p.late && !(s.ended && p.stuck()) {
		p.changed.Wait()
	}
	if s.full() || s.dropped > 0 {
		s.dropped++ // with all after it, so that the output has no hidden gap
		p.mu.Unlock()
		return
	}
	// Until the entry after it is written, the line counts for the source, not for the
	// program.
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

// prefixRoom is room for what print adds to a line.
const prefixRoom = 512

// full reports whether too much is waiting. The caller holds the lock.
func (s *Source) full() bool {
	return s.waiting >= sourceLimit || s.p.sources >= allLimit
}

// Late makes all sources drop lines instead of waiting for a reader.
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

// Close prints how many lines were dropped, if any. No call of Line may follow.
func (s *Source) Close() {
	if s.dropped == 0 {
		return
	}
	p := s.p
	p.mu.Lock()
	room := 0
	if p.own < 2*ownLimit { // the note may exceed the limit, within reason
		room = ownLimit
	}
	p.own -= room
	p.mu.Unlock()
	s.print(fmt.Appendf(nil, "… %d lines dropped", s.dropped))
	p.mu.Lock()
	p.own += room
	p.mu.Unlock()
}
