// Package plegtest is a fake container runtime for testing what is built on
// package pleg: it runs no containers, keeps a record of the truth, and lies as
// real runtimes do, by a seed. Check holds a recorded history against the
// guarantees of pleg.Generator.
//
//	rt := plegtest.New[string](1, plegtest.Faults{Drop: 0.1, Stale: 0.1})
//	cache := pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{})
//	gen, err := pleg.NewGenerator(rt, rt, cache, pleg.GeneratorOptions{})
//
// Use it in a testing/synctest bubble: what it waits for is the bubble's time.
package plegtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/restartkit/restart/pleg"
)

// Status is what the fake Runtime says of a pod: a snapshot, never changed.
type Status struct {
	Version int              // of the pod's truth; grows with every change of the pod
	Listed  []pleg.Container // in the order of their creation
}

// Containers makes a *Status a pleg.ContainerLister.
func (s *Status) Containers() []pleg.Container { return s.Listed }

// Errors that the fake Runtime answers with where a fault says so.
var (
	ErrInjected = errors.New("plegtest: injected error")
	ErrDown     = errors.New("plegtest: the runtime is down")
)

// Runtime is a fake container runtime. It is a pleg.Runtime, a pleg.PodLister
// and a pleg.Streamer over *Status; wrap it in Listless to take the second away.
// Drive it with Create, Start, Exit and Remove; what makes no sense in the state
// a container is in does nothing.
//
// What it injects depends on the seed, the fault and a count, never on the order
// in which goroutines run. The zero value is not usable; start with New. A Runtime
// is safe for concurrent use by multiple goroutines.
type Runtime[K comparable] struct {
	faults Faults
	dice   dice

	mu          sync.Mutex
	pods        map[K]*pod
	order       []K
	down        bool
	unsupported bool
	quiet       bool // no faults but stamps
	honest      bool // nor these
	streams     []*stream[K]
	connections int
	log         []delivery[K] // of the last events, for replays
	calls       map[callCount]int
	busy        int
	history     History[K]
}

type pod struct {
	number     int
	containers []pleg.Container
	versions   []*Status // by version; nil: the pod was not there
}

type callCount struct {
	kind string
	pod  int
}

// New returns a runtime without pods.
func New[K comparable](seed uint64, f Faults) *Runtime[K] {
	return &Runtime[K]{
		faults: f.withDefaults(),
		dice:   dice(seed),
		pods:   map[K]*pod{},
		calls:  map[callCount]int{},
		history: History[K]{
			Injected: map[string]int{},
			Shown:    map[Ref[K]]time.Time{},
			Readers:  map[string]time.Time{},
		},
	}
}

// Create adds a container, and the pod with its first one; see Faults.Reuse.
func (r *Runtime[K]) Create(id K, container string) {
	r.change(id, container, func(p *pod, i int) bool {
		if i >= 0 || r.everHad(id, container) && !r.reuse() {
			return false
		}
		p.containers = append(p.containers, pleg.Container{ID: container, State: pleg.StateCreated})
		return true
	}, pleg.RuntimeCreated)
}

// Start makes a created container run; see Faults.Reuse.
func (r *Runtime[K]) Start(id K, container string) {
	r.change(id, container, func(p *pod, i int) bool {
		if i >= 0 && p.containers[i].State == pleg.StateExited && r.reuse() {
			p.containers = slices.Clone(p.containers)
			p.containers[i].State = pleg.StateUnknown
		}
		return move(p, i, pleg.StateRunning)
	}, pleg.RuntimeStarted)
}

// Exit makes a container exit.
func (r *Runtime[K]) Exit(id K, container string) {
	r.change(id, container, func(p *pod, i int) bool { return move(p, i, pleg.StateExited) }, pleg.RuntimeStopped)
}

