// Package pleg generates pod lifecycle events, like the kubelet's PLEG (KEP-3386,
// Kubelet Evented PLEG): it follows the containers of a runtime, and tells a program
// that keeps them running of every exit, once, even if the program is killed and started
// again. It also keeps a [statuscache.Cache] equal to the runtime.
//
// Implement [Runtime], and [Streamer] if the runtime can stream events. Make a
// [Generator] and a reader of exits, and only then run the Generator, so that no exit in
// between is lost.
//
//	cache := statuscache.New[string](statuscache.Options[*Status]{})
//	gen, err := pleg.NewGenerator(runtime, cache, pleg.GeneratorOptions[string]{Stream: runtime})
//	if err != nil {
//		return err
//	}
//	exits, err := gen.ExitReader(pleg.ExitOptions[string]{})
//	if err != nil {
//		return err
//	}
//	go gen.Run(ctx)
//	for {
//		e, err := exits.Next(ctx)
//		if err != nil {
//			return err
//		}
//		restart(e.Pod, e.Container, cache.Get(e.Pod).Status)
//	}
//
// Keys and statuses can be of any type, but the zero key names no pod. In a
// testing/synctest bubble, virtual time works.
package pleg

// Files depend on each other in one direction. From the bottom: the caller's types
// (pleg.go, exits.go, stats.go), pod.go, which is pure, scheduler.go and stream.go, which
// choose the calls, publisher.go and exits_log.go, which feed the readers, then
// generator.go with answers.go and position.go, and run.go, which makes the calls.

import (
	"context"
	"errors"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// Sentinel errors.
var (
	ErrClosed      = statuscache.ErrClosed           // the cache or the ExitReader is closed
	ErrNotFound    = errors.New("pleg: no such pod") // returned by Runtimes
	ErrUnsupported = errors.New("pleg: the runtime has no event stream")
)

// State is the state of a container, which never moves back.
type State int

// The states in order. StateUnknown undoes no state.
const (
	StateUnknown State = iota
	StateCreated
	StateRunning
	StateExited
)

// String returns the state in lower case.
func (s State) String() string {
	if s < StateUnknown || s > StateExited {
		s = StateUnknown
	}
	return [...]string{"unknown", "created", "running", "exited"}[s]
}

// Container is a container in an answer of a runtime.
type Container struct {
	// ID identifies one run of a container within its pod, and is never used again. In the
	// CRI it is not, because the kubelet makes a new container for each restart. A "docker
	// restart" runs the same container again, so an adapter must add something to its id,
	// such as the start time. If a removed container is shown again, it is the same one; the
	// cache follows, with ContainerChanged, and its exit is not repeated.
	ID    string
	State State
	// Name and Attempt are optional, for exits whose ExitDetails are unknown. Name is the
	// same for every attempt, and empty if unknown. Attempt counts earlier attempts.
	Name    string
	Attempt int64
	Exit    *ExitDetails // of an exited container, if known
}

// Pod is a pod in an answer of a runtime. Sandboxes are listed as containers, as in the
// kubelet.
type Pod[K comparable] struct {
	ID         K           // the pod's key; not the zero value
	Containers []Container // in any order
}

// EventType is the kind of an Event. The strings are the kubelet's.
type EventType string

// The kinds of events.
const (
	ContainerStarted EventType = "ContainerStarted"
	ContainerDied    EventType = "ContainerDied" // exited, or removed before an exit was seen
	ContainerRemoved EventType = "ContainerRemoved"
	ContainerChanged EventType = "ContainerChanged" // created, its state is unknown, or it is back
	PodSync          EventType = "PodSync"          // the pod may have changed; check its status
)

// Event is one step in the life of a pod.
type Event[K comparable] struct {
	Pod       K // the zero value in a PodSync of all pods; see Generator.Events
	Type      EventType
	Container string // its id; empty in a PodSync
}

// Runtime is the caller's view of a container runtime. Its methods are called by
// several goroutines at once. They should return when their context ends; until then
// they count against MaxConcurrent and keep Run from returning. An answer holds as of
// some moment during its call. The Generator does not retain the slices.
type Runtime[K comparable, S any] interface {
	// Pods lists every pod with its containers. It should be cheap, because it is called
	// every second without a stream. An answer with the zero
	// key, or with a key twice, is an error, and changes nothing.
	Pods(ctx context.Context) ([]Pod[K], error)
	// Pod inspects one pod, and returns its containers and its status as of one moment. It
	// returns ErrNotFound if the pod is gone. Any other error is stored with the returned
	// status, or with the previous one if that is the zero S.
	Pod(ctx context.Context, id K) (Pod[K], S, error)
}

// Streamer streams the events of a runtime (KEP-3386, "GetContainerEvents").
type Streamer[K comparable] interface {
	// Events calls handle for each event until the stream or ctx ends, and returns the
	// reason, or ErrUnsupported if the runtime has no stream. It is called by one goroutine
	// at a time, concurrently with the Runtime's methods. handle may be called from any
	// goroutine, but not from inside Options.Merge or the Clock of the cache, because it takes
	// the Generator's lock, which is held while these run. It waits for nothing else.
	//
	// The subscription should be up a RelistPeriod after the call, when a full list finds
	// earlier changes. If it may take longer, call handle with an event that names no pod
	// as soon as it is up, to ask for another full list.
	Events(ctx context.Context, handle func(RuntimeEvent[K])) error
}

// RuntimeEventType is the kind of a runtime event.
type RuntimeEventType int

// The kinds of runtime events. RuntimeEventUnknown and undefined types claim nothing about
// the container; such an event still asks for an inspection, and its Exit still counts.
const (
	RuntimeEventUnknown RuntimeEventType = iota
	RuntimeEventCreated
	RuntimeEventStarted
	RuntimeEventStopped // exited
	RuntimeEventDeleted
)

// String returns the type in lower case.
func (t RuntimeEventType) String() string {
	if t < RuntimeEventUnknown || t > RuntimeEventDeleted {
		t = RuntimeEventUnknown
	}
	return [...]string{"unknown", "created", "started", "stopped", "deleted"}[t]
}

// RuntimeEvent is an event of a runtime. It asks for an inspection of a pod, and nothing in
// it is believed before an answer shows it. All fields are optional. Without a Pod, the event
// asks for a full list, at most one per RelistPeriod.
//
// An event may be ahead of the answers. If the inspection does not show what the event says
// of its container, it is repeated after 100 ms, doubling up to the RelistPeriod, until one
// does or a full list begun later was answered.
type RuntimeEvent[K comparable] struct {
	Pod       K
	Container string // its id
	Type      RuntimeEventType
	At        time.Time // the runtime's own timestamp, for Stats.EventLatency only
	// Exit is the container's exit, in case no answer shows it. It is used for a container
	// that an answer has shown alive or a reader expects, and that an answer shows ended
	// without its exit or no longer shows.
	Exit *ExitDetails
}
