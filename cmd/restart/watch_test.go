package main

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// fakeRuntime is a CRI runtime that has one pod and runs nothing.
type fakeRuntime struct {
	cri.UnimplementedRuntimeServiceServer

	mu         sync.Mutex
	containers []*cri.ContainerStatus
}

// fakeRuntimeCommand is a command of the scripts: "runtime serve" serves a fakeRuntime at
// $WORK/cri.sock, "runtime exit NAME CODE" lets a container of it end.
func fakeRuntimeCommand(ts *testscript.TestScript, _ bool, args []string) {
	switch args[0] {
	case "serve":
		listener, err := net.Listen("unix", ts.MkAbs("cri.sock"))
		ts.Check(err)
		f, server := &fakeRuntime{}, grpc.NewServer()
		cri.RegisterRuntimeServiceServer(server, f)
		go func() { _ = server.Serve(listener) }()
		ts.Defer(server.Stop)
		runtimes.Store(ts.Name(), f)
	case "exit":
		code, err := strconv.Atoi(args[2])
		ts.Check(err)
		f, _ := runtimes.Load(ts.Name())
		f.(*fakeRuntime).exit(args[1], int32(code))
	}
}

var runtimes sync.Map // by script

func (f *fakeRuntime) exit(name string, code int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().UnixNano()
	f.containers = append(f.containers, &cri.ContainerStatus{
		Id: "id-" + name, Metadata: &cri.ContainerMetadata{Name: name}, State: cri.ContainerState_CONTAINER_EXITED,
		CreatedAt: now, StartedAt: now, FinishedAt: now, ExitCode: code, Reason: "Error",
	})
}

var fakePod = &cri.PodSandboxMetadata{Namespace: "default", Name: "web-0", Uid: "uid"}

func (f *fakeRuntime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{RuntimeName: "fake", RuntimeVersion: "1"}, nil
}

func (f *fakeRuntime) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{Items: []*cri.PodSandbox{{Id: "pod", Metadata: fakePod, State: cri.PodSandboxState_SANDBOX_READY}}}, nil
}

func (f *fakeRuntime) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &cri.ListContainersResponse{}
	for _, c := range f.containers {
		answer.Containers = append(answer.Containers, &cri.Container{Id: c.Id, PodSandboxId: "pod", State: c.State, Metadata: c.Metadata})
	}
	return answer, nil
}

func (f *fakeRuntime) PodSandboxStatus(_ context.Context, r *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{Id: r.PodSandboxId, Metadata: fakePod, State: cri.PodSandboxState_SANDBOX_READY}}, nil
}

func (f *fakeRuntime) ContainerStatus(_ context.Context, r *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		if c.Id == r.ContainerId {
			return &cri.ContainerStatusResponse{Status: c}, nil
		}
	}
	return nil, grpcstatus.Error(codes.NotFound, "no such container")
}