// Remove removes a container, whatever its state, and the pod with its last one.
func (r *Runtime[K]) Remove(id K, container string) {
	r.change(id, container, func(p *pod, i int) bool {
		if i < 0 {
			return false
		}
		p.containers = slices.Delete(slices.Clone(p.containers), i, i+1)
		return true
	}, pleg.RuntimeDeleted)
}

// Restart takes the runtime down for d: streams end, calls fail, and what
// changes meanwhile sends no event.
func (r *Runtime[K]) Restart(d time.Duration) {
	r.mu.Lock()
	r.down = true
	r.inject("restart")
	r.cut(ErrDown)
	r.mu.Unlock()
	time.Sleep(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = false
	r.history.troubled()
}

// Disconnect ends the event streams.
func (r *Runtime[K]) Disconnect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inject("disconnect")
	r.cut(ErrInjected)
}

// SetUnsupported takes the event stream away, as in an older runtime, or gives
// it back.
func (r *Runtime[K]) SetUnsupported(unsupported bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsupported = unsupported
	if unsupported {
		r.inject("unsupported")
		r.cut(pleg.ErrUnsupported)
	}
}

// Calm stops all faults: those of the stamps too if honest.
func (r *Runtime[K]) Calm(honest bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet, r.honest = true, honest
}

// move sets the state of container i, and reports whether that is a step ahead.
func move(p *pod, i int, to pleg.State) bool {
	if i < 0 || p.containers[i].State >= to {
		return false
	}
	p.containers = slices.Clone(p.containers)
	p.containers[i].State = to
	return true
}

// reuse reports whether an id is used again.
func (r *Runtime[K]) reuse() bool {
	return r.dice.roll(r.faults.Reuse, "reuse", len(r.history.Changes)) && r.inject("reuse")
}

// everHad reports whether the pod ever had the container.
func (r *Runtime[K]) everHad(id K, container string) bool {
	for _, s := range r.pods[id].versions {
		if s != nil && slices.ContainsFunc(s.Listed, func(c pleg.Container) bool { return c.ID == container }) {
			return true
		}
	}
	return false
}

// change changes a pod and sends the event of it.
func (r *Runtime[K]) change(id K, container string, do func(p *pod, i int) bool, event pleg.RuntimeEventType) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[id]
	if p == nil {
		p = &pod{number: len(r.pods), versions: []*Status{nil}}
		r.pods[id] = p
		r.order = append(r.order, id)
	}
	if !do(p, slices.IndexFunc(p.containers, func(c pleg.Container) bool { return c.ID == container })) {
		return
	}
	var s *Status
	if len(p.containers) > 0 {
		s = &Status{Version: len(p.versions), Listed: p.containers}
	}
	p.versions = append(p.versions, s)
	r.history.Changes = append(r.history.Changes, Change[K]{
		At: time.Now(), Pod: id, Version: len(p.versions) - 1, Status: s, Container: container, Type: event,
	})
	r.send(id, p, container, event)
}

// Pods lists every pod.
func (r *Runtime[K]) Pods(ctx context.Context) ([]pleg.Pod[K], error) {
	var list []pleg.Pod[K]
	var none K
	err := r.call(ctx, "Pods", none, -1, func() error {
		for _, id := range r.order {
			if p := r.pods[id]; len(p.containers) > 0 {
				list = append(list, pleg.Pod[K]{ID: id, Containers: slices.Clone(p.containers)})
			}
		}
		return nil
	})
	r.show(list, err)
	return list, err
}

// Pod lists one pod.
func (r *Runtime[K]) Pod(ctx context.Context, id K) (pleg.Pod[K], error) {
	one := pleg.Pod[K]{ID: id}
	err := r.call(ctx, "Pod", id, r.number(id), func() error {
		p := r.pods[id]
		if p == nil || len(p.containers) == 0 {
			return fmt.Errorf("pod %v: %w", id, pleg.ErrNotFound)
		}
		one.Containers = slices.Clone(p.containers)
		return nil
	})
	r.show([]pleg.Pod[K]{one}, err)
	return one, err
}

