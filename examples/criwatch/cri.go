package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// status is what the cache keeps of a pod. It is not changed once it is there.
type status struct {
	sandbox    *cri.PodSandboxStatus // nil: its containers have outlived it
	containers []*cri.ContainerStatus
}

// Containers makes a status a pleg.ContainerLister: it may show more, or less,
// than the list that was made before it.
func (s *status) Containers() []pleg.Container {
	if s == nil {
		return nil
	}
	list := make([]pleg.Container, 0, 1+len(s.containers))
	if s.sandbox != nil {
		list = append(list, pleg.Container{ID: s.sandbox.Id, State: sandboxState(s.sandbox.State)})
	}
	for _, c := range s.containers {
		list = append(list, pleg.Container{ID: c.Id, State: containerState(c.State)})
	}
	return list
}

// A node is a CRI runtime as package pleg wants it: a pleg.Runtime, PodLister
// and Streamer. A pod is known by the id of its sandbox, which is also listed as
// one of its containers: running while it is ready, exited when it is not. The
// kubelet may give a pod another sandbox; here that is another pod of the same
// name.
//
// A node is safe for concurrent use by multiple goroutines.
type node struct {
	client cri.RuntimeServiceClient
	exits  exits

	trouble chan struct{} // holds a token when there is new trouble

	mu       sync.Mutex
	leaving  map[string]bool // sandboxes told of as deleted and not looked at since
	troubled troubles
}

// troubles is what is wrong between criwatch and the runtime.
type troubles struct {
	list   error // of the last full list
	stream error // why the last stream ended
	closed bool  // no stream is open
}

func newNode(conn grpc.ClientConnInterface) *node {
	return &node{client: cri.NewRuntimeServiceClient(conn), trouble: make(chan struct{}, 1), leaving: map[string]bool{}, troubled: troubles{closed: true}}
}

// largestMessage is what the kubelet allows, too: a list of a full node exceeds
// the 4 MiB of grpc.
const largestMessage = 16 << 20

// dial returns a connection that finds its way back to a runtime which was
// restarted. It makes no call yet.
func dial(endpoint string) (*grpc.ClientConn, error) {
	return grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}))
}

// parseEndpoint returns what to dial: unix://PATH, or PATH alone.
func parseEndpoint(s string) (string, error) {
	path, ok := strings.CutPrefix(s, "unix://")
	if !ok && strings.Contains(s, "://") {
		return "", fmt.Errorf("endpoint %q: only unix sockets are supported: unix:///run/containerd/containerd.sock", s)
	}
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("endpoint %q: must be unix:// and an absolute path", s)
	}
	return "unix://" + path, nil
}

// Pods lists every pod. The containers are listed before the sandboxes: what
// comes between belongs to pods that are listed, what goes leaves containers
// without a sandbox, and these are looked at.
func (n *node) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	pods, err := n.list(ctx, nil, nil)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.troubled.list = err
	if err != nil {
		n.complain()
	}
	for id := range n.leaving {
		if err == nil && !slices.ContainsFunc(pods, func(p pleg.Pod[string]) bool { return p.ID == id }) {
			delete(n.leaving, id)
		}
	}
	return pods, err
}

