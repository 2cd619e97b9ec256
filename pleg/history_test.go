package pleg_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A history records the truth of a fake runtime, the calls made of it, and the
// observations of readers of a Cache and a Generator over it. All times are of one
// clock. Zero parts were not recorded.
type history struct {
	Changes     []change                   // of the truth, in order
	Calls       []call                     // of Pods, Pod and Status
	Deliveries  []delivery                 // of events, in order
	Connections []time.Time                // attempts to open the event stream
	Shown       map[containerRef]time.Time // containers that an answer or an event has shown, and when first
	Showings    map[containerRef][]showing // and whenever they did while there was a reader of exits
	Trouble     []time.Time                // when calls failed, streams ended, the runtime came back

	Readers               map[string]time.Time  // Events loops by name, and when they began
	Views                 []view                // what Watch loops yielded
	Events                []eventRead           // what Events loops yielded
	Waits                 []wait                // GetNewerThan and WaitFor
	ExitReaders           map[string]exitReader // by name
	ExitsRead             []exitRead            // what they yielded
	Finals                []final               // comparisons of the cache with the truth
	Samples               []sample              // of Stats
	Idles                 []idle                // times without a change
	RunEnded              time.Time             // when Run had returned; zero: not yet
	Programs, RestartsDue int                   // restarts of the program, and those of readers of exits that had some due
	Program               time.Time             // when the program was started again last
	Forks, Closed         int                   // readers of exits that began at another's position, and that were closed
}

// A containerRef names a container.
type containerRef struct{ Pod, Container string }

// entry is a cache's entry of a pod.
type entry = statuscache.Entry[*plegtest.Status]

// A change is one change of the truth.
type change struct {
	At        time.Time
	Pod       string
	Version   int              // 1 and up
	Status    *plegtest.Status // nil: the pod is gone
	Container string
	Type      pleg.RuntimeEventType
}

// A call is one call of the Runtime.
type call struct {
	Kind       string // Pods, Pod, Status
	Pod        string
	Start, End time.Time // a zero End: not returned
	Err        error
}

// A delivery is one event handed over.
type delivery struct {
	At    time.Time
	Took  time.Duration // by the handler
	Event pleg.RuntimeEvent[string, *plegtest.Status]
}

// A view is one entry that a Watch loop yielded.
type view struct {
	Reader string
	At     time.Time
	Pod    string
	Entry  entry
}

// An eventRead is one event that an Events loop yielded.
type eventRead struct {
	Reader string
	At     time.Time
	Event  pleg.Event[string]
}

// A wait is one GetNewerThan.
type wait struct {
	Pod        string
	Min        time.Time
	Start, End time.Time     // a zero End: still waiting
	Limit      time.Duration // it may last with a live runtime; 0: not judged
	Entry      entry
	Err        error
}

// A final is a comparison of a cache with the truth at one moment.
type final struct {
	At         time.Time
	Guarantee  int // that makes them equal: 4, or 9 while stamps are still wrong; 0: none does
	Cache      map[string]entry
	Truth      map[string]*plegtest.Status
	Readers    map[string]map[string]entry // what Watch loops ended with (6)
	EventsRead []string                    // Events loops that have yielded all they had (6)
	ExitsRead  []string                    // readers of exits that have yielded all they had (14)
}

// A sample is a look at Stats.
type sample struct {
	At          time.Time
	Stats       pleg.Stats
	Readers     int // Watch and Events loops
	ExitReaders int
	Settled     bool // two full relists have ended since the last change
}

// An idle is a time without a change, a fault or a wait.
type idle struct {
	From, To time.Time
	Period   time.Duration // between full lists
}

// A recorder is a fake runtime that records a history: its own part by itself,
// that of caches and generators through Watch, Read, Wait, Compare and Note.
type recorder struct {
	*plegtest.Runtime[string]
	mu sync.Mutex
	h  history
}

func record(seed uint64, f plegtest.Faults) *recorder {
	return &recorder{
		Runtime: plegtest.New[string](seed, f),
		h: history{
			Shown: map[containerRef]time.Time{}, Showings: map[containerRef][]showing{},
			Readers: map[string]time.Time{}, ExitReaders: map[string]exitReader{},
		},
	}
}

