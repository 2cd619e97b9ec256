package criwatch

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// A node adapts a CRI runtime to package pleg, as a pleg.Runtime and Streamer. Pods are
// identified by the id of their sandbox. The sandbox is listed as a container of its
// pod, running while it is ready and exited otherwise. If the kubelet replaces the
// sandbox of a pod, the new one is another pod of the same name.
//
// A node is safe for concurrent use by multiple goroutines.
type node struct {
	client cri.RuntimeServiceClient
	ended  eventTimes

	trouble chan struct{} // holds a token after new trouble

	mu       sync.Mutex
	troubled troubles
}

func newNode(conn grpc.ClientConnInterface) *node {
	return &node{client: cri.NewRuntimeServiceClient(conn), trouble: make(chan struct{}, 1), troubled: troubles{closed: true}}
}

// Pods lists every pod. It lists containers before sandboxes, so that new sandboxes are
// included. A sandbox removed in between leaves containers without one, which pleg
// inspects.
func (n *node) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	pods, err := n.list(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.troubled.list = err
	if err != nil {
		n.complain()
	}
	return pods, err
}

// list lists every pod.
func (n *node) list(ctx context.Context) ([]pleg.Pod[string], error) {
	c, err := n.client.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("ListContainers: %w", err)
	}
	s, err := n.client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
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
		pod.Containers = append(pod.Containers, pleg.Container{
			ID: x.Id, State: containerState(x.State), Name: x.GetMetadata().GetName(), Attempt: int64(x.GetMetadata().GetAttempt()),
		})
	}
	return pods, nil
}

// troubles holds the current failures between this program and the runtime.
type troubles struct {
	list   error // of the last full list
	stream error // why the last stream ended
	closed bool  // no stream is open
}

// troubles returns the current failures.
func (n *node) troubles() troubles {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.troubled
}

// complain wakes the reader of trouble.
func (n *node) complain() {
	select {
	case n.trouble <- struct{}{}:
	default:
	}
}
