package printer

import (
	"os"
	"time"
)

// lastWords is how long a program still writes after it was asked a second time to end.
const lastWords = time.Second

// EndWithin says that the program ends within the grace period: at the end of it no
// Source waits any more, and Finish gives up.
func (p *Printer) EndWithin(grace time.Duration) {
	p.mu.Lock()
	p.end = time.Now().Add(grace)
	p.mu.Unlock()
	time.AfterFunc(grace, p.Late)
}

// EndSoon says, after EndWithin, that the program ends at once: no Source waits any
// more, and Finish gives up after a second.
func (p *Printer) EndSoon() {
	p.Late()
	p.mu.Lock()
	defer p.mu.Unlock()
	if soon := time.Now().Add(lastWords); soon.Before(p.end) {
		p.end = soon
	}
}

// Finish waits until everything is written. It gives up at the end set by EndWithin and
// EndSoon, or when a signal arrives. After EndWithin it does not wait for a stuck
// destination either. It reports whether everything is written.
func (p *Printer) Finish(signals <-chan os.Signal) bool {
	giveUp := make(chan struct{})
	p.mu.Lock()
	end := p.end
	p.mu.Unlock()
	go func() {
		defer close(giveUp)
		var due <-chan time.Time
		if !end.IsZero() {
			due = time.After(time.Until(end))
		}
		select {
		case <-signals:
		case <-due:
		}
	}()
	return p.flush(giveUp, !end.IsZero())
}
