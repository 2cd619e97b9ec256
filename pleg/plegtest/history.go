package plegtest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
)

// History is what happened: the truth of a Runtime, what was asked of it, and
// what was observed of a Cache and a Generator over it. All times are of one
// clock. Zero parts were not recorded; Check evaluates what there is.
type History[K comparable] struct {
	Changes     []Change[K]          // the truth, in order
	Calls       []Call[K]            // of Pods, Pod and Status
	Deliveries  []Delivery[K]        // of events, in order
	Connections []time.Time          // attempts to open the event stream
	Shown       map[Ref[K]]time.Time // containers that an answer or an event has shown, and when first
	Trouble     []time.Time          // when calls failed, streams ended, the runtime came back
	Injected    map[string]int       // faults by name

	Readers  map[string]time.Time // Events loops by name, and when they began
	Views    []View[K]            // what Watch loops yielded
	Told     []Told[K]            // what Events loops yielded
	Waits    []Wait[K]            // GetNewerThan
	Finals   []Final[K]           // comparisons of the cache with the truth
	Samples  []Sample             // of Stats
	Idles    []Idle               // times without a change
	RunEnded time.Time            // when Run had returned; zero: not yet
}

// Ref names a container.
type Ref[K comparable] struct {
	Pod       K
	Container string
}

// Change is one change of the truth.
type Change[K comparable] struct {
	At        time.Time
	Pod       K
	Version   int     // 1 and up
	Status    *Status // nil: the pod is gone
	Container string
	Type      pleg.RuntimeEventType
}

// Call is one call of the Runtime.
type Call[K comparable] struct {
	Kind       string // Pods, Pod, Status
	Pod        K
	Start, End time.Time // a zero End: not returned
	Err        error
}

// Delivery is one event handed over.
type Delivery[K comparable] struct {
	At    time.Time
	Took  time.Duration // by the handler
	Event pleg.RuntimeEvent[K, *Status]
}

// View is one entry that a Watch loop yielded.
type View[K comparable] struct {
	Reader string
	At     time.Time
	Pod    K
	Entry  pleg.Entry[*Status]
}

// Told is one event that an Events loop yielded.
type Told[K comparable] struct {
	Reader string
	At     time.Time
	Event  pleg.Event[K]
}

// Wait is one GetNewerThan.
type Wait[K comparable] struct {
	Pod        K
	Min        time.Time
	Start, End time.Time     // a zero End: still waiting
	Limit      time.Duration // it may last with a live runtime; 0: not judged
	Entry      pleg.Entry[*Status]
	Err        error
}

// Final is a comparison of a cache with the truth at one moment.
type Final[K comparable] struct {
	At         time.Time
	Guarantee  int // that makes them equal: 4, or 9 while stamps are still wrong
	Cache      map[K]pleg.Entry[*Status]
	Truth      map[K]*Status
	Readers    map[string]map[K]pleg.Entry[*Status] // what Watch loops ended with (6)
	EventsRead []string                             // Events loops that have yielded all they had (6)
}

// Sample is a look at Stats.
type Sample struct {
	At      time.Time
	Stats   pleg.Stats
	Readers int  // Watch and Events loops
	Settled bool // two full relists have ended since the last change
}

// Idle is a time without a change, a fault or a wait.
type Idle struct {
	From, To time.Time
	Period   time.Duration // between full lists
}

func (h *History[K]) troubled() { h.Trouble = append(h.Trouble, time.Now()) }

func (h *History[K]) shown(c Ref[K]) {
	if _, ok := h.Shown[c]; !ok {
		h.Shown[c] = time.Now()
	}
}

