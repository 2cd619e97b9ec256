// Package plegtest provides a fake container runtime for testing code built on package
// pleg. Driven by a seed, it injects the faults of real runtimes.
//
//	rt := plegtest.New[string](1, plegtest.Faults{Drop: 0.1, Slow: 0.1})
//	cache := statuscache.New[string](statuscache.Options[*plegtest.Status]{})
//	gen, err := pleg.NewGenerator(rt, cache, pleg.GeneratorOptions[string]{Stream: rt})
//
// Tests change pods with Create, Start, Exit and Remove, and compare the result with
// Truth. In a testing/synctest bubble, delays take no real time.
package plegtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/pleg"
)

// Status is an immutable snapshot of a pod in a Runtime.
type Status struct {
	Version int              // increases with every change of the pod
	Listed  []pleg.Container // in order of creation, with their exits
}

// copyOf returns a copy of the containers.
func (s *Status) copyOf() []pleg.Container { return slices.Clone(s.Listed) }

// String returns the version and the containers, as in "v3 a:exited b:running".
func (s *Status) String() string {
	if s == nil {
		return "gone"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "v%d", s.Version)
	for _, c := range s.Listed {
		fmt.Fprintf(&b, " %s:%v", c.ID, c.State)
	}
	return b.String()
}

// Errors of a Runtime's calls and streams.
var (
	ErrInjected = errors.New("plegtest: injected error")      // due to Faults.Error or a disconnection
	ErrDown     = errors.New("plegtest: the runtime is down") // during Restart
)

// Runtime is a fake container runtime. It implements pleg.Runtime and pleg.Streamer.
//
// Faults depend on the seed and the number of calls and changes, not on goroutine
// scheduling. Methods that change a container return false if they have no effect. The
// zero value is not usable; use New. A Runtime is safe for concurrent use.
type Runtime[K comparable] struct {
	dice  dice
	clock clock.Clock

	mu          sync.Mutex
	faults      Faults
	pods        map[K]*pod
	order       []K
	down        bool
	unsupported bool
	streams     []*stream[K]
	connections int
	log         []delivery[K] // the last events, for replays
	changes     int
	calls       map[callCount]int
	busy        int
	injected    map[string]int
}

type pod struct {
	number     int
	containers []pleg.Container
	started    map[string]time.Time
	versions   []*Status   // by version; nil while the pod is absent
	visible    []time.Time // when answers show that version
}

type callCount struct {
	kind string
	pod  int
}

// New returns a runtime without pods.
func New[K comparable](seed uint64, f Faults) *Runtime[K] {
	return &Runtime[K]{
		faults:   f.withDefaults(),
		dice:     dice(seed),
		clock:    clock.RealClock{},
		pods:     map[K]*pod{},
		calls:    map[callCount]int{},
		injected: map[string]int{},
	}
}

// SetClock replaces the real clock. Call it before all other methods.
func (r *Runtime[K]) SetClock(c clock.Clock) { r.clock = c }

// now returns the clock's wall time.
func (r *Runtime[K]) now() time.Time { return r.clock.Now().Round(0) }

// Create adds a container without a name, and the pod with its first container. The id
// must be new to the pod.
func (r *Runtime[K]) Create(id K, container string) bool {
	return r.CreateContainer(id, pleg.Container{ID: container})
}

// CreateContainer is like Create for a container with a name and an attempt, which its
// exit has, too. Its State is ignored.
func (r *Runtime[K]) CreateContainer(id K, c pleg.Container) bool {
	c.State = pleg.StateCreated
	return r.change(id, c.ID, func(p *pod, i int) bool {
		if i >= 0 || r.everHad(id, c.ID) {
			return false
		}
		p.containers = append(p.containers, c)
		return true
	}, pleg.RuntimeEventCreated)
}

// Start makes a created container run.
func (r *Runtime[K]) Start(id K, container string) bool {
	return r.change(id, container, func(p *pod, i int) bool {
		if !move(p, i, pleg.StateRunning) {
			return false
		}
		p.started[container] = r.now()
		return true
	}, pleg.RuntimeEventStarted)
}

// Exit makes a created or running container exit with code 0.
func (r *Runtime[K]) Exit(id K, container string) bool { return r.ExitCode(id, container, 0) }

// ExitCode is like Exit with the given code, and the reason Completed for 0 or Error
// otherwise.
func (r *Runtime[K]) ExitCode(id K, container string, code int32) bool {
	reason := "Error"
	if code == 0 {
		reason = "Completed"
	}
	return r.exit(id, container, func(p *pod, c pleg.Container) pleg.ExitDetails {
		return pleg.ExitDetails{Name: c.Name, Attempt: c.Attempt, Code: code, Reason: reason, Started: p.started[c.ID], Finished: r.now()}
	})
}

