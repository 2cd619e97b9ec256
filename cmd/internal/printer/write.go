package printer

import (
	"fmt"
	"time"
)

// run writes the queue for ever.
func (p *Printer) run() {
	for range p.wake {
		for {
			to, text, passed := p.next()
			if to == nil && passed == 0 {
				break
			}
			if to != nil {
				p.write(to, text)
			}
		}
	}
}

// next removes the next text for one output from the queue. passed is the number of
// entries removed.
func (p *Printer) next() (to *Output, text []byte, passed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.queue {
		if e.source == nil && to != nil && (e.to != to || len(text) >= piece) {
			break
		}
		passed++
		switch {
		case e.source != nil:
			e.source.waiting -= e.n
			p.sources -= e.n
			p.own += e.n
		case e.dropped > 0:
			to, text = e.to, fmt.Appendf(text, "… %d lines dropped\n", e.dropped)
		default:
			to, text = e.to, append(text, e.text...)
			p.own -= len(e.text)
		}
	}
	p.queue = p.queue[passed:]
	if len(p.queue) == 0 {
		p.queue = nil
	}
	if to != nil {
		p.writing = time.Now()
	}
	p.changed.Broadcast()
	return to, text, passed
}

// write writes text, unless the output has failed.
func (p *Printer) write(to *Output, text []byte) {
	for err := to.Err(); len(text) > 0 && err == nil; {
		n := min(len(text), piece)
		p.mu.Lock()
		p.writing = time.Now()
		p.mu.Unlock()
		stuck := time.AfterFunc(patience, p.wakeAll)
		_, err = to.w.Write(text[:n])
		stuck.Stop()
		text = text[n:]
		if err != nil {
			p.mu.Lock()
			to.err = err
			p.mu.Unlock()
			close(to.broken)
		}
	}
	p.mu.Lock()
	p.writing = time.Time{}
	p.changed.Broadcast()
	p.mu.Unlock()
}

func (p *Printer) wakeAll() {
	p.mu.Lock()
	p.changed.Broadcast()
	p.mu.Unlock()
}

// stuck reports whether the current write has taken longer than patience. The caller
// holds the lock.
func (p *Printer) stuck() bool { return !p.writing.IsZero() && time.Since(p.writing) >= patience }

// Flush waits until all text is written, or giveUp is closed or receives a value. It
// reports whether all was written.
func (p *Printer) Flush(giveUp <-chan struct{}) bool { return p.flush(giveUp, false) }

// flush implements Flush. If hasty is true, it also gives up on a stuck destination.
func (p *Printer) flush(giveUp <-chan struct{}, hasty bool) bool {
	over := make(chan struct{})
	defer close(over)
	givenUp := false
	go func() {
		select {
		case <-giveUp:
			p.mu.Lock()
			givenUp = true
			p.changed.Broadcast()
			p.mu.Unlock()
		case <-over:
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) > 0 || !p.writing.IsZero() {
		if givenUp || hasty && p.stuck() {
			return false
		}
		p.changed.Wait()
	}
	return true
}