// Status returns the snapshot of a pod and a stamp made after it.
func (r *Runtime[K]) Status(ctx context.Context, id K) (*Status, time.Time, error) {
	var s *Status
	var stamp time.Time
	err := r.call(ctx, "Status", id, r.number(id), func() error {
		p := r.pods[id]
		if p == nil || len(p.containers) == 0 {
			return fmt.Errorf("pod %v: %w", id, pleg.ErrNotFound)
		}
		s = p.versions[len(p.versions)-1]
		stamp = r.stamp("status", p.number, r.calls[callCount{"Status", p.number}])
		return nil
	})
	if errors.Is(err, ErrInjected) {
		s = r.beside(id)
	}
	return s, stamp, err
}

// beside is the snapshot that comes with the error of a Status, mostly nil.
func (r *Runtime[K]) beside(id K) *Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[id]
	if p == nil || !r.dice.roll(r.faults.Beside, "beside", p.number, r.calls[callCount{"Status", p.number}]) || !r.inject("beside") {
		return nil
	}
	return p.versions[len(p.versions)-1]
}

// number is a pod's place in the order of creation, -1 for one that never was.
func (r *Runtime[K]) number(id K) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pods[id]; p != nil {
		return p.number
	}
	return -1
}

// call makes one call: late, never or not at all where a fault says so. read
// reads the truth, before or after the delay.
func (r *Runtime[K]) call(ctx context.Context, kind string, id K, number int, read func() error) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := callCount{kind, number}
	r.calls[c]++
	n := r.calls[c]
	place := len(r.history.Calls)
	r.history.Calls = append(r.history.Calls, Call[K]{Kind: kind, Pod: id, Start: time.Now()})
	r.busy++
	defer func() {
		r.busy--
		r.history.Calls[place].End, r.history.Calls[place].Err = time.Now(), err
		if err != nil && !errors.Is(err, pleg.ErrNotFound) {
			r.history.troubled()
		}
	}()
	roll := func(fault string, rate float64) bool {
		return !r.quiet && r.dice.roll(rate, fault, kind, number, n) && r.inject(fault)
	}
	switch {
	case r.down:
		return ErrDown
	case roll("hang", r.faults.Hang):
		r.pause(ctx, forever)
		return ctx.Err()
	case roll("error", r.faults.Error):
		return ErrInjected
	case !roll("slow", r.faults.Slow):
		return read()
	}
	if roll("deaf", r.faults.Deaf) {
		ctx = context.WithoutCancel(ctx)
	}
	delay := time.Duration(r.dice.float("by", kind, number, n) * float64(r.faults.SlowBy))
	if r.dice.roll(0.5, "late", kind, number, n) {
		r.pause(ctx, delay)
		err = read()
	} else {
		err = read()
		r.pause(ctx, delay)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// pause waits without the lock.
func (r *Runtime[K]) pause(ctx context.Context, d time.Duration) {
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-after(d):
	case <-ctx.Done():
	}
}

// forever is longer than anybody waits.
const forever time.Duration = 1 << 62

// after is time.After, but leaves no timer behind that never fires.
func after(d time.Duration) <-chan time.Time {
	if d == forever {
		return nil
	}
	return time.After(d)
}

// show notes which containers an answer has shown to be there.
func (r *Runtime[K]) show(list []pleg.Pod[K], err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range list {
		for _, c := range p.Containers {
			r.history.shown(Ref[K]{p.ID, c.ID})
		}
	}
}

// Listless hides that a Runtime can list single pods.
type Listless[K comparable] struct{ R *Runtime[K] }

// Pods is the Runtime's.
func (l Listless[K]) Pods(ctx context.Context) ([]pleg.Pod[K], error) { return l.R.Pods(ctx) }

// Status is the Runtime's.
func (l Listless[K]) Status(ctx context.Context, id K) (*Status, time.Time, error) {
	return l.R.Status(ctx, id)
}
