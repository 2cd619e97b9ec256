package plegtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
)

// A delivery is a scheduled event.
type delivery[K comparable] struct {
	event pleg.RuntimeEvent[K]
	due   time.Time
	order float64 // among deliveries due at the same time
}

// A stream is one connection of Events.
type stream[K comparable] struct {
	queue []delivery[K]
	lose  int           // number of events yet to lose
	err   error         // set when the stream is cut
	wake  chan struct{} // holds one token if the state may have changed
}

func (s *stream[K]) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// cut ends all streams with err.
func (r *Runtime[K]) cut(err error) {
	for _, s := range r.streams {
		s.err = err
		s.poke()
	}
	r.streams = nil
}

// replayed is the number of events that a stream may replay or lose at its start.
const replayed = 5

// send sends the event of the last change, subject to the faults.
func (r *Runtime[K]) send(id K, container string, kind pleg.RuntimeEventType, exit *pleg.ExitDetails) {
	n := r.changes
	roll := func(fault string, rate float64) bool { return r.roll(fault, rate, n) }
	if r.down || roll("Drop", r.faults.Drop) {
		return
	}
	e := pleg.RuntimeEvent[K]{Pod: id, Container: container, Type: kind, At: r.stamp()}
	if exit != nil && !roll("Bare", r.faults.Bare) {
		e.Exit = exit
	}
	switch {
	case roll("Nameless", r.faults.Nameless):
		var none K
		e.Pod = none
	case roll("Strange", r.faults.Strange):
		e.Type = 99
	}
	delay := r.faults.Delay
	d := delivery[K]{event: e, due: r.clock.Now(), order: float64(n)}
	switch {
	case roll("Late", r.faults.Late):
		d.due = d.due.Add(time.Duration(r.dice.float("lateness", n) * float64(delay)))
	case roll("Reorder", r.faults.Reorder):
		d.order = -d.order
		d.due = d.due.Add(time.Duration(r.dice.float("reordering", n) * float64(delay)))
	}
	deliveries := []delivery[K]{d}
	if roll("Duplicate", r.faults.Duplicate) {
		d.due = d.due.Add(time.Duration(r.dice.float("again", n) * float64(delay)))
		deliveries = append(deliveries, d)
	}
	if r.log = append(r.log, d); len(r.log) > 2*replayed {
		r.log = slices.Clone(r.log[replayed:])
	}
	for _, s := range r.streams {
		if s.lose > 0 {
			s.lose--
			r.inject("Lose")
			continue
		}
		s.queue = append(s.queue, deliveries...)
		s.poke()
	}
	if roll("Disconnect", r.faults.Disconnect) {
		r.cut(ErrInjected)
	}
}

// Events streams the events of changes until ctx or the stream ends.
func (r *Runtime[K]) Events(ctx context.Context, handle func(pleg.RuntimeEvent[K])) error {
	s, err := r.connect()
	if s == nil {
		return err
	}
	defer r.disconnect(s)
	for {
		d, wait, err := r.next(s)
		switch {
		case err != nil:
			return err
		case wait == 0:
			handle(d.event)
			continue
		}
		select {
		case <-s.wake:
		case <-r.after(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *Runtime[K]) connect() (*stream[K], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connections++
	roll := func(fault string, rate float64) bool { return r.roll(fault, rate, r.connections) }
	switch {
	case r.unsupported:
		return nil, pleg.ErrUnsupported
	case r.down:
		return nil, ErrDown
	case roll("EndAtOnce", r.faults.EndAtOnce):
		return nil, nil
	}
	s := &stream[K]{wake: make(chan struct{}, 1)}
	if len(r.log) > 0 && roll("Replay", r.faults.Replay) {
		for _, d := range r.log[max(0, len(r.log)-replayed):] {
			d.due = r.clock.Now()
			s.queue = append(s.queue, d)
		}
	}
	if r.connections > 1 && r.dice.float("Lose", r.connections) < r.faults.Lose {
		s.lose = replayed
	}
	r.streams = append(r.streams, s)
	r.busy++
	return s, nil
}

func (r *Runtime[K]) disconnect(s *stream[K]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	r.streams = slices.DeleteFunc(r.streams, func(x *stream[K]) bool { return x == s })
}

// next returns the next due event, or how long to wait for it.
func (r *Runtime[K]) next(s *stream[K]) (d delivery[K], wait time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.err != nil {
		return d, 0, s.err
	}
	if len(s.queue) == 0 {
		return d, forever, nil
	}
	slices.SortStableFunc(s.queue, func(a, b delivery[K]) int {
		if c := a.due.Compare(b.due); c != 0 {
			return c
		}
		return cmp.Compare(a.order, b.order)
	})
	if wait = s.queue[0].due.Sub(r.clock.Now()); wait > 0 {
		return d, wait, nil
	}
	d = s.queue[0]
	s.queue = s.queue[1:]
	return d, 0, nil
}
