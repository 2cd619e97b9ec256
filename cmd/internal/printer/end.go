package printer

import (
	"os"
	"time"
)

// lastWords is how long a program may still write after the second request to end.
const lastWords = time.Second

// EndWithin announces the program's end after the grace period. From then on no Source
// waits and Finish gives up.
func (p *Printer) EndWithin(grace time.Duration) {
	p.mu.Lock()
	p.end = time.Now().Add(grace)
	p.mu.Unlock()
	time.AfterFunc(grace, p.Late)
}

// EndSoon announces, after EndWithin, an immediate end. From now on no Source waits,
// and Finish gives up after a second.
func (p *Printer) EndSoon() {
	p.Late()
	p.mu.Lock()
	defer p.mu.Unlock()
	if soon := time.Now().Add(lastWords); soon.Before(p.end) {
		p.end = soon
	}
}

// Finish waits until all text is written, and reports whether it was. It gives up on a
// signal or at the end set by EndWithin and EndSoon. After EndWithin, it also gives up
// on a stuck destination.
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
