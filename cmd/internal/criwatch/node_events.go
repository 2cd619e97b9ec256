package criwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// Events follows the runtime's container events until the stream ends. It reads without
// pauses because containerd blocks while a client does not read.
func (n *node) Events(ctx context.Context, handle func(pleg.RuntimeEvent[string])) error {
	n.mu.Lock()
	n.troubled.closed = false
	n.mu.Unlock()
	err := n.follow(ctx, handle)
	switch {
	case grpcstatus.Code(err) == codes.Unimplemented:
		err = fmt.Errorf("GetContainerEvents: %w: %s", pleg.ErrUnsupported, grpcstatus.Convert(err).Message())
	case errors.Is(err, io.EOF):
		err = errors.New("GetContainerEvents: the runtime has ended the stream")
	default:
		err = fmt.Errorf("GetContainerEvents: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.troubled.stream, n.troubled.closed = err, true
	n.complain()
	return err
}

func (n *node) follow(ctx context.Context, handle func(pleg.RuntimeEvent[string])) error {
	stream, err := n.client.GetContainerEvents(ctx, &cri.GetEventsRequest{})
	if err != nil {
		return err
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			return err
		}
		handle(n.event(e))
	}
}

// eventTypes are the CRI's types of events.
var eventTypes = map[cri.ContainerEventType]pleg.RuntimeEventType{
	cri.ContainerEventType_CONTAINER_CREATED_EVENT: pleg.RuntimeEventCreated,
	cri.ContainerEventType_CONTAINER_STARTED_EVENT: pleg.RuntimeEventStarted,
	cri.ContainerEventType_CONTAINER_STOPPED_EVENT: pleg.RuntimeEventStopped,
	cri.ContainerEventType_CONTAINER_DELETED_EVENT: pleg.RuntimeEventDeleted,
}

// event translates one event. The result has no pod if the event has no sandbox status,
// and then pleg relists.
func (n *node) event(e *cri.ContainerEventResponse) pleg.RuntimeEvent[string] {
	out := pleg.RuntimeEvent[string]{
		Container: e.ContainerId,
		Type:      eventTypes[e.ContainerEventType],
		At:        stamp(e.CreatedAt),
	}
	sandbox := e.PodSandboxStatus
	if sandbox.GetId() == "" {
		return out
	}
	out.Pod = sandbox.Id
	if out.Type == pleg.RuntimeEventStopped {
		n.ended.note(e.ContainerId, out.At)
		for _, c := range e.ContainersStatuses {
			if c.Id == e.ContainerId && c.State == cri.ContainerState_CONTAINER_EXITED {
				out.Exit = exitDetails(c)
			}
		}
	}
	return out
}

// stamp converts a runtime's timestamp, which is in nanoseconds or, from some runtimes,
// in seconds. It returns the zero time for 0. In this century nanoseconds exceed 1e17,
// and seconds stay below 1e11.
func stamp(n int64) time.Time {
	switch {
	case n <= 0:
		return time.Time{}
	case n < 1e11:
		return time.Unix(n, 0)
	}
	return time.Unix(0, n)
}

// eventTimes holds the timestamps of the runtime's latest exit events, by container. The
// zero value is empty. It is safe for concurrent use by multiple goroutines.
type eventTimes struct {
	mu       sync.Mutex
	new, old map[string]time.Time // old is dropped once new is full
}

// mostEventTimes is the number of containers in each half.
const mostEventTimes = 4096

// note records the timestamp of an event. Only a container's first one counts.
func (t *eventTimes) note(container string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.old[container]; ok {
		return
	}
	if _, ok := t.new[container]; ok {
		return
	}
	if t.new == nil || len(t.new) >= mostEventTimes {
		t.new, t.old = map[string]time.Time{}, t.new
	}
	t.new[container] = at
}

// take removes and returns the timestamp of a container, or zero.
func (t *eventTimes) take(container string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.new[container]
	if !ok {
		at = t.old[container]
	}
	delete(t.new, container)
	delete(t.old, container)
	return at
}
