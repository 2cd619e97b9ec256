package pleg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Run keeps the cache and tells what happens until ctx ends or the cache is
// closed, and returns why once every call that it made has returned. A second
// Run at the same time is an error; one after the first goes on where that
// ended.
func (g *Generator[K, S]) Run(ctx context.Context) error {
	g.mu.Lock()
	again := g.running
	g.running = true
	g.mu.Unlock()
	if again {
		return errors.New("pleg: Run(): already running")
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running = false
	}()
	return g.drive(ctx, true, nil)
}

// Relist makes one full relist that begins now, looks at failing pods too, and
// returns when it has ended. The error is the list's or the context's, or
// ErrClosed; one of a single pod is in its entry. It works in and outside of
// Run; outside it starts the goroutines that make its calls, and waits for them.
func (g *Generator[K, S]) Relist(ctx context.Context) error {
	t := &ticket{done: make(chan error, 1)}
	g.mu.Lock()
	t.serial = g.core.next()
	g.core.tickets = append(g.core.tickets, t)
	g.mu.Unlock()
	poke(g.intake.kick)
	err := g.drive(ctx, false, t.done)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.core.drop(t)
	return err
}

// A driver makes the calls that the relister asks for. There is one at a time:
// Run, or Relist outside of it.
type driver[K comparable, S any] struct {
	g       *Generator[K, S]
	stop    <-chan struct{} // closed when no answer is taken any more
	flights map[call[K]]*flight
	answers chan answer[K, S]
	ended   chan error // of the stream
	working sync.WaitGroup
}

// A flight is a call under way.
type flight struct {
	cancel context.CancelFunc
	late   bool // cancelled at its deadline
}

// drive waits to become the driver and makes the calls until done brings
// something, ctx ends or the cache is closed.
func (g *Generator[K, S]) drive(ctx context.Context, running bool, done <-chan error) error {
	if g.cache.isClosed() { // else the choice below may fall on one more call
		return ErrClosed
	}
	select {
	case g.driving <- struct{}{}:
	case err := <-done:
		return err
	case <-g.cache.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	inner, cancel := context.WithCancel(ctx)
	d := &driver[K, S]{g: g, stop: inner.Done(), flights: map[call[K]]*flight{}, answers: make(chan answer[K, S]), ended: make(chan error)}
	defer func() {
		cancel()
		d.working.Wait()
		g.mu.Lock()
		g.core.abandon()
		g.state.reset()
		g.rely(g.cache.clock.Now())
		g.mu.Unlock()
		<-g.driving
	}()
	timer := g.cache.clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(d.advance(inner, running))
		select {
		case err := <-done:
			return err
		case <-g.cache.done:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		case a := <-d.answers:
			d.land(a)
		case err := <-d.ended:
			g.lost(err)
		case <-timer.C():
		case <-g.intake.kick:
		case <-g.cache.waits.began:
		}
	}
}

// advance cancels what is late, makes the calls that are due and returns how
// long to wait for something to happen.
func (d *driver[K, S]) advance(ctx context.Context, running bool) time.Duration {
	now := d.g.cache.clock.Now()
	list, connect, wake := d.g.step(now, running)
	if connect {
		d.working.Go(func() { d.listen(ctx) })
	}
	for _, c := range list {
		ctx, cancel := context.WithCancel(ctx)
		d.flights[c] = &flight{cancel: cancel}
		d.working.Go(func() { d.ask(ctx, c) })
	}
	for c, f := range d.flights {
		switch {
		case f.late:
		case c.deadline.After(now):
			wake = wake.or(wakeAt(c.deadline))
		default:
			f.late = true
			f.cancel()
		}
	}
	if !wake.set {
		return time.Hour
	}
	return wake.at.Sub(now)
}

// step takes what came in and returns the calls to make, whether to open the
// stream, and when to step again at the latest.
func (g *Generator[K, S]) step(now time.Time, running bool) (list []call[K], connect bool, wake wakeup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hear(now)
	if running {
		if g.stream != nil {
			connect = g.state.connect(now)
			if g.state.prove(now) {
				g.core.stats.Connections++
			}
			wake = g.state.next()
		}
		keys, next := g.cache.overdue(now, g.core.o.WaitLimit)
		for _, key := range keys {
			g.core.request(key, true)
		}
		wake = wake.or(next)
	}
	g.core.expectTold = running && g.stream != nil && !g.state.unsupported
	g.core.tellsLate = g.state.open && !g.state.barred
	for {
		g.rely(now)
		g.core.retries(now)
		list = append(list, g.core.calls(now, running, g.period())...)
		start, done := g.core.done()
		if !done {
			break
		}
		g.mu.Unlock() // it may wake thousands
		g.cache.UpdateTime(start)
		g.mu.Lock()
		g.core.finish(now)
		g.state.listed(start)
	}
	wake = wake.or(g.core.retries(now))
	if running {
		wake = wake.or(g.core.wake(g.period()))
	}
	return list, connect, wake
}

// hear takes what came in.
func (g *Generator[K, S]) hear(now time.Time) {
	if g.core.take(&g.intake, now) {
		g.state.told = true
	}
}

// rely notes whether the stream is relied upon.
func (g *Generator[K, S]) rely(now time.Time) {
	if reliable := g.state.reliable(); reliable != g.relying {
		g.relying, g.changed = reliable, now
	}
}

// period is the one in force between full relists.
func (g *Generator[K, S]) period() time.Duration {
	if g.relying {
		return g.core.o.EventedPeriod
	}
	return g.core.o.RelistPeriod
}

// lost notes the end of the stream.
func (g *Generator[K, S]) lost(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.cache.clock.Now()
	g.core.stats.ConnectionErrors++
	if g.state.ended(now, err) {
		g.core.listNow = true
	}
	g.rely(now)
}

// listen follows the stream once, until it ends.
func (d *driver[K, S]) listen(ctx context.Context) {
	err := errors.New("pleg: Events(): the call did not return")
	defer func() {
		select {
		case d.ended <- err:
		case <-d.stop:
		}
	}()
	err = d.g.stream.Events(ctx, func(e RuntimeEvent[K, S]) { d.g.intake.event(e, d.g.cache.clock.Now()) })
}

// ask makes one call. Its answer comes also if the call ends the goroutine.
func (d *driver[K, S]) ask(ctx context.Context, c call[K]) {
	a := answer[K, S]{call: c, err: fmt.Errorf("pleg: %v(): the call did not return", c.kind)}
	defer func() {
		select {
		case d.answers <- a:
		case <-d.stop:
		}
	}()
	switch c.kind {
	case callPods:
		a.pods, a.err = d.g.runtime.Pods(ctx)
	case callPod:
		a.pods = make([]Pod[K], 1)
		a.pods[0], a.err = d.g.single.Pod(ctx, c.pod)
	case callStatus:
		a.status, a.stamp, a.err = d.g.runtime.Status(ctx, c.pod)
	}
}

// land takes the answer of a call.
func (d *driver[K, S]) land(a answer[K, S]) {
	f := d.flights[a.call]
	f.cancel()
	delete(d.flights, a.call)
	if f.late && a.err != nil {
		a.err = a.call.late(d.g.core.o)
	}
	now := d.g.cache.clock.Now()
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	d.g.hear(now) // what was told before the answer came
	d.g.core.answered(a, now)
}
