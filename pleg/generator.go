package pleg

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/restartkit/restart/internal/cachewriter"
	"github.com/restartkit/restart/pleg/internal/queue"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Generator keeps a Cache equal to a runtime and reports changes to its pods. By
// default it lists everything every second. While an event stream is up, it does so
// every five minutes, and inspects single pods when an event or a waiting caller of the
// cache asks for it (KEP-3386).
//
// An event only asks for an inspection. Only answers of the runtime change the state, each
// as of the moment before its question. A container missing from a full list has ended once
// a later inspection of its pod agrees, because a runtime that restarts may answer with an
// empty list. An inspection that does not show the claim of an event is repeated.
//
// It promises that
//
//  1. the state of a container never goes back, and a removed one is not reported twice;
//  2. an answer of GetNewerThan(t) was asked for after t, and every wait ends with an
//     answer, its context or Close;
//  3. once the runtime is quiet, the next full list makes the cache match it. A pod whose
//     inspections failed may take ten RelistPeriods longer;
//  4. a reader of exits yields the end of each container once, see ExitReader.
//
// It does not promise to notice a container that comes and goes between two answers.
//
// Make one with NewGenerator, then call Run. A Cache must have at most one Generator. A
// Generator is safe for concurrent use.
type Generator[K comparable, S any] struct {
	runtime Runtime[K, S]
	stream  Streamer[K] // nil if there is none
	cache   *statuscache.Cache[K, S]
	writer  cachewriter.Writer[K, S]
	o       GeneratorOptions[K]
	calling chan struct{} // full while a goroutine makes calls
	wake    chan struct{} // holds one token if there may be work

	mu      sync.Mutex
	running bool
	ticks   tick
	now     time.Time // the latest reading of the clock, which a clock set back does not change

	pods       queue.Queue[K, *record[K]]
	order      []*record[K] // the pods of the last full list, in its order
	cached     int          // records that are in the cache
	containers int          // containers of pods
	claims     int          // claims of pods
	former     formerContainers[K]
	missed     queue.Queue[K, missedSteps]

	sched     *scheduler[K]
	streamed  streamState
	relying   bool      // the stream is relied upon
	changed   time.Time // when relying last changed
	publisher publisher[K]
	stats     Stats
}

// A record is a pod with the work of the Generator on it.
type record[K comparable] struct {
	pod[K]
	inList        tick // the last full list that showed it
	cached        bool // its entry is in the cache
	sync          tick // an inspection that begins later ends with a PodSync; 0 if none was requested
	refused       bool // the last inspection was refused
	gone          bool // the record is not in Generator.pods any more
	counted       int  // its containers in Generator.containers
	countedClaims int  // its claims in Generator.claims
}

// missedSteps are the steps of a pod that a full list found, and of which no event has come
// yet.
type missedSteps struct {
	steps int
	found time.Time
}

// NewGenerator returns a Generator that fills c and uses its clock. The error wraps
// field.Errors if o is invalid.
func NewGenerator[K comparable, S any](rt Runtime[K, S], c *statuscache.Cache[K, S], o GeneratorOptions[K]) (*Generator[K, S], error) {
	switch err := o.validate(); {
	case rt == nil:
		return nil, errors.New("pleg: NewGenerator: the runtime is nil")
	case c == nil:
		return nil, errors.New("pleg: NewGenerator: the cache is nil")
	case err != nil:
		return nil, fmt.Errorf("pleg: NewGenerator: %w", err)
	}
	o = o.withDefaults()
	g := &Generator[K, S]{
		runtime:   rt,
		stream:    o.Stream,
		cache:     c,
		writer:    c.Writer(),
		o:         o,
		calling:   make(chan struct{}, 1),
		wake:      make(chan struct{}, 1),
		sched:     newScheduler[K](o.limits()),
		streamed:  streamState{period: o.RelistPeriod},
		publisher: newPublisher[K](),
	}
	g.now = g.writer.Clock().Now()
	g.changed = g.now
	return g, nil
}

// tick returns the next number of the logical clock.
func (g *Generator[K, S]) tick() tick {
	g.ticks++
	return g.ticks
}

