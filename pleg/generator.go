package pleg

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"

	"github.com/restartkit/restart/pleg/internal/queue"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Generator keeps a Cache equal to what a runtime runs and reports what happens to
// its pods. It lists everything every second. While an event stream is up, it
// lists everything every five minutes, and single pods when an event or a waiting
// reader asks (KEP-3386). Start with NewGenerator, then Run.
//
// It guarantees, whatever the runtime's stamps say and the readers do,
//
//   - G1 the states seen of a key, except those beside an error, are a
//     subsequence of the runtime's;
//   - G2 what GetNewerThan(t) returns was observed after t;
//   - G3 a removed container or deleted pod does not come back, unless the
//     runtime uses its id again;
//   - G4 with a quiet runtime the cache equals its list within one relist;
//   - G5 every wait ends: with data, its context or Close; with a live runtime
//     GetNewerThan has its answer, and WaitFor sees what is true, within
//     WaitLimit plus a relist of the pod;
//   - G6 every reader, however slow, ends with the cache's state, and no exit
//     goes unreported;
//   - G7 memory is in proportion to the pods;
//   - G8 taking events never blocks the runtime;
//   - G9 after a wrong stamp one relist of the pod makes its entry right;
//   - G10 a container has at most one ContainerStarted and one ContainerDied,
//     another one with its id (see Container.ID) its own;
//   - G11 the steps that relists find are reported by an event or counted as missed;
//   - G12 no goroutine outlives the Run or Relist that started it;
//   - G13 a quiet runtime with a stream costs one list per EventedPeriod, except
//     for what waiters and errors ask for;
//   - G14 an ExitReader yields once, and never before it has ended, the exit of
//     every container that it expects or that an answer or an event has shown; one
//     that goes on at a Position does so for those that the position names and those
//     that answers have shown since.
//
// One Generator writes to a Cache. The zero value is not usable. A Generator is
// safe for concurrent use by multiple goroutines.
type Generator[K comparable, S any] struct {
	runtime Runtime[K, S]
	single  PodLister[K]   // nil: none
	stream  Streamer[K, S] // nil: none
	cache   *statuscache.Cache[K, S]
	events  eventQueue[K, S]
	calling chan struct{} // full while somebody makes the calls

	mu      sync.Mutex
	core    core[K, S]
	running bool
}

// NewGenerator returns a Generator that fills c, on c's clock. If S is no
// ContainerLister, it uses a Runtime that is a PodLister as one. stream is mostly rt
// itself, if that is a Streamer; with a nil stream the Generator only relists. An
// error names every option that is invalid (field.Errors), or says that rt or
// c is nil.
func NewGenerator[K comparable, S any](rt Runtime[K, S], stream Streamer[K, S], c *statuscache.Cache[K, S], o GeneratorOptions) (*Generator[K, S], error) {
	switch err := o.Validate(); {
	case rt == nil:
		return nil, errors.New("pleg: NewGenerator: the runtime is nil")
	case c == nil:
		return nil, errors.New("pleg: NewGenerator: the cache is nil")
	case err != nil:
		return nil, fmt.Errorf("pleg: NewGenerator: %w", err)
	}
	o = o.withDefaults()
	single, _ := rt.(PodLister[K])
	alone := reflect.TypeFor[S]().Implements(reflect.TypeFor[ContainerLister]())
	r := newRelister(c, o, single != nil || alone)
	r.alone = alone
	return &Generator[K, S]{
		runtime: rt,
		single:  single,
		stream:  stream,
		cache:   c,
		events:  eventQueue[K, S]{wake: make(chan struct{}, 1), limit: maxOrphans},
		calling: make(chan struct{}, 1),
		core:    core[K, S]{relister: r, stream: streamState{period: o.RelistPeriod}, streaming: stream != nil, changed: c.Clock().Now()},
	}, nil
}

// RequestRelist asks for a relist of one pod soon. Requests for the same pod whose
// relist has not begun count as one. Outside Run they wait for the next Run or
// Relist.
func (g *Generator[K, S]) RequestRelist(pod K) { g.events.request(pod) }

// RequestSync makes the next look at the pod end with a PodSync, or with a PodSync
// without a pod. The next full relist looks at the pod, changed or not. While a
// stream is relied upon, that may be minutes away, and RequestSync also is a
// RequestRelist.
//
// The PodSync follows the events of the look, also if the pod is gone. If the look
// fails, the PodSync waits for one that succeeds. Several requests may have one in
// common.
func (g *Generator[K, S]) RequestSync(pod K) {
	g.mu.Lock()
	g.core.requestSync(pod, g.core.relying)
	g.mu.Unlock()
	queue.Signal(g.events.wake)
}

// Events yields what happens to pods. Each loop starts anew, with one PodSync per
// known pod. From there on nothing is lost: events of one pod come in order, and
// after its entry in the cache. A loop that is more than eight events of a pod behind
// gets one PodSync in their place, which then stands for its exits too. A PodSync
// without a pod (the zero key) stands for pods that came and went, or were asked for,
// and are too many to be remembered: look at all pods then.
//
// A loop ends at once with its context, and after the Close of the cache when it
// has yielded what is pending. It leaves nothing behind if the body breaks.
func (g *Generator[K, S]) Events(ctx context.Context) iter.Seq[Event[K]] {
	return func(yield func(Event[K]) bool) {
		g.mu.Lock()
		s := g.core.subscribe()
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			delete(g.core.subscribers, s)
			g.mu.Unlock()
		}()
		queue.Pump(ctx, s.wake, g.cache.Done(), func() (ok, more bool) {
			g.mu.Lock()
			events, ok := s.take()
			g.mu.Unlock()
			for _, e := range events {
				if ctx.Err() != nil || !yield(e) {
					return false, false
				}
			}
			return ok, true
		})
	}
}

// Healthy returns nil while full relists keep succeeding. Otherwise the error says
// that none has ended yet, that one is stuck, or that the last is too old for the
// period in force. The loss of a stream is no reason: after a change of period the
// age counts from that change.
func (g *Generator[K, S]) Healthy() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, limit := g.cache.Clock().Now(), g.core.o.RelistThreshold
	if g.core.relying {
		limit = g.core.o.EventedThreshold
	}
	if l := g.core.relist; l != nil && now.Sub(l.start) > limit {
		return fmt.Errorf("pleg: Healthy: a relist has been under way for %v; the limit is %v", now.Sub(l.start), limit)
	}
	if g.core.stats.Relists == 0 {
		return errors.New("pleg: Healthy: no relist has ended yet")
	}
	last := g.core.lastStart
	if g.core.changed.After(last) {
		last = g.core.changed
	}
	if age := now.Sub(last); age > limit {
		return fmt.Errorf("pleg: Healthy: the last relist is %v old; the limit is %v", age, limit)
	}
	return nil
}

// Stats returns the counters. It allocates nothing.
func (g *Generator[K, S]) Stats() Stats {
	g.mu.Lock()
	s := g.core.stats
	s.Streaming = g.core.relying
	s.Pods, s.Containers, s.Retained = g.core.present, g.core.live, g.core.retained()
	g.mu.Unlock()
	refused := g.cache.Counts()
	s.StaleWrites += refused.Stale
	s.SkewedWrites += refused.Skewed
	s.Resurrections += refused.Resurrections
	g.events.mu.Lock()
	defer g.events.mu.Unlock()
	s.EventsReceived, s.EventLatency = g.events.received, g.events.latency
	s.MergedEvents += g.events.merged
	s.Retained += g.events.pods.Len()
	return s
}
