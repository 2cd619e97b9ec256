//go:build long

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// run creates and starts a container, as a kubelet does.
func (f *fakeRuntime) run(pod string, config *cri.ContainerConfig) (id string) {
	f.t.Helper()
	created, err := f.CreateContainer(context.Background(), &cri.CreateContainerRequest{PodSandboxId: pod, Config: config})
	if err == nil {
		_, err = f.StartContainer(context.Background(), &cri.StartContainerRequest{ContainerId: created.ContainerId})
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return created.ContainerId
}

// attempt returns the id of an attempt of a container, "" if there is none, and its
// state.
func (f *fakeRuntime) attempt(pod, name string, attempt uint32) (string, cri.ContainerState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, c := range f.containers {
		if m := c.status.Metadata; c.sandbox == pod && m.Name == name && m.Attempt == attempt {
			return id, c.status.State
		}
	}
	return "", 0
}

// runs reports whether an attempt of a container runs.
func (f *fakeRuntime) runs(pod, name string, attempt uint32) bool {
	id, state := f.attempt(pod, name, attempt)
	return id != "" && state == cri.ContainerState_CONTAINER_RUNNING
}

// all returns the attempts of a container that there are.
func (f *fakeRuntime) all(pod, name string) (attempts []uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		if m := c.status.Metadata; c.sandbox == pod && m.Name == name {
			attempts = append(attempts, m.Attempt)
		}
	}
	slices.Sort(attempts)
	return attempts
}

// did runs the function for a call that has had its effect.
func (f *fakeRuntime) did(call string) {
	f.mu.Lock()
	after := f.after[call]
	f.mu.Unlock()
	if after != nil {
		after()
	}
}

// CreateContainer refuses a name and an attempt that are taken, as containerd does.
func (f *fakeRuntime) CreateContainer(_ context.Context, r *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	err := f.enter("CreateContainer")
	m := r.GetConfig().GetMetadata()
	id := fmt.Sprintf("%s-%s-%d", r.PodSandboxId, m.GetName(), m.GetAttempt())
	sandbox := f.sandboxes[r.PodSandboxId]
	switch {
	case err != nil:
	case sandbox.GetState() != cri.PodSandboxState_SANDBOX_READY || sandbox == nil:
		err = grpcstatus.Error(codes.Unknown, "sandbox container is not running")
	case f.containers[id] != nil:
		err = grpcstatus.Errorf(codes.Unknown, "failed to reserve container name %q", id)
	default:
		f.containers[id] = &fakeContainer{sandbox: r.PodSandboxId, config: r.Config, status: &cri.ContainerStatus{
			Id: id, Metadata: m, State: cri.ContainerState_CONTAINER_CREATED, CreatedAt: time.Now().UnixNano(),
		}}
		f.calls["created "+id]++
	}
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	f.send(r.PodSandboxId, id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	f.did("CreateContainer")
	return &cri.CreateContainerResponse{ContainerId: id}, nil
}

// StartContainer starts a container once.
func (f *fakeRuntime) StartContainer(_ context.Context, r *cri.StartContainerRequest) (*cri.StartContainerResponse, error) {
	err := f.enter("StartContainer")
	c := f.containers[r.ContainerId]
	switch {
	case err != nil:
	case c == nil:
		err = grpcstatus.Error(codes.NotFound, "no such container")
	case c.status.State != cri.ContainerState_CONTAINER_CREATED:
		err = grpcstatus.Errorf(codes.Unknown, "container is in %v state", c.status.State)
	}
	if err == nil {
		f.calls["started "+r.ContainerId]++
	}
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	sandbox := c.sandbox
	f.change(r.ContainerId, func(s *cri.ContainerStatus) {
		s.State, s.StartedAt = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano()
	})
	f.send(sandbox, r.ContainerId, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	f.did("StartContainer")
	return &cri.StartContainerResponse{}, nil
}

// RemoveContainer removes a container that does not run.
func (f *fakeRuntime) RemoveContainer(_ context.Context, r *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	err := f.enter("RemoveContainer")
	c := f.containers[r.ContainerId]
	f.mu.Unlock()
	if err == nil && c != nil {
		f.remove(r.ContainerId)
	}
	return &cri.RemoveContainerResponse{}, err
}

// doubled returns what was created or started more than once.
func (f *fakeRuntime) doubled() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(f.calls)) {
		if n := f.calls[what]; n > 1 && (len(what) > 8 && (what[:8] == "created " || what[:8] == "started ")) {
			list = append(list, fmt.Sprintf("%s %d times", what, n))
		}
	}
	return list
}

// StopContainer kills a container.
func (f *fakeRuntime) StopContainer(_ context.Context, r *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	err := f.enter("StopContainer")
	c := f.containers[r.ContainerId]
	f.mu.Unlock()
	if err == nil && c != nil {
		f.exit(r.ContainerId, 137)
	}
	return &cri.StopContainerResponse{}, err
}
