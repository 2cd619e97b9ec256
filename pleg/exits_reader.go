package pleg

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// ExitOptions are the settings of an ExitReader. With the zero value it yields exits
// from now on.
type ExitOptions[K comparable] struct {
	// IncludePast also yields the earlier exits of listed containers.
	IncludePast bool
	// Resume continues from another reader's Position, with the exits that it has not
	// yielded and those since. It implies IncludePast. Containers in the position that
	// the runtime no longer has, such as those of another node, yield inferred exits.
	// Containers that appeared later and are gone yield none; see Position.
	Resume *ExitPosition[K]
}

// An ExitReader yields every exit once (G14 of Generator), after its pod's entry is in
// the cache. A pod's exits come in the order in which they became known, or by
// finishing time if that happened at once.
//
// A reader yields the exits since its creation, including those before the end of the
// first relist. If that relist shows an exited container, the reader yields its exit
// unless ExitDetails.Finished is set and before the creation.
//
// Pending exits are limited in proportion to the pods and containers. The oldest are
// dropped first; see Exit.Lost. A reader remembers the listed containers and the last
// 4096 others that ended, or those since its position. A container known only from
// events may be a forgotten one if they have no timestamp, or one at most 2 seconds
// after the last forgotten end. Its exit may then be missed but is never repeated.
//
// Make one with Generator.ExitReader; the zero value is not usable. An ExitReader is
// safe for concurrent use.
type ExitReader[K comparable] struct {
	mu       *sync.Mutex // the Generator's
	log      *exitLog[K]
	position func() ExitPosition[K] // with mu locked
	expect   func(K, Container)
	drop     func()
	ended    <-chan struct{} // closed with the cache
	closed   chan struct{}
	once     sync.Once
}

// ExitReader returns a reader of exits, to be closed after use. The error wraps
// field.Errors if o.Resume is invalid.
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
		expect:   func(pod K, c Container) { g.expectExit(l, pod, c) },
		drop:     func() { g.dropExits(l) },
		ended:    g.cache.Done(),
		closed:   make(chan struct{}),
	}, nil
}

// Exits yields exits from the start of each loop, for programs that need not remember
// them across their own restart. It ends like a loop over Events.
func (g *Generator[K, S]) Exits(ctx context.Context) iter.Seq[Exit[K]] {
	return func(yield func(Exit[K]) bool) {
		r, err := g.ExitReader(ExitOptions[K]{})
		if err != nil {
			return // impossible without a position
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

// exitPosition returns the position of l. It takes the pending events first, because
// they may report containers not seen by any look. The caller locks g.mu.
func (g *Generator[K, S]) exitPosition(l *exitLog[K]) ExitPosition[K] {
	g.core.takeEvents(&g.events)
	return l.position()
}

// expectExit makes l await the end of c, a container of pod.
func (g *Generator[K, S]) expectExit(l *exitLog[K], pod K, c Container) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.expect(pod, c, g.core.serial)
}

// dropExits ends the subscription of l.
func (g *Generator[K, S]) dropExits(l *exitLog[K]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.core.exits, l)
	g.events.followExits(len(g.core.exits) > 0)
}

// Next waits for the next exit. It returns a pending exit even if ctx is done.
// Otherwise the error is the context's, or ErrClosed after Close of the reader or the
// cache.
func (r *ExitReader[K]) Next(ctx context.Context) (e Exit[K], err error) {
	err = r.wait(ctx, func() (ok bool) {
		e, ok = r.log.next()
		return ok
	})
	return e, err
}

// NextAt is like Next and also returns the Position right after the exit. A reader
// resumed from it yields the later exits, including those that are pending or already
// yielded. Use NextAt if one goroutine reads exits and another handles them, and save
// the returned position with the outcome of its exit. Position would skip the exits that
// are read and not yet handled.
//
// The position lacks containers that Expect announces later. NextAt takes time in
// proportion to the containers and the pending exits, as Position does.
func (r *ExitReader[K]) NextAt(ctx context.Context) (e Exit[K], p ExitPosition[K], err error) {
	err = r.wait(ctx, func() (ok bool) {
		if e, ok = r.log.next(); ok {
			p = r.position()
		}
		return ok
	})
	return e, p, err
}

// wait calls next, with mu locked, until an exit is pending and next takes it. The error
// is that of Next.
func (r *ExitReader[K]) wait(ctx context.Context, next func() (ok bool)) error {
	for {
		over := queue.IsClosed(r.ended) || queue.IsClosed(r.closed)
		r.mu.Lock()
		ok := next()
		r.mu.Unlock()
		switch {
		case ok:
			return nil
		case over:
			return ErrClosed
		}
		select {
		case <-r.log.wake:
		case <-r.ended:
		case <-r.closed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TryNext returns the next exit; ok is false if none is pending.
func (r *ExitReader[K]) TryNext() (e Exit[K], ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.next()
}

// Position returns the reader's position. A reader resumed from it yields the exits
// that this one has not yielded. Save it together with the outcome of each exit,
// because an older position repeats the exit. If another goroutine handles the exits,
// save the position that NextAt returns, because an exit that is yielded and not yet
// handled is missing from Position.
//
// A position contains the containers shown or expected so far. One that appears later
// and is gone before the position is resumed yields no exit, so save the position also
// after starting a container, or use Expect.
func (r *ExitReader[K]) Position() ExitPosition[K] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position()
}

// Expect announces a container before the Generator has seen it. If a full relist that
// begins later does not show it, its exit is inferred, with its Name and Attempt. Its
// State is ignored.
//
// To learn the exit even after a crash, create the container, call Expect, save the
// Position and then start the container. Do so in the goroutine that handles the exits,
// so that the Position skips no exit. Expect is a no-op if the container's exit is
// pending or was yielded.
func (r *ExitReader[K]) Expect(pod K, c Container) { r.expect(pod, c) }

// Close ends the subscription. Pending exits can still be read.
func (r *ExitReader[K]) Close() {
	r.once.Do(func() {
		r.drop()
		close(r.closed)
	})
}