// clock reads the clock. If it is set back, it stands still until it has caught up.
func (g *Generator[K, S]) clock() time.Time {
	if now := g.writer.Clock().Now(); now.After(g.now) {
		g.now = now
	}
	return g.now
}

// RequestRelist requests an inspection of one pod or, for the zero key, a full list, at most
// one per RelistPeriod. Requests for a pod are merged until its inspection begins. Beyond 1024
// pods that are not in the cache, and as many as there are containers, it requests a full
// list instead. Outside Run requests wait for the next Run or Relist.
func (g *Generator[K, S]) RequestRelist(pod K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.want(pod)
	queue.Signal(g.wake)
}

// RequestSync makes the next successful inspection of the pod end with a PodSync, after its
// other events and even if the pod is gone. Several requests may share one PodSync. The
// next full list inspects the pod, changed or not. While a stream is relied upon,
// RequestSync also requests an earlier inspection. It is a no-op for the zero key.
func (g *Generator[K, S]) RequestSync(pod K) {
	var none K
	if pod == none {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.record(pod)
	r.unsettle()
	r.sync = g.tick()
	if g.relying {
		g.sched.want(pod, false)
	}
	queue.Signal(g.wake)
}

// Events yields the changes of pods, starting with one PodSync per known pod. From then
// on it loses no change, and yields a pod's events in order, after its entry is in the
// cache. If a loop is more than eight events of a pod behind, one PodSync replaces them,
// those of exits included. If more than 1024 pods that are not in the cache have pending
// events, one PodSync of all pods (the zero key) replaces these; check every pod then.
//
// Each loop starts afresh. It ends at once with ctx. After Close of the cache, it ends once
// it has yielded the pending events.
func (g *Generator[K, S]) Events(ctx context.Context) iter.Seq[Event[K]] {
	return func(yield func(Event[K]) bool) {
		s := g.subscribe()
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.publisher.subscribers, s)
		}()
		queue.Pump(ctx, s.wake, g.writer.Done(), func() (ok, more bool) {
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

func (g *Generator[K, S]) subscribe() *subscriber[K] {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &subscriber[K]{wake: make(chan struct{}, 1)}
	for key := range g.pods.Keys() {
		if g.isCached(key) {
			s.pending.Put(key).list = []Event[K]{{Pod: key, Type: PodSync}}
		}
	}
	g.publisher.subscribers[s] = struct{}{}
	return s
}

// Healthy returns an error if no full list has succeeded yet, one is stuck, or the last
// successful one is too old for the period in force. After a change of period, the age
// counts from the change. The error wraps that of the last full list, if it failed.
func (g *Generator[K, S]) Healthy() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, limit := g.clock(), g.o.RelistThreshold
	if g.relying {
		limit = g.o.EventedThreshold
	}
	var problem string
	last := g.stats.LastSeen
	if g.changed.After(last) {
		last = g.changed
	}
	switch l := g.sched.list; {
	case l != nil && now.Sub(l.start) > limit:
		problem = fmt.Sprintf("a full list has been under way for %v; the limit is %v", now.Sub(l.start), limit)
	case g.stats.Relists == 0:
		problem = "no full list has succeeded yet"
	case now.Sub(last) > limit:
		problem = fmt.Sprintf("the last full list is %v old; the limit is %v", now.Sub(last), limit)
	default:
		return nil
	}
	if err := g.stats.RelistError; err != nil {
		return fmt.Errorf("pleg: Healthy: %s: %w", problem, err)
	}
	return fmt.Errorf("pleg: Healthy: %s", problem)
}

// Stats returns the counters without allocating.
func (g *Generator[K, S]) Stats() Stats {
	g.mu.Lock()
	s := g.stats
	s.Streaming = g.relying
	s.MergedEvents += g.publisher.merged
	s.Pods, s.Containers = g.cached, g.containers
	s.Retained = g.pods.Len() - g.cached + g.claims + g.former.queue.Len() + g.publisher.retained()
	g.mu.Unlock()
	refused := g.writer.Counts()
	s.StaleAnswers += refused.Stale + refused.Skewed
	s.Retained += refused.Tombstones
	return s
}
