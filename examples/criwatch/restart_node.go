package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Why a container is not started again, although its runtime answers.
var (
	errSuperseded = errors.New("another attempt is there")
	errGone       = errors.New("it is gone")
	errNotReady   = errors.New("its sandbox is not ready")
)

// restart starts the attempt of a container after the one that has exited, and returns
// its id. What the runtime lists decides, so that it may be called again after any
// failure, and after the end of this program at any point:
//
//   - if the next attempt is created and was not started, it is started;
//   - if it has been started, or there is a later one, the error is errSuperseded;
//   - a runtime has at most one container of a name and attempt in a sandbox.
//
// Of the attempts before the one that has exited none is left: as a kubelet does,
// restart keeps one that has ended.
func (n *node) restart(ctx context.Context, sandbox, name string, exited uint32) (string, error) {
	all, err := n.attempts(ctx, sandbox, name)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", errGone
	}
	last := all[len(all)-1]
	id := last.Id
	switch attempt := last.GetMetadata().GetAttempt(); {
	case attempt == exited && last.State == cri.ContainerState_CONTAINER_EXITED:
		if id, err = n.createNext(ctx, sandbox, last.Id); err != nil {
			return "", err
		}
	case attempt == exited+1 && last.State == cri.ContainerState_CONTAINER_CREATED:
	default:
		return "", errSuperseded
	}
	if _, err := n.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: id}); err != nil {
		return "", fmt.Errorf("StartContainer: %w", err)
	}
	for _, c := range all {
		if c.GetMetadata().GetAttempt() < exited && c.State == cri.ContainerState_CONTAINER_EXITED {
			// If it stays, the next restart removes it.
			_, _ = n.client.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: c.Id})
		}
	}
	return id, nil
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

// attempted is a container as a list or a status shows it.
type attempted interface {
	GetMetadata() *cri.ContainerMetadata
	GetCreatedAt() int64
}

// compareAttempts orders containers of a name by attempt, then by age.
func compareAttempts(a, b attempted) int {
	if x, y := a.GetMetadata().GetAttempt(), b.GetMetadata().GetAttempt(); x != y {
		return int(int64(x) - int64(y))
	}
	return stamp(a.GetCreatedAt()).Compare(stamp(b.GetCreatedAt()))
}

// createNext creates the attempt after a container, from its configuration and that
// of its sandbox.
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

// A pacer keeps the starts to a rate, whatever delays them: the Restarter gives each
// restart a turn, but a runtime that was away would make all the turns it has missed at
// once. The zero value does not hold back.
type pacer struct {
	interval time.Duration // between two starts
	burst    int
	full     time.Time // when burst starts are allowed at once again
}

// newPacer returns a pacer. Unless it is the first on this node, starts of before may
// have used up the burst.
func newPacer(rate float64, burst int, first bool, now time.Time) *pacer {
	if rate == 0 {
		return &pacer{}
	}
	p := &pacer{interval: time.Duration(min(float64(time.Second)/rate, float64(1<<62))), burst: max(burst, 1)}
	if !first {
		p.full = now.Add(p.interval * time.Duration(p.burst))
	}
	return p
}

// wait returns how long to wait for the next start.
func (p *pacer) wait(now time.Time) time.Duration {
	if p.interval == 0 || !p.full.After(now) {
		return 0
	}
	return max(0, p.full.Sub(now)-time.Duration(p.burst-1)*p.interval)
}

// take notes a start.
func (p *pacer) take(now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(p.interval)
}
