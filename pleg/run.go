package pleg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// Run fills the cache and reports changes until ctx ends or the cache is closed. It
// returns the context's error or ErrClosed after all its calls have returned. A later
// Run continues where the last one ended.
func (g *Generator[K, S]) Run(ctx context.Context) error {
	g.mu.Lock()
	again := g.running
	g.running = true
	g.mu.Unlock()
	if again {
		return errors.New("pleg: Run: already running")
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running = false
	}()
	return g.makeCalls(ctx, true, nil)
}

// Relist makes a full relist that begins now and includes failing pods, and waits for
// its end. The error is the list's, the context's or ErrClosed; errors of single pods
// are in their entries. Relist also works without Run.
func (g *Generator[K, S]) Relist(ctx context.Context) error {
	w := &relistWaiter{done: make(chan error, 1)}
	g.mu.Lock()
	w.serial = g.core.next()
	g.core.waiters = append(g.core.waiters, w)
	g.mu.Unlock()
	queue.Signal(g.events.wake)
	err := g.makeCalls(ctx, false, w.done)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.core.dropWaiter(w)
	return err
}

// A runner makes the calls that the relister requests. At most one exists at a time,
// for Run or for a Relist without Run.
type runner[K comparable, S any] struct {
	g        *Generator[K, S]
	stop     <-chan struct{} // closed when the calls are cancelled
	inFlight map[call[K]]*inFlightCall
	results  chan result[K, S]
	ended    chan error // receives the stream's error
	working  sync.WaitGroup
}

// An inFlightCall is a call in progress.
type inFlightCall struct {
	cancel context.CancelFunc
	late   bool // cancelled at its deadline
}

// makeCalls waits until no other goroutine makes calls, and then makes them until done
// receives, ctx ends or the cache is closed.
func (g *Generator[K, S]) makeCalls(ctx context.Context, running bool, done <-chan error) error {
	if queue.IsClosed(g.cache.Done()) { // otherwise the select below could start one more call
		return ErrClosed
	}
	select {
	case g.calling <- struct{}{}:
	case err := <-done:
		return err
	case <-g.cache.Done():
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	inner, cancel := context.WithCancel(ctx)
	r := &runner[K, S]{g: g, stop: inner.Done(), inFlight: map[call[K]]*inFlightCall{}, results: make(chan result[K, S]), ended: make(chan error)}
	defer func() {
		cancel()
		r.drain()
		g.mu.Lock()
		g.core.abandon(g.cache.Clock().Now())
		g.mu.Unlock()
		<-g.calling
	}()
	timer := g.cache.Clock().NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(r.advance(inner, running))
		select {
		case err := <-done:
			return err
		case <-g.cache.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		case a := <-r.results:
			r.handleResult(a)
		case err := <-r.ended:
			r.streamEnded(err)
		case <-timer.C():
		case <-g.events.wake:
		case <-g.cache.WaitBegan():
		}
	}
}

// advance does the work that is due, cancels late calls and returns how long to wait
// for the next result or event.
func (r *runner[K, S]) advance(ctx context.Context, running bool) time.Duration {
	now := r.g.cache.Clock().Now()
	t := r.turn(ctx, now, running)
	for t.ended {
		r.g.cache.UpdateTime(t.start) // it may wake thousands
		t = r.turn(ctx, now, running)
	}
	wake := t.wake
	for c, f := range r.inFlight {
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

// turn takes the pending events and makes the calls that are due.
func (r *runner[K, S]) turn(ctx context.Context, now time.Time, running bool) turn[K] {
	g := r.g
	var overdue []K
	var waits wakeup
	if running {
		overdue, waits.at, waits.set = g.cache.Overdue(now, g.core.o.WaitLimit)
	}
	g.mu.Lock()
	g.core.takeEvents(&g.events)
	t := g.core.turn(now, running, overdue)
	g.mu.Unlock()
	if t.connect {
		r.working.Go(func() { r.listen(ctx) })
	}
	for _, c := range t.calls {
		ctx, cancel := context.WithCancel(ctx)
		r.inFlight[c] = &inFlightCall{cancel: cancel}
		r.working.Go(func() { r.ask(ctx, c) })
	}
	t.wake = t.wake.or(waits)
	return t
}

// listen follows the stream until it ends.
func (r *runner[K, S]) listen(ctx context.Context) {
	err := errors.New("pleg: Events: the call did not return")
	defer func() {
		select {
		case r.ended <- err:
		case <-r.stop:
		}
	}()
	err = r.g.stream.Events(ctx, func(e RuntimeEvent[K, S]) { r.g.events.event(e, r.g.cache.Clock().Now()) })
}

// ask makes one call. It sends a result even if the call ends the goroutine.
func (r *runner[K, S]) ask(ctx context.Context, c call[K]) {
	a := result[K, S]{call: c, err: fmt.Errorf("pleg: %v: the call did not return", c.kind)}
	defer func() { r.results <- a }()
	switch c.kind {
	case callPods:
		a.pods, a.err = r.g.runtime.Pods(ctx)
	case callPod:
		a.pods = make([]Pod[K], 1)
		a.pods[0], a.err = r.g.single.Pod(ctx, c.pod)
	case callStatus:
		a.status, a.stamp, a.err = r.g.runtime.Status(ctx, c.pod)
	}
}

// drain waits for the cancelled calls and handles the answers that still arrive,
// because readers of exits must learn of every container in an answer (G14).
func (r *runner[K, S]) drain() {
	go func() {
		r.working.Wait()
		close(r.results)
	}()
	for a := range r.results {
		if a.err == nil || errors.Is(a.err, ErrNotFound) {
			r.handleResult(a)
		}
	}
}

// handleResult handles the result of a call.
func (r *runner[K, S]) handleResult(a result[K, S]) {
	f := r.inFlight[a.call]
	f.cancel()
	delete(r.inFlight, a.call)
	if f.late && a.err != nil {
		a.err = a.call.lateError(r.g.core.o)
	}
	now := r.g.cache.Clock().Now()
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	r.g.core.takeEvents(&r.g.events) // before the result
	if a.call.kind == callPods {
		r.g.core.handleList(a.pods, a.err, now)
	} else {
		r.g.core.handleAnswer(a, now)
	}
}

// streamEnded handles the end of the stream.
func (r *runner[K, S]) streamEnded(err error) {
	now := r.g.cache.Clock().Now()
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	r.g.core.streamEnded(err, now)
}