// Pod lists one pod. containerd tells that it deletes a sandbox a moment before
// it does: the sandbox may be listed for so long.
func (n *node) Pod(ctx context.Context, id string) (pleg.Pod[string], error) {
	leaving := n.takeLeaving(id)
	for pause := time.Millisecond; ; pause *= 2 {
		pods, err := n.list(ctx, &cri.PodSandboxFilter{Id: id}, &cri.ContainerFilter{PodSandboxId: id})
		switch {
		case err != nil:
			return pleg.Pod[string]{}, err
		case len(pods) == 0:
			return pleg.Pod[string]{}, pleg.ErrNotFound
		case !leaving || pause > 256*time.Millisecond:
			return pods[0], nil
		}
		select {
		case <-ctx.Done():
			return pleg.Pod[string]{}, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// list lists the pods that pass the filters, of which nil passes all.
func (n *node) list(ctx context.Context, sandboxes *cri.PodSandboxFilter, containers *cri.ContainerFilter) ([]pleg.Pod[string], error) {
	c, err := n.client.ListContainers(ctx, &cri.ListContainersRequest{Filter: containers})
	if err != nil {
		return nil, fmt.Errorf("ListContainers: %w", err)
	}
	s, err := n.client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: sandboxes})
	if err != nil {
		return nil, fmt.Errorf("ListPodSandbox: %w", err)
	}
	pods := make([]pleg.Pod[string], 0, len(s.Items))
	place := make(map[string]int, len(s.Items))
	at := func(id string) *pleg.Pod[string] {
		i, ok := place[id]
		if !ok {
			i = len(pods)
			place[id] = i
			pods = append(pods, pleg.Pod[string]{ID: id})
		}
		return &pods[i]
	}
	for _, x := range s.Items {
		pod := at(x.Id)
		pod.Containers = append(pod.Containers, pleg.Container{ID: x.Id, State: sandboxState(x.State)})
	}
	for _, x := range c.Containers {
		pod := at(x.PodSandboxId)
		pod.Containers = append(pod.Containers, pleg.Container{ID: x.Id, State: containerState(x.State)})
	}
	return pods, nil
}

// Status returns the details of a pod: in one call from a runtime that adds the
// containers and its stamp to the sandbox's status (KEP-3386), else container by
// container.
func (n *node) Status(ctx context.Context, id string) (*status, time.Time, error) {
	answer, err := n.client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil && grpcstatus.Code(err) != codes.NotFound {
		return nil, time.Time{}, fmt.Errorf("PodSandboxStatus(%s): %w", id, err)
	}
	st := &status{sandbox: answer.GetStatus(), containers: answer.GetContainersStatuses()}
	if answer.GetTimestamp() == 0 {
		if st.containers, err = n.containers(ctx, id); err != nil {
			return nil, time.Time{}, err
		}
	}
	if st.sandbox == nil && len(st.containers) == 0 {
		return nil, time.Time{}, pleg.ErrNotFound
	}
	n.exits.record(id, st.containers, time.Time{})
	return st, stamp(answer.GetTimestamp()), nil
}

// containers returns the status of every container of a pod.
func (n *node) containers(ctx context.Context, id string) ([]*cri.ContainerStatus, error) {
	list, err := n.client.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{PodSandboxId: id}})
	if err != nil {
		return nil, fmt.Errorf("ListContainers(%s): %w", id, err)
	}
	found := make([]*cri.ContainerStatus, 0, len(list.Containers))
	for _, c := range list.Containers {
		answer, err := n.client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: c.Id})
		if grpcstatus.Code(err) == codes.NotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("ContainerStatus(%s): %w", c.Id, err)
		}
		found = append(found, answer.Status)
	}
	return found, nil
}

// setLeaving notes that the runtime told of a sandbox as deleted.
func (n *node) setLeaving(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaving[id] = true
}

// takeLeaving reports whether the sandbox was told of as deleted since it was
// last asked.
func (n *node) takeLeaving(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	leaving := n.leaving[id]
	delete(n.leaving, id)
	return leaving
}

// troubles returns what is wrong now.
func (n *node) troubles() troubles {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.troubled
}

// complain tells of new trouble.
func (n *node) complain() {
	select {
	case n.trouble <- struct{}{}:
	default:
	}
}

// errNotAnswering is part of the error of a runtime that is not there.
var errNotAnswering = errors.New("no CRI runtime answers")

// greet asks the runtime for its name and version. It opens the socket itself
// first, as the system's error says in a few words what grpc wraps in many.
func (n *node) greet(ctx context.Context, endpoint string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	socket, err := new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(endpoint, "unix://"))
	if failed := (*net.OpError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return "", fmt.Errorf("%w at %s: %w", errNotAnswering, endpoint, err)
	}
	socket.Close()
	v, err := n.client.Version(ctx, &cri.VersionRequest{})
	if err != nil {
		return "", fmt.Errorf("%w at %s: %s", errNotAnswering, endpoint, grpcstatus.Convert(err).Message())
	}
	return v.RuntimeName + " " + v.RuntimeVersion, nil
}

// sandboxState is what a sandbox does as a container.
func sandboxState(s cri.PodSandboxState) pleg.State {
	if s == cri.PodSandboxState_SANDBOX_READY {
		return pleg.StateRunning
	}
	return pleg.StateExited
}

func containerState(s cri.ContainerState) pleg.State {
	switch s {
	case cri.ContainerState_CONTAINER_CREATED:
		return pleg.StateCreated
	case cri.ContainerState_CONTAINER_RUNNING:
		return pleg.StateRunning
	case cri.ContainerState_CONTAINER_EXITED:
		return pleg.StateExited
	}
	return pleg.StateUnknown
}
