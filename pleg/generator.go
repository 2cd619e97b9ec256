package pleg

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// GeneratorOptions are the settings of a Generator. Zero means the default.
type GeneratorOptions struct {
	RelistPeriod     time.Duration // between full relists without a healthy stream; 1s
	EventedPeriod    time.Duration // between full relists with one; 300s
	RelistThreshold  time.Duration // without a full relist for longer is unhealthy, and a list that takes longer is cancelled; 3m
	EventedThreshold time.Duration // the same with a healthy stream; 10m
	Parallel         int           // concurrent calls of Status and Pod; 4
	StatusTimeout    time.Duration // limit of each; 10s
	// WaitLimit is how long a GetNewerThan or a WaitFor waits before its pod is
	// relisted, and again after each such relist that did not end it; 2s. However
	// many wait for a pod, that is one relist per WaitLimit. It replaces the KEP's
	// periodic global time, which asserts a freshness that nobody observed.
	WaitLimit time.Duration
	// TrustEvents writes what an event's Observation shows to the cache at once
	// (the KEP's design), if it proves to be newer than what the Generator saw of
	// the pod: if it shows a container that the Generator saw created or running
	// further than that. Watch and Events tell of it at once; the entry keeps its
	// time, and a GetNewerThan that began later waits for the relist that every
	// event asks for, with and without TrustEvents. Leave it off for a runtime
	// that uses the ids of containers again: a late event of the one before looks
	// like an event of the one that runs now, until the relist.
	TrustEvents bool
}

// Validate reports every field that is negative, joined into one error, or nil.
func (o GeneratorOptions) Validate() error {
	var errs []error
	for _, f := range o.durations() {
		if *f.value < 0 {
			errs = append(errs, fmt.Errorf("pleg: GeneratorOptions.Validate(): %s is %v, must be >= 0 (0 means %v)", f.name, *f.value, f.fallback))
		}
	}
	if o.Parallel < 0 {
		errs = append(errs, fmt.Errorf("pleg: GeneratorOptions.Validate(): Parallel is %d, must be >= 0 (0 means 4)", o.Parallel))
	}
	return errors.Join(errs...)
}

type durationOption struct {
	name     string
	value    *time.Duration
	fallback time.Duration
}

func (o *GeneratorOptions) durations() []durationOption {
	return []durationOption{
		{"RelistPeriod", &o.RelistPeriod, time.Second},
		{"EventedPeriod", &o.EventedPeriod, 300 * time.Second},
		{"RelistThreshold", &o.RelistThreshold, 3 * time.Minute},
		{"EventedThreshold", &o.EventedThreshold, 10 * time.Minute},
		{"StatusTimeout", &o.StatusTimeout, 10 * time.Second},
		{"WaitLimit", &o.WaitLimit, 2 * time.Second},
	}
}

// withDefaults returns o with its zeros filled in.
func (o GeneratorOptions) withDefaults() GeneratorOptions {
	for _, f := range o.durations() {
		if *f.value == 0 {
			*f.value = f.fallback
		}
	}
	if o.Parallel == 0 {
		o.Parallel = 4
	}
	return o
}

// Generator keeps a Cache equal to what a runtime runs and tells what happens to
// its pods: by listing everything every second, or, while an event stream is up,
// every five minutes and single pods when an event or a waiting reader asks
// (KEP-3386). Start with NewGenerator, then Run.
//
// It guarantees, whatever the runtime's stamps say and the readers do,
//
//   - G1 the states seen of a key, but for those beside an error, are a
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
//   - G9 after a stamp that was wrong a pod is right again after one relist of it;
//   - G10 a container has at most one ContainerStarted and one ContainerDied,
//     another one with its id (see Container.ID) its own;
//   - G11 the steps that relists find are told by an event or counted as missed;
//   - G12 no goroutine outlives the Run or Relist that started it;
//   - G13 a quiet runtime with a stream costs one list per EventedPeriod, except
//     for what waiters and errors ask for.
//
// One Generator writes to a Cache. The zero value is not usable. A Generator is
// safe for concurrent use by multiple goroutines.
type Generator[K comparable, S any] struct {
	runtime Runtime[K, S]
	single  PodLister[K]   // nil: none
	stream  Streamer[K, S] // nil: none
	cache   *Cache[K, S]
	intake  intake[K, S]
	driving chan struct{} // full while somebody makes the calls

	mu      sync.Mutex
	core    *relister[K, S]
	state   streamState
	running bool
	relying bool      // on the stream, at the last look
	changed time.Time // when that changed, or the Generator was made
}

// NewGenerator returns a Generator that fills c, on c's clock. stream may be nil:
// relist only. A Runtime that is a PodLister is used as one.
func NewGenerator[K comparable, S any](rt Runtime[K, S], stream Streamer[K, S], c *Cache[K, S], o GeneratorOptions) (*Generator[K, S], error) {
	if rt == nil {
		return nil, errors.New("pleg: NewGenerator(): the runtime is nil")
	}
	if c == nil {
		return nil, errors.New("pleg: NewGenerator(): the cache is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("pleg: NewGenerator(): %w", err)
	}
	o = o.withDefaults()
	single, _ := rt.(PodLister[K])
	return &Generator[K, S]{
		runtime: rt,
		single:  single,
		stream:  stream,
		cache:   c,
		intake:  intake[K, S]{trust: o.TrustEvents, kick: make(chan struct{}, 1), limit: strangers},
		driving: make(chan struct{}, 1),
		core:    newRelister(c, o, single != nil),
		state:   streamState{period: o.RelistPeriod},
		changed: c.clock.Now(),
	}, nil
}

// RequestRelist asks for a relist of one pod, soon. Requests for the same pod
// that have not begun are one. Outside Run they wait for the next Run or Relist.
func (g *Generator[K, S]) RequestRelist(pod K) { g.intake.request(pod) }

// Healthy returns nil while full relists keep succeeding, and otherwise what is
// wrong: none has ever ended, one is stuck, or the last is too old for the
// period in force. A lost stream is not an illness; the age counts from the
// change of period then.
func (g *Generator[K, S]) Healthy() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, limit := g.cache.clock.Now(), g.core.o.RelistThreshold
	if g.relying {
		limit = g.core.o.EventedThreshold
	}
	if l := g.core.relist; l != nil && now.Sub(l.start) > limit {
		return fmt.Errorf("pleg: Healthy(): a relist has been under way for %v; the limit is %v", now.Sub(l.start), limit)
	}
	if g.core.stats.Relists == 0 {
		return errors.New("pleg: Healthy(): no relist has ended yet")
	}
	last := g.core.lastStart
	if g.changed.After(last) {
		last = g.changed
	}
	if age := now.Sub(last); age > limit {
		return fmt.Errorf("pleg: Healthy(): the last relist is %v old; the limit is %v", age, limit)
	}
	return nil
}

// Stats returns the counters. It allocates nothing.
func (g *Generator[K, S]) Stats() Stats {
	g.mu.Lock()
	s := g.core.stats
	s.Streaming = g.relying
	s.Pods, s.Containers, s.Backlog = g.core.present, g.core.live, g.core.backlog()
	g.mu.Unlock()
	refused := g.cache.counted()
	s.StaleWrites += refused.stale
	s.SkewedWrites += refused.skewed
	s.Resurrections += refused.resurrections
	g.intake.mu.Lock()
	defer g.intake.mu.Unlock()
	s.EventsReceived, s.EventLatency = g.intake.received, g.intake.latency
	s.MergedEvents += g.intake.merged
	s.Backlog += g.intake.box.len()
	return s
}