// History returns a copy of the history so far.
func (r *recorder) History() history {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.h
	h.Changes, h.Calls, h.Deliveries = slices.Clone(h.Changes), slices.Clone(h.Calls), slices.Clone(h.Deliveries)
	h.Connections, h.Trouble = slices.Clone(h.Connections), slices.Clone(h.Trouble)
	h.Views, h.Events, h.Waits = slices.Clone(h.Views), slices.Clone(h.Events), slices.Clone(h.Waits)
	h.Finals, h.Samples, h.Idles = slices.Clone(h.Finals), slices.Clone(h.Samples), slices.Clone(h.Idles)
	h.Shown, h.Showings, h.Readers = maps.Clone(h.Shown), maps.Clone(h.Showings), maps.Clone(h.Readers)
	h.ExitReaders, h.ExitsRead = maps.Clone(h.ExitReaders), slices.Clone(h.ExitsRead)
	return h
}

// Note adds the caller's own records to the history.
func (r *recorder) Note(add func(*history)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.h)
}

func (r *recorder) trouble() {
	r.Note(func(h *history) { h.Trouble = append(h.Trouble, time.Now()) })
}

func (h *history) show(pod, container string, s showing) {
	c := containerRef{pod, container}
	if h.Shown[c].IsZero() {
		h.Shown[c] = time.Now()
	}
	if len(h.ExitReaders) > 0 {
		h.Showings[c] = append(h.Showings[c], s)
	}
}

func (r *recorder) Create(pod, container string) bool {
	return r.change(pod, container, r.Runtime.Create, pleg.RuntimeEventCreated)
}

func (r *recorder) Start(pod, container string) bool {
	return r.change(pod, container, r.Runtime.Start, pleg.RuntimeEventStarted)
}

func (r *recorder) Exit(pod, container string) bool { return r.ExitCode(pod, container, 0) }

func (r *recorder) ExitCode(pod, container string, code int32) bool {
	return r.change(pod, container, func(pod, container string) bool { return r.Runtime.ExitCode(pod, container, code) }, pleg.RuntimeEventStopped)
}

func (r *recorder) ExitWith(pod, container string, d pleg.ExitDetails) bool {
	return r.change(pod, container, func(pod, container string) bool { return r.Runtime.ExitWith(pod, container, d) }, pleg.RuntimeEventStopped)
}

func (r *recorder) Remove(pod, container string) bool {
	return r.change(pod, container, r.Runtime.Remove, pleg.RuntimeEventDeleted)
}

// change makes a change while nothing else is recorded.
func (r *recorder) change(pod, container string, do func(pod, container string) bool, kind pleg.RuntimeEventType) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !do(pod, container) {
		return false
	}
	version := 1
	for _, c := range slices.Backward(r.h.Changes) {
		if c.Pod == pod {
			version = c.Version + 1
			break
		}
	}
	r.h.Changes = append(r.h.Changes, change{
		At: time.Now(), Pod: pod, Version: version, Status: r.Truth()[pod], Container: container, Type: kind,
	})
	return true
}

func (r *recorder) Restart(d time.Duration) {
	r.trouble()
	r.Runtime.Restart(d)
	r.trouble()
}

func (r *recorder) SetUnsupported(unsupported bool) {
	if unsupported {
		r.trouble()
	}
	r.Runtime.SetUnsupported(unsupported)
}

// call records a call and the contents of its answer.
func (r *recorder) call(kind, pod string, do func() ([]pleg.Pod[string], error)) {
	place := 0
	r.Note(func(h *history) {
		place = len(h.Calls)
		h.Calls = append(h.Calls, call{Kind: kind, Pod: pod, Start: time.Now()})
	})
	shown, err := do()
	if err != nil && !errors.Is(err, pleg.ErrNotFound) {
		r.trouble()
	}
	r.Note(func(h *history) {
		h.Calls[place].End, h.Calls[place].Err = time.Now(), err
		if err != nil {
			return
		}
		for _, p := range shown {
			for _, c := range p.Containers {
				h.show(p.ID, c.ID, showing{Start: h.Calls[place].Start, End: time.Now()})
			}
		}
	})
}

func (r *recorder) Pods(ctx context.Context) (list []pleg.Pod[string], err error) {
	r.call("Pods", "", func() ([]pleg.Pod[string], error) {
		list, err = r.Runtime.Pods(ctx)
		return list, err
	})
	return list, err
}

func (r *recorder) Pod(ctx context.Context, id string) (p pleg.Pod[string], err error) {
	r.call("Pod", id, func() ([]pleg.Pod[string], error) {
		p, err = r.Runtime.Pod(ctx, id)
		return []pleg.Pod[string]{p}, err
	})
	return p, err
}

func (r *recorder) Status(ctx context.Context, id string) (s *plegtest.Status, stamp time.Time, err error) {
	r.call("Status", id, func() ([]pleg.Pod[string], error) {
		if s, stamp, err = r.Runtime.Status(ctx, id); err != nil {
			return nil, err
		}
		return []pleg.Pod[string]{{ID: id, Containers: s.Listed}}, nil
	})
	return s, stamp, err
}

