package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Reasons not to restart a container although its runtime answers.
var (
	errSuperseded = errors.New("another attempt exists")
	errGone       = errors.New("the container is gone")
	errNotReady   = errors.New("the sandbox is not ready")
)

// restart starts the attempt after the exited one and returns its container id. It acts
// on the runtime's list, so it may be called again after a failure or a crash of this
// program.
//
//   - If the next attempt is created but not started, restart starts it.
//   - If the next attempt has been started, or a later one exists, it returns errSuperseded.
//   - If the runtime does not know the state of the exited attempt, restart stops it first.
//   - A runtime has at most one container of a name and attempt in a sandbox.
//
// Like a kubelet, restart keeps the exited attempt and removes the earlier ones. It
// calls turn right before it starts the container, and returns turn's error.
func (n *node) restart(ctx context.Context, sandbox, name string, exited uint32, turn func() error) (string, error) {
	all, err := n.attempts(ctx, sandbox, name)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", errGone
	}
	last := all[len(all)-1]
	id := last.Id
	attempt := last.GetMetadata().GetAttempt()
	if attempt == exited && last.State == cri.ContainerState_CONTAINER_UNKNOWN {
		if err := n.stop(ctx, id); err != nil {
			return "", err
		}
		last.State = cri.ContainerState_CONTAINER_EXITED
	}
	switch {
	case attempt == exited && last.State == cri.ContainerState_CONTAINER_EXITED:
		if id, err = n.createNext(ctx, sandbox, last.Id); err != nil {
			return "", err
		}
	case attempt == exited+1 && last.State == cri.ContainerState_CONTAINER_CREATED:
	default:
		return "", errSuperseded
	}
	if err := turn(); err != nil {
		return "", err
	}
	if _, err := n.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: id}); err != nil {
		return "", fmt.Errorf("StartContainer: %w", err)
	}
	for _, c := range all {
		if c.GetMetadata().GetAttempt() < exited && c.State == cri.ContainerState_CONTAINER_EXITED {
			// If this fails, the next restart removes it.
			_, _ = n.client.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: c.Id})
		}
	}
	return id, nil
}

// stop kills a container in an unknown state, which may still run after a failure of
// the runtime. A kubelet does the same before it starts another attempt.
func (n *node) stop(ctx context.Context, container string) error {
	_, err := n.client.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: container})
	if err != nil && grpcstatus.Code(err) != codes.NotFound {
		return fmt.Errorf("StopContainer: %w", err)
	}
	return nil
}

// attempts lists the containers of a name in a sandbox, the last attempt last.
func (n *node) attempts(ctx context.Context, sandbox, name string) ([]*cri.Container, error) {
	list, err := n.client.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{PodSandboxId: sandbox}})
	if err != nil {
		return nil, fmt.Errorf("ListContainers: %w", err)
	}
	all := slices.DeleteFunc(list.Containers, func(c *cri.Container) bool { return c.GetMetadata().GetName() != name })
	slices.SortFunc(all, func(a, b *cri.Container) int { return compareAttempts(a, b) })
	return all, nil
}

// attempted is a container in a list or a status.
type attempted interface {
	GetMetadata() *cri.ContainerMetadata
	GetCreatedAt() int64
}

// compareAttempts orders containers of a name by attempt, then by creation time.
func compareAttempts(a, b attempted) int {
	if x, y := a.GetMetadata().GetAttempt(), b.GetMetadata().GetAttempt(); x != y {
		return int(int64(x) - int64(y))
	}
	return stamp(a.GetCreatedAt()).Compare(stamp(b.GetCreatedAt()))
}

// createNext creates the attempt after a container, from the configurations of the
// container and of its sandbox.
func (n *node) createNext(ctx context.Context, sandbox, container string) (string, error) {
	s, err := n.client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox, Verbose: true})
	switch {
	case grpcstatus.Code(err) == codes.NotFound:
		return "", errGone
	case err != nil:
		return "", fmt.Errorf("PodSandboxStatus: %w", err)
	case s.GetStatus().GetState() != cri.PodSandboxState_SANDBOX_READY:
		return "", errNotReady
	}
	var pod cri.PodSandboxConfig
	if _, err := configOf(s.Info, &pod); err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	c, err := n.client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: container, Verbose: true})
	switch {
	case grpcstatus.Code(err) == codes.NotFound:
		return "", errGone
	case err != nil:
		return "", fmt.Errorf("ContainerStatus: %w", err)
	}
	config, err := containerConfigOf(c.Info)
	if err != nil {
		return "", err
	}
	created, err := n.client.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: sandbox, Config: nextConfig(config), SandboxConfig: &pod})
	if err != nil {
		return "", fmt.Errorf("CreateContainer: %w", err)
	}
	return created.ContainerId, nil
}
