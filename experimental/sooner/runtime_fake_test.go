package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// fakeRuntime is a container runtime that runs nothing. Tests say what it shows, and a
// fault may delay or fail a call.
type fakeRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	t      testing.TB
	server *grpc.Server

	mu      sync.Mutex
	boxes   map[string]*cri.PodSandboxStatus
	records map[string]*fakeRecord
	calls   []string // each with its id, such as "RemoveContainer a"
	created []*cri.CreateContainerRequest
	fault   func(ctx context.Context, call, id string) error // before the call, without the lock
}

type fakeRecord struct {
	sandbox string
	status  *cri.ContainerStatus
}

func newFakeRuntime(t testing.TB) *fakeRuntime {
	return &fakeRuntime{t: t, boxes: map[string]*cri.PodSandboxStatus{}, records: map[string]*fakeRecord{}}
}

// inMemory returns a node whose connection to the runtime needs no socket, so its time
// may be virtual. The test ends it.
func (f *fakeRuntime) inMemory() (n *node, end func()) {
	listener := bufconn.Listen(1 << 20)
	f.serve(listener)
	conn, err := grpc.NewClient("passthrough:///fake",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		f.t.Fatal(err)
	}
	n = &node{conn, cri.NewRuntimeServiceClient(conn)}
	return n, func() { n.close(); f.server.Stop() }
}

// newSocket returns the path of a socket that does not exist yet.
func newSocket(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "cri") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "s")
}

// listen serves at a socket until the test ends or stop is called.
func (f *fakeRuntime) listen(socket string) (stop func()) {
	f.t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		f.t.Fatal(err)
	}
	f.serve(listener)
	server := f.server
	f.t.Cleanup(server.Stop)
	return server.Stop
}

func (f *fakeRuntime) serve(listener net.Listener) {
	f.server = grpc.NewServer()
	cri.RegisterRuntimeServiceServer(f.server, f)
	go f.server.Serve(listener)
}

// with changes the runtime under its lock.
func (f *fakeRuntime) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// box adds a ready sandbox of a pod, with the id box-UID.
func (f *fakeRuntime) box(namespace, name, uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := "box-" + uid
	f.boxes[id] = &cri.PodSandboxStatus{
		Id: id, CreatedAt: time.Now().UnixNano(), Metadata: &cri.PodSandboxMetadata{Namespace: namespace, Name: name, Uid: uid},
		Labels: map[string]string{labelPodNamespace: namespace, labelPodName: name, labelPodUID: uid},
	}
}

// record adds or replaces a record of a container "c" in the sandbox of a pod.
func (f *fakeRuntime) record(uid string, s *cri.ContainerStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	box := f.boxes["box-"+uid]
	s.Labels = maps.Clone(box.Labels)
	s.Labels[labelContainer] = "c"
	s.Image = &cri.ImageSpec{Image: "image-of-" + uid}
	f.records[s.Id] = &fakeRecord{box.Id, s}
}

// exitedStatus returns the status of a run just ended.
func exitedStatus(id string, code int32, restarts int, log string) *cri.ContainerStatus {
	now := time.Now()
	return &cri.ContainerStatus{
		Id: id, State: cri.ContainerState_CONTAINER_EXITED, ExitCode: code, Reason: "Error", LogPath: log,
		CreatedAt: now.Add(-2 * time.Second).UnixNano(), StartedAt: now.Add(-time.Second).UnixNano(), FinishedAt: now.UnixNano(),
		Annotations: map[string]string{annotationCount: fmt.Sprint(restarts)},
	}
}

func runningStatus(id string, restarts int, log string) *cri.ContainerStatus {
	s := exitedStatus(id, 0, restarts, log)
	s.State, s.FinishedAt, s.Reason = cri.ContainerState_CONTAINER_RUNNING, 0, ""
	return s
}

// setFault makes calls fail or wait from now on. A nil fault ends that.
func (f *fakeRuntime) setFault(fault func(ctx context.Context, call, id string) error) {
	f.with(func() { f.fault = fault })
}

