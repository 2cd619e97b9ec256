package pleg

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// ExitOptions are the settings of an ExitReader. The zero value is a reader of the
// exits from now on.
type ExitOptions[K comparable] struct {
	// IncludePast also yields the exits from before the reader was made, of containers that
	// are still listed.
	IncludePast bool
	// Resume goes on where another reader was at its Position: the new reader yields the
	// exits that the other one has not yielded, and those since. It implies IncludePast. The
	// exit of a container that was there then and is gone is inferred, so from a position
	// of another node every container's is. A container that came after the position and
	// is gone has no exit here; see Position. Nil: there was no other reader.
	Resume *ExitPosition[K]
}

// An ExitReader yields every exit once (G14 of Generator): those of a pod in the order
// in which they became known, and those that became known at once by the time at which
// they finished. An exit comes after the entry of its pod in the cache. A sandbox that is
// listed as a container ends like one.
//
// A reader yields the exits since it was made, also those before the first relist has
// ended. If that relist shows a container that has exited already,
// ExitDetails.Finished says whether the reader was made before; without it the exit is
// yielded.
//
// A reader that is not read holds a bounded number of exits, in proportion to the
// pods and containers, and then drops the oldest; see Exit.Lost. It remembers the
// containers that are listed and the last 4096 others that ended, or those since its
// position. If events alone tell of a container, and without a stamp or with one up to
// 2 seconds after the last end that is forgotten, it may be a forgotten one: then an
// exit may be missed but is never repeated. An end that nobody saw of a container whose
// id is used again goes unnoticed, as Container.ID says.
//
// Make one with Generator.ExitReader; the zero value is not usable. An ExitReader is
// safe for concurrent use by multiple goroutines.
type ExitReader[K comparable] struct {
	mu       *sync.Mutex // the Generator's
	log      *exitLog[K]
	position func() ExitPosition[K]
	expect   func(containerRef[K])
	drop     func()
	ended    <-chan struct{} // closed with the cache
	closed   chan struct{}
	once     sync.Once
}

// ExitReader returns a reader of exits. The error wraps field.Errors with
// what is wrong with o.After. Close the reader when nobody reads it any longer.
func (g *Generator[K, S]) ExitReader(o ExitOptions[K]) (*ExitReader[K], error) {
	now := g.cache.Clock().Now()
	l, err := newExitLog(o.IncludePast, o.Resume, now)
	if err != nil {
		return nil, fmt.Errorf("pleg: ExitReader: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.core.subscribeExits(l, now)
	g.events.followExits(true)
	return &ExitReader[K]{
		mu:       &g.mu,
		log:      l,
		position: func() ExitPosition[K] { return g.exitPosition(l) },
		expect:   func(c containerRef[K]) { g.expectExit(l, c) },
		drop:     func() { g.dropExits(l) },
		ended:    g.cache.Done(),
		closed:   make(chan struct{}),
	}, nil
}

// Exits yields the exits from now on, each loop from its own start. It is a loop
// over an ExitReader without options, for programs that need not remember across
// their own restart what they have seen. It ends like a loop over Events.
func (g *Generator[K, S]) Exits(ctx context.Context) iter.Seq[Exit[K]] {
	return func(yield func(Exit[K]) bool) {
		r, err := g.ExitReader(ExitOptions[K]{})
		if err != nil {
			return // cannot be: there is no position
		}
		defer r.Close()
		for ctx.Err() == nil {
			e, err := r.Next(ctx)
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// exitPosition is the position of l. It takes the events that came in first, which
// may tell of containers that nobody has looked at.
func (g *Generator[K, S]) exitPosition(l *exitLog[K]) ExitPosition[K] {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.core.takeEvents(&g.events)
	return l.position()
}

// expectExit makes l await the end of c.
func (g *Generator[K, S]) expectExit(l *exitLog[K], c containerRef[K]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.expect(c, g.core.serial)
}

// dropExits ends the subscription of l.
func (g *Generator[K, S]) dropExits(l *exitLog[K]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.core.exits, l)
	g.events.followExits(len(g.core.exits) > 0)
}

// Next returns the next exit and waits for it. If one is there Next returns it at
// once, even if the context is done. Otherwise the error is the context's, or
// ErrClosed after the Close of the reader or of the cache.
func (r *ExitReader[K]) Next(ctx context.Context) (Exit[K], error) {
	for {
		over := queue.IsClosed(r.ended) || queue.IsClosed(r.closed)
		if e, ok := r.TryNext(); ok {
			return e, nil
		}
		if over {
			return Exit[K]{}, ErrClosed
		}
		select {
		case <-r.log.wake:
		case <-r.ended:
		case <-r.closed:
		case <-ctx.Done():
			return Exit[K]{}, ctx.Err()
		}
	}
}

// TryNext returns the next exit if there is one; ok is false if there is none yet, or
// no more.
func (r *ExitReader[K]) TryNext() (e Exit[K], ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.next()
}

// Position returns where the reader is: a reader made with it, of this Generator or
// of one in another process, yields what this one has not yielded. Save it when an
// exit has been dealt with, together with the outcome: from an older position the exit
// comes again. A position names the containers that were shown or expected until then.
// One that appears later, and is gone before the next reader is made, has no exit there:
// save the position also when a container has started whose exit the program waits for;
// see Expect. After Close it stays as it was, but for the exits that are read.
func (r *ExitReader[K]) Position() ExitPosition[K] { return r.position() }

// Expect tells the reader that a container is there, as its creator knows before the
// Generator does. Its end is yielded also if nothing ever shows the container: it is
// inferred when a full relist that begins later does not show it. A Position names what
// is expected. Call Expect when the container was created, save the Position, and then
// start the container: a program that is killed at any moment is told its exit, or that
// the runtime no longer knows it, by the reader that goes on. Expect is a no-op for a
// container whose exit the reader has yielded or has due.
func (r *ExitReader[K]) Expect(pod K, container string) {
	r.expect(containerRef[K]{pod, container})
}

// Close ends the subscription. What is due can still be read.
func (r *ExitReader[K]) Close() {
	r.once.Do(func() {
		r.drop()
		close(r.closed)
	})
}
