// Package pleg knows what the pods of a node are doing: a status cache whose
// writes are ordered by the time of their observation, and the generator of pod
// lifecycle events that fills it, by relisting and from a runtime's event stream
// (KEP-3386, "Kubelet Evented PLEG").
//
// Implement Runtime over whatever runs the containers, and Streamer too if it
// can tell of changes; make a Cache and a Generator over them; call Run; then
// range over Events, and ask the Cache.
//
//	cache := pleg.NewCache[string](pleg.CacheOptions[*Status]{})
//	gen, err := pleg.NewGenerator(runtime, stream, cache, pleg.GeneratorOptions{})
//	go gen.Run(ctx)
//	for e := range gen.Events(ctx) {
//		status := cache.Get(e.Pod)
//		...
//	}
//
// It knows no Kubernetes types: a pod is any comparable key, a status any type.
//
// A container's id should be used once. If it is used again, as that of a virtual
// machine that is switched off and on, Container.ID says what is still told.
package pleg

import (
	"context"
	"errors"
	"time"
)

// Errors of this package, and two that a Runtime and a Streamer answer with.
var (
	ErrClosed      = errors.New("pleg: the cache is closed")
	ErrNotFound    = errors.New("pleg: no such pod")
	ErrUnsupported = errors.New("pleg: the runtime has no event stream")
)

// State is what a container does. Containers go through the states in order and
// never back; see Container.ID. The zero value is StateUnknown.
type State int

// The states in order. StateUnknown says nothing and takes nothing back; so does
// any other number.
const (
	StateUnknown State = iota
	StateCreated
	StateRunning
	StateExited
)

// String returns the state in lower case.
func (s State) String() string { return rankOf(s).String() }

// Container is a container as a runtime lists it.
type Container struct {
	// ID names the container within its pod, and no other one before or after it,
	// as a container runtime's ids do.
	//
	// An id that is used again is recognised as soon as two observations of the
	// Generator's own in a row show it a step back, from exited to running or from
	// removed to there. The second is made at once. Then it is another container,
	// with a ContainerStarted and a ContainerDied of its own. What nobody looks at
	// nobody learns: an exit between two observations that both show a running
	// container is at most a PodSync, if an event tells of it.
	ID    string
	State State
}

// Pod is a pod as a runtime lists it. A sandbox is listed as one of its
// containers, as the kubelet does.
type Pod[K comparable] struct {
	ID         K
	Containers []Container
}

// EventType is the kind of an Event; the strings are the kubelet's.
type EventType string

// The kinds of events. PodSync says that something about the pod may have
// changed and that its status is worth a look.
const (
	ContainerStarted EventType = "ContainerStarted" // it runs
	ContainerDied    EventType = "ContainerDied"    // it has exited, or is gone without having been seen so
	ContainerRemoved EventType = "ContainerRemoved" // it is gone
	ContainerChanged EventType = "ContainerChanged" // it was created, or its state is unknown
	PodSync          EventType = "PodSync"
)

// Event is one step in the life of a pod. Container is empty in a PodSync.
type Event[K comparable] struct {
	Pod       K
	Type      EventType
	Container string
}

// Runtime is what the caller implements: a view of what runs the pods. Its
// methods are called from several goroutines at once and should end when their
// context does: a call that does not holds its place, and Run back.
type Runtime[K comparable, S any] interface {
	// Pods lists every pod and container the runtime knows, as they are at one
	// moment of the call: a list that is older makes a new container of one that
	// has exited (Container.ID). The Generator keeps nothing of the slices.
	Pods(ctx context.Context) ([]Pod[K], error)
	// Status returns the details of a pod and the runtime's own stamp of them,
	// zero if it has none; ErrNotFound when the pod is gone. A status that comes
	// with another error is stored with that; beside an error without one (the
	// zero S) the last status stays.
	Status(ctx context.Context, pod K) (S, time.Time, error)
}

// PodLister is implemented by a Runtime that can list one pod for less than all
// of them. Without it every event costs a full list. Pod is called from several
// goroutines at once.
type PodLister[K comparable] interface {
	// Pod lists one pod, as Pods would; ErrNotFound when it is gone.
	Pod(ctx context.Context, pod K) (Pod[K], error)
}

// ContainerLister is implemented by a status type that shows the containers of
// its pod: all that Pods lists, in their states. Without it the Generator takes
// the list made before the status for what the status shows, so a container that
// comes and goes in between may stay in the status until the pod changes again.
// The Generator calls Containers from one goroutine at a time; others may read
// the status meanwhile.
type ContainerLister interface {
	Containers() []Container
}

// Streamer is implemented by a Runtime that can also tell of changes (KEP-3386,
// "GetContainerEvents"). Events is called by one goroutine at a time, while others
// call the Runtime's methods.
type Streamer[K comparable, S any] interface {
	// Events calls handle for every event until the stream ends or ctx does, and
	// says why; ErrUnsupported: the runtime has no stream. handle never blocks
	// and may be called by several goroutines.
	//
	// The Generator assumes that the subscription lives a RelistPeriod after the
	// call: a full relist that begins then finds what changed before. A
	// subscription that takes longer, or may, should handle an event that names no
	// pod as soon as it lives, which asks for one more full relist.
	Events(ctx context.Context, handle func(RuntimeEvent[K, S])) error
}

// RuntimeEventType is what happened to a container; the numbers are the CRI's.
type RuntimeEventType int

// The kinds of runtime events. Any other number still asks for a relist.
const (
	RuntimeCreated RuntimeEventType = iota
	RuntimeStarted
	RuntimeStopped
	RuntimeDeleted
)

// RuntimeEvent is what a runtime tells. One that names no pod (the zero key)
// asks for a full relist.
type RuntimeEvent[K comparable, S any] struct {
	Pod       K
	Container string
	Type      RuntimeEventType
	At        time.Time          // the runtime's own stamp; zero if it has none
	Seen      *Observation[K, S] // the pod as of At, if the runtime sends it
}

// Observation is a pod as a runtime event carries it.
type Observation[K comparable, S any] struct {
	Pod    Pod[K]
	Status S
}
