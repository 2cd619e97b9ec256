package main

import (
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// An exit is how a container ended.
type exit struct {
	pod, container, name string
	attempt              uint32
	coded                bool // the runtime has reported the fields below
	code                 int32
	reason               string
	finished             time.Time // zero if the runtime does not say
	known                time.Time // the timestamp of its event; zero: it has none, or an answer reported the exit
	deleted              bool      // an event has reported that the container is gone
}

// exits remembers how the last rememberedExits containers ended, as answers and events
// of the runtime reported it: a container may be gone before anybody asks for its
// status. The zero value is empty. exits is safe for concurrent use by multiple
// goroutines.
type exits struct {
	mu   sync.Mutex
	last recent[exit]
}

// record notes which containers of a pod have exited. event is the timestamp of the
// event that reported them, zero for an answer.
func (x *exits) record(pod string, list []*cri.ContainerStatus, event time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range list {
		if old := x.last.values[c.GetId()]; c.GetState() == cri.ContainerState_CONTAINER_EXITED && !old.coded {
			x.last.put(c.Id, exit{
				pod: pod, container: c.Id, name: c.GetMetadata().GetName(), attempt: c.GetMetadata().GetAttempt(),
				coded: true, code: c.ExitCode, reason: c.Reason, finished: stamp(c.FinishedAt), known: event,
				deleted: old.deleted,
			})
		}
	}
}

// ended notes an event that a container has exited and, with deleted, is gone. event is
// its timestamp. A late event may come without the container's status.
func (x *exits) ended(pod, container string, event time.Time, deleted bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, old := x.last.values[container]
	if !old {
		e = exit{pod: pod, container: container, known: event}
	}
	e.deleted = e.deleted || deleted
	x.last.put(container, e)
}

// of returns what is remembered of a container's end.
func (x *exits) of(container string) (exit, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.last.values[container]
	return e, ok
}

// in returns the exits of a pod, or of all, oldest first.
func (x *exits) in(pod string) []exit {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []exit
	for _, id := range x.last.inOrder() {
		if e := x.last.values[id]; pod == "" || e.pod == pod {
			list = append(list, e)
		}
	}
	return list
}
