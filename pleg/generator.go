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

// Generator keeps a Cache equal to a runtime and reports changes to its pods. By
// default it lists everything every second. While an event stream is up, it does so
// every five minutes, and lists single pods when an event or a waiting reader requests
// it (KEP-3386). Make one with NewGenerator, then call Run.
//
// It guarantees, regardless of wrong timestamps and slow readers:
//
//   - G1 the states shown of a pod, except beside an error, are a subsequence of the
//     runtime's;
//   - G2 an answer of GetNewerThan(t) was observed after t;
//   - G3 a removed container or deleted pod does not come back, unless the runtime
//     reuses its id;
//   - G4 with a quiet runtime the cache equals its list within one relist, after the
//     backoff of a pod whose last looks failed, which is at most 10 RelistPeriods;
//   - G5 every wait ends with data, its context or Close; with a live runtime
//     GetNewerThan returns, and WaitFor sees the current state, within WaitLimit plus a
//     relist of the pod;
//   - G6 every reader ends up with the cache's state, and every exit is reported;
//   - G7 memory is proportional to the pods;
//   - G8 handling events never blocks the runtime;
//   - G9 after a wrong timestamp one relist of the pod corrects its entry;
//   - G10 a container has at most one ContainerStarted and one ContainerDied, as has
//     another container that reuses its id;
//   - G11 steps found by relists are reported by an event or counted as missed;
//   - G12 no goroutine outlives the Run or Relist that started it;
//   - G13 a quiet runtime with a stream costs one list per EventedPeriod, plus relists
//     for waiters and errors;
//   - G14 an ExitReader yields, once and never before its end, the exit of every
//     container that it expects or that an answer or event has shown; a resumed reader
//     does so for the containers in its position and those in answers since.
//
// A Cache must have at most one Generator. The zero value is not usable. A Generator is
// safe for concurrent use.
type Generator[K comparable, S any] struct {
	runtime Runtime[K, S]
	single  PodLister[K]   // nil if unavailable
	stream  Streamer[K, S] // nil if unavailable
	cache   *statuscache.Cache[K, S]
	events  eventQueue[K, S]
	calling chan struct{} // full while a goroutine makes the calls

	mu      sync.Mutex
	core    core[K, S]
	running bool
}

// NewGenerator returns a Generator that fills c and uses its clock. If S is not a
// ContainerLister, it lists single pods with rt if that is a PodLister. stream is
// usually rt; if nil, the Generator only relists. The error wraps field.Errors if o is
// invalid.
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

// RequestRelist requests a relist of one pod. Requests for a pod are merged until its
// relist begins. Outside Run they wait for the next Run or Relist.
func (g *Generator[K, S]) RequestRelist(pod K) { g.events.request(pod) }

// RequestSync makes the next successful look at the pod end with a PodSync, either its
// own or one of all pods, after its other events and even if the pod is gone. Several
// requests may share one PodSync. The next full relist looks at the pod, changed or
// not. While a stream is relied upon, RequestSync also requests an earlier relist of
// the pod.
func (g *Generator[K, S]) RequestSync(pod K) {
	g.mu.Lock()
	g.core.requestSync(pod, g.core.relying)
	g.mu.Unlock()
	queue.Signal(g.events.wake)
}

// Events yields the changes of pods, starting with one PodSync per known pod. From then
// on it loses no change, and yields a pod's events in order, after its entry is in the
// cache. A loop more than eight events of a pod behind gets one PodSync in their place,
// exits included. If too many absent pods have events or requests pending, one PodSync
// of all pods (the zero key) replaces these; check every pod then.
//
// Each loop starts afresh. It ends at once with ctx, and after Close of the cache once
// it has yielded the pending events.
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

// Healthy returns an error if no full relist has succeeded yet, one is stuck, or the
// last is too old for the period in force. After a change of period, the age counts
// from the change.
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

// Stats returns the counters without allocating.
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