// History returns a copy of what was recorded so far.
func (r *Runtime[K]) History() History[K] {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history
	for _, list := range []func(){
		func() { h.Changes = slices.Clone(h.Changes) },
		func() { h.Calls = slices.Clone(h.Calls) },
		func() { h.Deliveries = slices.Clone(h.Deliveries) },
		func() { h.Connections = slices.Clone(h.Connections) },
		func() { h.Trouble = slices.Clone(h.Trouble) },
		func() { h.Views = slices.Clone(h.Views) },
		func() { h.Told = slices.Clone(h.Told) },
		func() { h.Waits = slices.Clone(h.Waits) },
		func() { h.Finals = slices.Clone(h.Finals) },
		func() { h.Samples = slices.Clone(h.Samples) },
		func() { h.Idles = slices.Clone(h.Idles) },
		func() { h.Shown, h.Injected = maps.Clone(h.Shown), maps.Clone(h.Injected) },
		func() { h.Readers = maps.Clone(h.Readers) },
	} {
		list()
	}
	return h
}

// Note adds to the history what only the caller knows.
func (r *Runtime[K]) Note(add func(*History[K])) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.history)
}

// Truth returns what the runtime runs now.
func (r *Runtime[K]) Truth() map[K]*Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.truth()
}

func (r *Runtime[K]) truth() map[K]*Status {
	m := map[K]*Status{}
	for id, p := range r.pods {
		if s := p.versions[len(p.versions)-1]; s != nil {
			m[id] = s
		}
	}
	return m
}

// Busy returns the number of calls and streams under way.
func (r *Runtime[K]) Busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

// Watch records what a Watch loop yields, under the name of a reader, until the
// loop ends. It sleeps for pace after every entry.
func (r *Runtime[K]) Watch(ctx context.Context, reader string, c *pleg.Cache[K, *Status], pace time.Duration) {
	for key, e := range c.Watch(ctx) {
		r.Note(func(h *History[K]) {
			h.Views = append(h.Views, View[K]{Reader: reader, At: time.Now(), Pod: key, Entry: e})
		})
		sleep(ctx, pace)
	}
}

// Read records what an Events loop yields, like Watch.
func (r *Runtime[K]) Read(ctx context.Context, reader string, g *pleg.Generator[K, *Status], pace time.Duration) {
	r.Note(func(h *History[K]) { h.Readers[reader] = time.Now() })
	for e := range g.Events(ctx) {
		r.Note(func(h *History[K]) {
			h.Told = append(h.Told, Told[K]{Reader: reader, At: time.Now(), Event: e})
		})
		sleep(ctx, pace)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
}

// Wait records a GetNewerThan for now; with a live runtime it may last as long
// as limit.
func (r *Runtime[K]) Wait(ctx context.Context, c *pleg.Cache[K, *Status], id K, limit time.Duration) (pleg.Entry[*Status], error) {
	now := time.Now()
	place := 0
	r.Note(func(h *History[K]) {
		place = len(h.Waits)
		h.Waits = append(h.Waits, Wait[K]{Pod: id, Min: now, Start: now, Limit: limit})
	})
	e, err := c.GetNewerThan(ctx, id, now)
	r.Note(func(h *History[K]) {
		w := &h.Waits[place]
		w.End, w.Entry, w.Err = time.Now(), e, err
	})
	return e, err
}

// Compare records a comparison of the cache with the truth, which the numbered
// guarantee makes equal now (0: none does), and what the readers of Watch and
// Read, which have caught up, ended with.
func (r *Runtime[K]) Compare(c *pleg.Cache[K, *Status], guarantee int, readers ...string) {
	r.Note(func(h *History[K]) {
		f := Final[K]{
			At: time.Now(), Guarantee: guarantee, Cache: maps.Collect(c.All()), Truth: r.truth(),
			Readers: map[string]map[K]pleg.Entry[*Status]{},
		}
		for _, reader := range readers {
			if _, ok := h.Readers[reader]; ok {
				f.EventsRead = append(f.EventsRead, reader)
			} else {
				f.Readers[reader] = h.view(reader)
			}
		}
		h.Finals = append(h.Finals, f)
	})
}

// view is what a Watch loop has shown last.
func (h *History[K]) view(reader string) map[K]pleg.Entry[*Status] {
	m := map[K]pleg.Entry[*Status]{}
	for _, v := range h.Views {
		switch {
		case v.Reader != reader:
		case v.Entry.Present:
			m[v.Pod] = v.Entry
		default:
			delete(m, v.Pod)
		}
	}
	return m
}
