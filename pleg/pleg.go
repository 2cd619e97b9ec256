// Package pleg generates pod lifecycle events, like the kubelet's PLEG (KEP-3386,
// Kubelet Evented PLEG). A [Generator] lists a runtime's pods, follows its event
// stream, keeps a [statuscache.Cache] equal to the runtime, and reports changes and
// exits.
//
// Implement [Runtime], and [Streamer] if the runtime can stream events. Then run a
// Generator, range over Events or Exits, and read statuses from the cache.
//
//	cache := statuscache.New[string](statuscache.Options[*Status]{})
//	gen, err := pleg.NewGenerator(runtime, runtime, cache, pleg.GeneratorOptions{})
//	go gen.Run(ctx)
//	for e := range gen.Exits(ctx) {
//		restart(e.Pod, e.Container, cache.Get(e.Pod).Status)
//	}
//
// Keys and statuses can be of any type, but the zero key names no pod. [PodLister],
// [ContainerLister] and [ExitLister] are optional, but exits have codes only with an
// ExitLister.
package pleg

// Files depend on each other in one direction. From the bottom, these are the caller's
// types (pleg.go, exits.go, stats.go), the known state of a pod (containers.go,
// observation.go, known.go), its pending work (record.go), the readers' state
// (events.go, exits_news.go, exits_log.go), the relister (relist*.go), turn.go, which
// decides the next step, and generator.go, exits_reader.go and run.go, which carry it
// out.

import (
	"context"
	"errors"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// Sentinel errors.
var (
	ErrClosed      = statuscache.ErrClosed           // the cache or the ExitReader is closed
	ErrNotFound    = errors.New("pleg: no such pod") // returned by Runtimes and PodListers
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

// Container is a container in a runtime's list.
type Container struct {
	// ID identifies the container within its pod and is never reused, as container
	// runtimes ensure.
	//
	// A reused id makes a new container, with its own ContainerStarted and
	// ContainerDied, once two observations in a row show a step back, from exited to
	// running or from removed to present. An exit between two observations of a running
	// container goes unnoticed, except for a PodSync if an event reports it.
	ID    string
	State State
	// Name and Attempt are optional, for exits whose ExitDetails are unknown. Name is
	// the same for every attempt, and empty if unknown. Attempt counts earlier attempts.
	Name    string
	Attempt int64
}

// Pod is a pod in a runtime's list. Sandboxes are listed as containers, as in the
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
	ContainerChanged EventType = "ContainerChanged" // created, or its state is unknown
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
// they count against MaxConcurrent and keep Run from returning.
type Runtime[K comparable, S any] interface {
	// Pods lists all pods and containers as of one moment during the call. An older
	// list may make an exited container look restarted; see Container.ID. The Generator
	// does not retain the slices.
	Pods(ctx context.Context) ([]Pod[K], error)
	// Status returns a pod's status and the runtime's own timestamp of it, or zero. It
	// returns ErrNotFound if the pod is gone. Any other error is stored with the
	// returned status, or with the previous one if that is the zero S.
	//
	// If S is a ContainerLister, Status is also called for pods that Pods has not
	// listed yet.
	Status(ctx context.Context, pod K) (S, time.Time, error)
}

// PodLister is implemented by a Runtime that can list one pod more cheaply than all. It
// is used if the status is not a ContainerLister; without either, each event costs a
// full list. Wrappers of a Runtime must forward the method. Pod is called by several
// goroutines at once.
type PodLister[K comparable] interface {
	// Pod lists one pod, as Pods would. It returns ErrNotFound if the pod is gone.
	Pod(ctx context.Context, pod K) (Pod[K], error)
}

// ContainerLister is implemented by a status type that includes the containers of its
// pod, as Pods would list them. A look at a pod is then one call of Status. Otherwise
// it is a list and a Status, assumed to show the same containers, so a container that
// comes and goes between them may stay in the status until the pod's next change.
// Containers is called by one goroutine at a time, while others may read the status.
type ContainerLister interface {
	// Containers returns a slice that the Generator does not retain.
	Containers() []Container
}

// Streamer is implemented by a Runtime that can stream events (KEP-3386,
// "GetContainerEvents"). Events is called by one goroutine at a time, concurrently with
// the Runtime's methods.
type Streamer[K comparable, S any] interface {
	// Events calls handle for each event until the stream or ctx ends, and returns the
	// reason, or ErrUnsupported if the runtime has no stream. handle never blocks and
	// is safe for concurrent use.
	//
	// The subscription should be up a RelistPeriod after the call, when a full relist
	// finds earlier changes. If it may take longer, call handle with an event that
	// names no pod as soon as it is up, to request another full relist.
	Events(ctx context.Context, handle func(RuntimeEvent[K, S])) error
}

// RuntimeEventType is the kind of a runtime event. The numbers are the CRI's.
type RuntimeEventType int

// The kinds of runtime events. Events of other types still request a relist.
const (
	RuntimeEventCreated RuntimeEventType = iota
	RuntimeEventStarted
	RuntimeEventStopped // exited
	RuntimeEventDeleted
)

// String returns the type in lower case.
func (t RuntimeEventType) String() string {
	if t < RuntimeEventCreated || t > RuntimeEventDeleted {
		return "unknown"
	}
	return [...]string{"created", "started", "stopped", "deleted"}[t]
}

// RuntimeEvent is an event of a runtime. If Pod is the zero key, the event requests a
// full relist.
type RuntimeEvent[K comparable, S any] struct {
	Pod       K
	Container string // its id
	Type      RuntimeEventType
	At        time.Time          // the runtime's own timestamp, or zero
	Seen      *PodSnapshot[K, S] // the pod as of At, or nil
}

// PodSnapshot is a pod in a RuntimeEvent, as Pods and Status would return it.
type PodSnapshot[K comparable, S any] struct {
	Pod    Pod[K]
	Status S
}
