package criwatch

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// status is a pod's entry in the cache. It must not change once cached.
type status struct {
	sandbox    *cri.PodSandboxStatus // nil if the containers have outlived it
	containers []*cri.ContainerStatus
}

// list returns the sandbox, which has no exit, and the containers of the pod.
func (s *status) list() []pleg.Container {
	if s == nil {
		return nil
	}
	list := make([]pleg.Container, 0, 1+len(s.containers))
	if s.sandbox != nil {
		list = append(list, pleg.Container{ID: s.sandbox.Id, State: sandboxState(s.sandbox.State)})
	}
	for _, c := range s.containers {
		x := pleg.Container{
			ID: c.Id, State: containerState(c.State), Name: c.GetMetadata().GetName(), Attempt: int64(c.GetMetadata().GetAttempt()),
		}
		if x.State == pleg.StateExited {
			x.Exit = exitDetails(c)
		}
		list = append(list, x)
	}
	return list
}

func exitDetails(c *cri.ContainerStatus) *pleg.ExitDetails {
	return &pleg.ExitDetails{
		Name: c.GetMetadata().GetName(), Attempt: int64(c.GetMetadata().GetAttempt()),
		Code: c.ExitCode, Reason: c.Reason, Started: stamp(c.StartedAt), Finished: stamp(c.FinishedAt),
	}
}

// sandboxState returns the state of a sandbox as a container.
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

// Pod looks at one pod. It makes one call if the runtime adds the containers to the
// sandbox's status (KEP-3386). Otherwise it makes one more call for the list and one for
// each container.
func (n *node) Pod(ctx context.Context, id string) (pleg.Pod[string], *status, error) {
	pod := pleg.Pod[string]{ID: id}
	answer, err := n.client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil && grpcstatus.Code(err) != codes.NotFound {
		return pod, nil, fmt.Errorf("PodSandboxStatus(%s): %w", id, err)
	}
	st := &status{sandbox: answer.GetStatus(), containers: answer.GetContainersStatuses()}
	if answer.GetTimestamp() == 0 {
		if st.containers, err = n.containers(ctx, id); err != nil {
			return pod, nil, err
		}
	}
	if st.sandbox == nil && len(st.containers) == 0 {
		return pod, nil, pleg.ErrNotFound
	}
	pod.Containers = st.list()
	return pod, st, nil
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
		if answer.Status == nil {
			return nil, fmt.Errorf("ContainerStatus(%s): the answer has no status", c.Id)
		}
		found = append(found, answer.Status)
	}
	return found, nil
}