// ExitWith is like Exit with the given details.
func (r *Runtime[K]) ExitWith(id K, container string, d pleg.ExitDetails) bool {
	return r.exit(id, container, func(*pod, pleg.Container) pleg.ExitDetails { return d })
}

func (r *Runtime[K]) exit(id K, container string, details func(*pod, pleg.Container) pleg.ExitDetails) bool {
	return r.change(id, container, func(p *pod, i int) bool {
		if !move(p, i, pleg.StateExited) {
			return false
		}
		d := details(p, p.containers[i])
		p.containers[i].Exit = &d
		return true
	}, pleg.RuntimeEventStopped)
}

// Remove removes a container in any state, and the pod with its last container.
func (r *Runtime[K]) Remove(id K, container string) bool {
	return r.change(id, container, func(p *pod, i int) bool {
		if i < 0 {
			return false
		}
		p.containers = slices.Delete(slices.Clone(p.containers), i, i+1)
		delete(p.started, container)
		return true
	}, pleg.RuntimeEventDeleted)
}

// Restart takes the runtime down for d, and returns when it is up again. Meanwhile
// streams and calls fail with ErrDown, and changes send no events.
func (r *Runtime[K]) Restart(d time.Duration) {
	r.mu.Lock()
	r.down = true
	r.inject("Restart")
	r.cut(ErrDown)
	r.mu.Unlock()
	r.clock.Sleep(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = false
}

// Disconnect ends the event streams with ErrInjected.
func (r *Runtime[K]) Disconnect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inject("Disconnect")
	r.cut(ErrInjected)
}

// SetUnsupported disables or enables event streams. While they are disabled, Events
// returns pleg.ErrUnsupported.
func (r *Runtime[K]) SetUnsupported(unsupported bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsupported = unsupported
	if unsupported {
		r.inject("SetUnsupported")
		r.cut(pleg.ErrUnsupported)
	}
}

// SetFaults replaces the faults, except for events already late or lost.
func (r *Runtime[K]) SetFaults(f Faults) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = f.withDefaults()
}

// Truth returns the true state of all pods.
func (r *Runtime[K]) Truth() map[K]*Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	truth := map[K]*Status{}
	for id, p := range r.pods {
		if s := p.versions[len(p.versions)-1]; s != nil {
			truth[id] = s
		}
	}
	return truth
}

// Calls returns the number of calls of Pods, Pod and Events, by name.
func (r *Runtime[K]) Calls() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := map[string]int{"Events": r.connections}
	for c, n := range r.calls {
		calls[c.kind] += n
	}
	return calls
}

// Busy returns the number of calls and streams in progress.
func (r *Runtime[K]) Busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

// Injected returns the number of injected faults by name, which is a field of Faults or
// a method, such as Restart.
func (r *Runtime[K]) Injected() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.injected)
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

// everHad reports whether the pod ever had the container.
func (r *Runtime[K]) everHad(id K, container string) bool {
	for _, s := range r.pods[id].versions {
		if s != nil && slices.ContainsFunc(s.Listed, func(c pleg.Container) bool { return c.ID == container }) {
			return true
		}
	}
	return false
}

// change makes one change of a pod and sends its event. It reports whether do made a
// change.
func (r *Runtime[K]) change(id K, container string, do func(p *pod, i int) bool, event pleg.RuntimeEventType) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[id]
	if p == nil {
		p = &pod{number: len(r.pods), started: map[string]time.Time{}, versions: []*Status{nil}, visible: []time.Time{{}}}
		r.pods[id] = p
		r.order = append(r.order, id)
	}
	at := func() int {
		return slices.IndexFunc(p.containers, func(c pleg.Container) bool { return c.ID == container })
	}
	if !do(p, at()) {
		return false
	}
	var exit *pleg.ExitDetails
	if i := at(); i >= 0 {
		exit = p.containers[i].Exit
	}
	var s *Status
	if len(p.containers) > 0 {
		s = &Status{Version: len(p.versions), Listed: p.containers}
	}
	r.changes++
	p.versions = append(p.versions, s)
	p.visible = append(p.visible, r.visibleAt(p, event))
	r.send(id, container, event, exit)
	return true
}

// visibleAt returns when answers show the last change of p, which is not before the one
// before it, and at once for a creation.
func (r *Runtime[K]) visibleAt(p *pod, event pleg.RuntimeEventType) time.Time {
	now := r.clock.Now()
	if event == pleg.RuntimeEventCreated {
		for i := range p.visible {
			if p.visible[i].After(now) {
				p.visible[i] = now
			}
		}
		return now
	}
	at := p.visible[len(p.visible)-1]
	if event >= pleg.RuntimeEventStopped && r.roll("Lag", r.faults.Lag, r.changes) {
		now = now.Add(time.Duration(r.dice.float("lag", r.changes) * float64(r.faults.Delay)))
	}
	if now.After(at) {
		return now
	}
	return at
}