// enter records a call and returns its fault.
func (f *fakeRuntime) enter(ctx context.Context, call, id string) error {
	f.mu.Lock()
	f.calls = append(f.calls, strings.TrimSpace(call+" "+id))
	fault := f.fault
	f.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, call, id)
}

// of returns the calls that begin with a prefix, in order.
func (f *fakeRuntime) of(prefix string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(c string) bool { return !strings.HasPrefix(c, prefix) })
}

// changes returns the calls that change the runtime.
func (f *fakeRuntime) changes() []string {
	return slices.Concat(f.of("RemoveContainer"), f.of("CreateContainer"))
}

func (f *fakeRuntime) Version(ctx context.Context, _ *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{RuntimeName: "fake", RuntimeVersion: "1.0"}, f.enter(ctx, "Version", "")
}

func (f *fakeRuntime) ListPodSandbox(ctx context.Context, in *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	if err := f.enter(ctx, "ListPodSandbox", in.GetFilter().GetLabelSelector()[labelPodUID]); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &cri.ListPodSandboxResponse{}
	for _, b := range f.boxes {
		if uid, ok := in.GetFilter().GetLabelSelector()[labelPodUID]; ok && b.Labels[labelPodUID] != uid {
			continue
		}
		r.Items = append(r.Items, &cri.PodSandbox{Id: b.Id, Metadata: b.Metadata, State: b.State, CreatedAt: b.CreatedAt, Labels: b.Labels})
	}
	return r, nil
}

func (f *fakeRuntime) PodSandboxStatus(ctx context.Context, in *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	if err := f.enter(ctx, "PodSandboxStatus", in.PodSandboxId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.boxes[in.PodSandboxId]; b != nil {
		return &cri.PodSandboxStatusResponse{Status: b}, nil
	}
	return nil, status.Errorf(codes.NotFound, "no sandbox %s", in.PodSandboxId)
}

func (f *fakeRuntime) ListContainers(ctx context.Context, in *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	if err := f.enter(ctx, "ListContainers", ""); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &cri.ListContainersResponse{}
	for _, c := range f.records {
		if want := in.GetFilter().GetState(); want != nil && want.State != c.status.State {
			continue
		}
		if uid, ok := in.GetFilter().GetLabelSelector()[labelPodUID]; ok && c.status.Labels[labelPodUID] != uid {
			continue
		}
		r.Containers = append(r.Containers, &cri.Container{
			Id: c.status.Id, PodSandboxId: c.sandbox, State: c.status.State, CreatedAt: c.status.CreatedAt,
			Labels: c.status.Labels, Annotations: c.status.Annotations, Image: c.status.Image,
		})
	}
	return r, nil
}

func (f *fakeRuntime) ContainerStatus(ctx context.Context, in *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	if err := f.enter(ctx, "ContainerStatus", in.ContainerId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.records[in.ContainerId]; c != nil {
		return &cri.ContainerStatusResponse{Status: c.status}, nil
	}
	return nil, status.Errorf(codes.NotFound, "no container %s", in.ContainerId)
}

func (f *fakeRuntime) RemoveContainer(ctx context.Context, in *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	if err := f.enter(ctx, "RemoveContainer", in.ContainerId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.records[in.ContainerId] == nil {
		return nil, status.Errorf(codes.NotFound, "no container %s", in.ContainerId)
	}
	delete(f.records, in.ContainerId)
	return &cri.RemoveContainerResponse{}, nil
}

func (f *fakeRuntime) CreateContainer(ctx context.Context, in *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	if err := f.enter(ctx, "CreateContainer", in.PodSandboxId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprint("created-", len(f.created))
	f.created = append(f.created, in)
	f.records[id] = &fakeRecord{in.PodSandboxId, &cri.ContainerStatus{
		Id: id, State: cri.ContainerState_CONTAINER_CREATED, CreatedAt: time.Now().UnixNano(),
		Labels: in.Config.Labels, Annotations: in.Config.Annotations, Image: in.Config.Image,
	}}
	return &cri.CreateContainerResponse{ContainerId: id}, nil
}
