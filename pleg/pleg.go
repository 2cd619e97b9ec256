// Package pleg generates pod lifecycle events, like the kubelet's PLEG (KEP-3386, Kubelet
// Evented PLEG). A [Generator] lists what a runtime runs, follows the runtime's event
// stream, keeps a [statuscache.Cache] equal to the runtime, and reports each change and
// each exit.
//
// Implement [Runtime] over whatever runs the containers, and [Streamer] too if it can
// stream events. Make a cache and a Generator over them, call Run, range over Events or
// Exits, and ask the cache.
//
//	cache := statuscache.New[string](statuscache.Options[*Status]{})
//	gen, err := pleg.NewGenerator(runtime, runtime, cache, pleg.GeneratorOptions{})
//	go gen.Run(ctx)
//	for e := range gen.Exits(ctx) {
//		restart(e.Pod, e.Container, cache.Get(e.Pod).Status)
//	}
//
// A pod is any comparable key except the zero value, which names no pod. A status is any
// type. Runtimes may also implement [PodLister], and statuses [ContainerLister] and
// [ExitLister]; without the latter exits have no codes. Container ids must be unique within
// their pod; see [Container].
//
// A Generator and an ExitReader are safe for concurrent use. Only Run and Relist start
// goroutines, and they wait for them.
package pleg

// Files use each other in one direction. From the bottom: the types of the callers (pleg.go,
// exits.go, stats.go), what is known of a pod (containers.go, observation.go, known.go), what
// is to be done about it (record.go), the readers' state (events.go, exits_news.go,
// exits_log.go), the relister (relist*.go), turn.go, which says what to do now, and on top
// generator.go, exits_reader.go and run.go, which does it.