func (r *recorder) Events(ctx context.Context, handle func(pleg.RuntimeEvent[string, *plegtest.Status])) error {
	r.Note(func(h *history) { h.Connections = append(h.Connections, time.Now()) })
	err := r.Runtime.Events(ctx, func(e pleg.RuntimeEvent[string, *plegtest.Status]) {
		start := time.Now()
		handle(e)
		r.Note(func(h *history) {
			h.Deliveries = append(h.Deliveries, delivery{At: start, Took: time.Since(start), Event: e})
			if e.Pod != "" && e.Type <= pleg.RuntimeEventDeleted {
				h.show(e.Pod, e.Container, showing{Start: start, End: start, Event: true})
			}
		})
	})
	if errors.Is(err, plegtest.ErrInjected) {
		r.trouble()
	}
	return err
}

// Watch records the entries that a Watch loop yields to the named reader until the loop
// ends. It sleeps for pace after every entry.
func (r *recorder) Watch(ctx context.Context, reader string, c *statuscache.Cache[string, *plegtest.Status], pace time.Duration) {
	for key, e := range c.Watch(ctx) {
		r.Note(func(h *history) {
			h.Views = append(h.Views, view{Reader: reader, At: time.Now(), Pod: key, Entry: e})
		})
		sleep(ctx, pace)
	}
}

// Read records the events of an Events loop, like Watch.
func (r *recorder) Read(ctx context.Context, reader string, g *pleg.Generator[string, *plegtest.Status], pace time.Duration) {
	r.Note(func(h *history) { h.Readers[reader] = time.Now() })
	for e := range g.Events(ctx) {
		r.Note(func(h *history) {
			h.Events = append(h.Events, eventRead{Reader: reader, At: time.Now(), Event: e})
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
func (r *recorder) Wait(ctx context.Context, c *statuscache.Cache[string, *plegtest.Status], id string, limit time.Duration) (entry, error) {
	return r.wait(id, limit, func(now time.Time) (entry, error) { return c.GetNewerThan(ctx, id, now) })
}

// WaitFor records a WaitFor that ends like a GetNewerThan for now.
func (r *recorder) WaitFor(ctx context.Context, c *statuscache.Cache[string, *plegtest.Status], id string, limit time.Duration) (entry, error) {
	return r.wait(id, limit, func(now time.Time) (entry, error) {
		return c.WaitFor(ctx, id, func(e entry) bool { return e.Modified.After(now) })
	})
}

func (r *recorder) wait(id string, limit time.Duration, get func(now time.Time) (entry, error)) (entry, error) {
	now, place := time.Now(), 0
	r.Note(func(h *history) {
		place = len(h.Waits)
		h.Waits = append(h.Waits, wait{Pod: id, Min: now, Start: now, Limit: limit})
	})
	e, err := get(now)
	r.Note(func(h *history) {
		w := &h.Waits[place]
		w.End, w.Entry, w.Err = time.Now(), e, err
	})
	return e, err
}

// Compare records a comparison of the cache with the truth, equal now by the numbered
// guarantee (0 for none), and the final state of the readers of Watch, Read and exits,
// which have caught up.
func (r *recorder) Compare(c *statuscache.Cache[string, *plegtest.Status], guarantee int, readers ...string) {
	r.Note(func(h *history) {
		f := final{
			At: time.Now(), Guarantee: guarantee, Cache: maps.Collect(c.All()), Truth: r.Truth(),
			Readers: map[string]map[string]entry{},
		}
		for _, reader := range readers {
			if _, ok := h.ExitReaders[reader]; ok {
				f.ExitsRead = append(f.ExitsRead, reader)
			} else if _, ok := h.Readers[reader]; ok {
				f.EventsRead = append(f.EventsRead, reader)
			} else {
				f.Readers[reader] = h.view(reader)
			}
		}
		h.Finals = append(h.Finals, f)
	})
}

// view returns the last entries of a Watch loop.
func (h *history) view(reader string) map[string]entry {
	m := map[string]entry{}
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

// A recorder records what the runtime did, including senseless steps.
func TestRecorderKeepsTheTruth(t *testing.T) {
	rt := record(1, plegtest.Faults{})
	rt.Start("p", "a") // not there
	rt.Create("p", "a")
	rt.Exit("p", "a")
	rt.Remove("p", "a")
	rt.Create("p", "b")
	var got []string
	for _, c := range rt.History().Changes {
		got = append(got, c.Status.String())
		if c.Status != nil {
			equal(t, "version", c.Version, c.Status.Version)
		}
	}
	if want := []string{"v1 a:created", "v2 a:exited", "gone", "v4 b:created"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
}