import (
	"context"
	"errors"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// Sentinel errors. A Runtime and a PodLister return ErrNotFound, a Streamer ErrUnsupported.
var (
	ErrClosed      = statuscache.ErrClosed           // the cache, or the ExitReader that was asked
	ErrNotFound    = errors.New("pleg: no such pod") // the pod is gone
	ErrUnsupported = errors.New("pleg: the runtime has no event stream")
)

// State is the state of a container. A container goes through the states in order
// and never back; see Container.ID. The zero value is StateUnknown.
type State int

// The states in order. StateUnknown, like any other number, says nothing and takes
// nothing back.
const (
	StateUnknown State = iota
	StateCreated
	StateRunning
	StateExited
)

// String returns the state in lower case, "unknown" for any other number.
func (s State) String() string {
	if s < StateUnknown || s > StateExited {
		s = StateUnknown
	}
	return [...]string{"unknown", "created", "running", "exited"}[s]
}

// Container is a container as a runtime lists it. It is a plain value.
type Container struct {
	// ID names the container within its pod, and no other one before or after it,
	// as a container runtime's ids do.
	//
	// The Generator recognises an id that is used again as soon as two of its own
	// observations in a row show a step back: from exited to running, or from removed
	// to there. It makes the second at once. Then it is another container, with a
	// ContainerStarted and a ContainerDied of its own. An exit between two
	// observations that both show a running container goes unnoticed; if an event
	// reports it, there is a PodSync.
	ID    string
	State State
}

// Pod is a pod as a runtime lists it. A sandbox is listed as one of its
// containers, as the kubelet does. A Pod is safe for concurrent use by multiple
// goroutines while nobody writes to it.
type Pod[K comparable] struct {
	ID         K           // its key, not the zero value
	Containers []Container // in any order
}

// EventType is the kind of an Event; the strings are the kubelet's.
type EventType string

// The kinds of events.
const (
	ContainerStarted EventType = "ContainerStarted" // it runs
	ContainerDied    EventType = "ContainerDied"    // it has exited, or is gone and was not seen to exit
	ContainerRemoved EventType = "ContainerRemoved" // it is gone
	ContainerChanged EventType = "ContainerChanged" // it was created, or its state is unknown
	PodSync          EventType = "PodSync"          // something about the pod may have changed: look at its status
)

// Event is one step in the life of a pod. It is a plain value; the zero value is none.
type Event[K comparable] struct {
	Pod       K // the zero value in a PodSync of all pods; see Generator.Events
	Type      EventType
	Container string // its id; "" in a PodSync
}

// Runtime is what the caller implements: a view of what runs the pods. The
// Generator calls its methods from several goroutines at once. They should return
// when their context ends: one that does not counts against MaxConcurrent, and Run does
// not return before it.
type Runtime[K comparable, S any] interface {
	// Pods lists every pod and container that the runtime knows, as they are at one
	// moment of the call. A list from before the call may show a container running that
	// has exited, which makes another container of it; see Container.ID. The Generator
	// keeps nothing of the slices.
	Pods(ctx context.Context) ([]Pod[K], error)
	// Status returns the details of a pod and the runtime's own stamp of them, zero
	// if it has none. The error is ErrNotFound if the pod is gone. With any other
	// error, which the entry keeps, a zero S leaves the last status in the entry, and
	// any other S replaces it.
	//
	// A Runtime that needs what Pods showed of the pod keeps its last list, and lists
	// the pod itself if that does not show it: a ContainerLister is also asked for
	// pods that no list has shown.
	Status(ctx context.Context, pod K) (S, time.Time, error)
}

// PodLister is implemented by a Runtime that can list one pod for less than all of
// them. It is used if the status is no ContainerLister: without a PodLister each event
// then costs a full list. A type that wraps a Runtime has to have the method too. The
// Generator calls Pod from several goroutines at once.
type PodLister[K comparable] interface {
	// Pod lists one pod, as Pods would. The error is ErrNotFound if it is gone.
	Pod(ctx context.Context, pod K) (Pod[K], error)
}

// ContainerLister is implemented by a status type that shows the containers of its
// pod: all that Pods lists, in their states. Then one call of Status is a look at a
// pod. Without it a look is a list and a Status, and the Generator assumes that the
// status shows what the list before it did, so a container that comes and goes in
// between may stay in the status until the pod changes again. The Generator calls
// Containers from one goroutine at a time while others may read the status.
type ContainerLister interface {
	// Containers returns the containers of the pod. The Generator does not keep the slice.
	Containers() []Container
}

// Streamer is implemented by a Runtime that can also stream events (KEP-3386,
// "GetContainerEvents"). The Generator calls Events from one goroutine at a time,
// while others call the Runtime's methods.
type Streamer[K comparable, S any] interface {
	// Events calls handle for every event until the stream or ctx ends, and returns
	// why. The error is ErrUnsupported if the runtime has no stream. handle never
	// blocks; several goroutines may call it.
	//
	// The Generator assumes that the subscription is up a RelistPeriod after the
	// call: a full relist that begins then finds what changed before. If it may take
	// longer, call handle with an event that names no pod as soon as it is up; that
	// asks for one more full relist.
	Events(ctx context.Context, handle func(RuntimeEvent[K, S])) error
}

// RuntimeEventType is what happened to a container; the numbers are the CRI's.
type RuntimeEventType int

// The kinds of runtime events. An event of any other type still asks for a relist.
const (
	RuntimeEventCreated RuntimeEventType = iota
	RuntimeEventStarted
	RuntimeEventStopped // it has exited
	RuntimeEventDeleted
)

// String returns what happened in lower case, or "unknown".
func (t RuntimeEventType) String() string {
	if t < RuntimeEventCreated || t > RuntimeEventDeleted {
		return "unknown"
	}
	return [...]string{"created", "started", "stopped", "deleted"}[t]
}

// RuntimeEvent is what a runtime reports. One that names no pod (the zero key) asks
// for a full relist. It is safe for concurrent use by multiple goroutines while nobody
// writes to what it holds.
type RuntimeEvent[K comparable, S any] struct {
	Pod       K
	Container string // its id
	Type      RuntimeEventType
	At        time.Time          // the runtime's own stamp; zero if it has none
	Seen      *PodSnapshot[K, S] // the pod as of At; nil if the runtime does not send it
}

// PodSnapshot is a pod as a runtime event carries it: what Pods and Status would return.
type PodSnapshot[K comparable, S any] struct {
	Pod    Pod[K]
	Status S
}
