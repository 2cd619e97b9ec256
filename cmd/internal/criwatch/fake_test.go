package criwatch

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A fakeRuntime is a CRI runtime on a unix socket that runs nothing: tests say
// what happens. It can behave like containerd or like CRI-O.
type fakeRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	t      testing.TB
	socket string

	mu         sync.Mutex
	server     *grpc.Server
	memory     *bufconn.Listener // in place of the socket, if there is none; nil: nothing listens
	sandboxes  map[string]*cri.PodSandboxStatus
	containers map[string]*fakeContainer
	streams    map[chan *cri.ContainerEventResponse]bool
	calls      map[string]int // and events sent, as "event"

	noStream  bool              // GetContainerEvents is not implemented
	full      bool              // PodSandboxStatus has the containers and a stamp (CRI-O)
	unit      time.Duration     // of the stamps; zero: no stamps
	failing   map[string]error  // by call
	lingering map[string]int    // sandboxes that are shown that many times more
	hooks     map[string]func() // by call, run without the lock
	secretive bool              // tells no configuration
	after     map[string]func() // by call, run without the lock when the call has had its effect
}

type fakeContainer struct {
	sandbox string
	status  *cri.ContainerStatus
	config  *cri.ContainerConfig // of one that CreateContainer made
}

// newFake returns a fake that serves.
func newFake(t testing.TB) *fakeRuntime {
	t.Helper()
	folder, err := os.MkdirTemp("", "cri") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	f := fakeAt(t, filepath.Join(folder, "s"))
	t.Cleanup(func() {
		f.down()
		os.RemoveAll(folder)
	})
	return f
}

func (f *fakeRuntime) endpoint() string { return "unix://" + f.socket }

// fakeAt returns a fake that serves at a socket or, where time is not real, without one:
// for connect.
func fakeAt(t testing.TB, socket string) *fakeRuntime {
	f := &fakeRuntime{
		t: t, socket: socket, unit: time.Nanosecond,
		sandboxes: map[string]*cri.PodSandboxStatus{}, containers: map[string]*fakeContainer{},
		streams: map[chan *cri.ContainerEventResponse]bool{}, calls: map[string]int{},
		failing: map[string]error{}, lingering: map[string]int{}, hooks: map[string]func(){}, after: map[string]func(){},
	}
	f.up()
	return f
}

// connect connects to a fake without a socket.
func (f *fakeRuntime) connect(ctx context.Context, _ string) (net.Conn, error) {
	f.mu.Lock()
	f.calls["connect"]++
	listener := f.memory
	f.mu.Unlock()
	if listener == nil {
		return nil, syscall.ECONNREFUSED
	}
	return listener.DialContext(ctx)
}

// up serves, as after a start of the runtime.
func (f *fakeRuntime) up() {
	if f.socket == "" {
		listener := bufconn.Listen(1 << 20)
		f.with(func() { f.memory = listener })
		f.serve(listener)
		return
	}
	os.Remove(f.socket)
	listener, err := net.Listen("unix", f.socket)
	if err != nil {
		f.t.Fatal(err)
	}
	f.serve(listener)
}

func (f *fakeRuntime) serve(listener net.Listener) {
	f.server = grpc.NewServer()
	cri.RegisterRuntimeServiceServer(f.server, f)
	go func() { _ = f.server.Serve(listener) }()
}

// down breaks every connection.
func (f *fakeRuntime) down() {
	f.with(func() { f.memory = nil })
	f.server.Stop()
}

// with changes the fake under its lock.
func (f *fakeRuntime) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeRuntime) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

// enter counts a call and returns its error, with the lock held.
func (f *fakeRuntime) enter(call string) error {
	f.mu.Lock()
	hook := f.hooks[call]
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	f.mu.Lock()
	f.calls[call]++
	return f.failing[call]
}

// container returns a container as it is now.
func (f *fakeRuntime) container(id string) fakeContainer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.containers[id]
}

// listening reports whether somebody has the stream open.
func (f *fakeRuntime) listening() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, open := range f.streams {
		if open {
			return true
		}
	}
	return false
}

func (f *fakeRuntime) stamp(t time.Time) int64 {
	if f.unit == 0 {
		return 0
	}
	return t.UnixNano() / int64(f.unit)
}

// What tests do. Each sends its event, but quietly.

func (f *fakeRuntime) runPod(id string) {
	f.with(func() {
		f.sandboxes[id] = &cri.PodSandboxStatus{
			Id: id, State: cri.PodSandboxState_SANDBOX_READY, CreatedAt: time.Now().UnixNano(),
			Metadata: &cri.PodSandboxMetadata{Name: "name-" + id, Namespace: "ns", Uid: "uid-" + id, Attempt: 1},
		}
	})
	f.send(id, id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	f.send(id, id, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
}

func (f *fakeRuntime) create(pod, id string) {
	f.with(func() {
		f.containers[id] = &fakeContainer{sandbox: pod, status: &cri.ContainerStatus{
			Id: id, CreatedAt: time.Now().UnixNano(), State: cri.ContainerState_CONTAINER_CREATED,
			Metadata: &cri.ContainerMetadata{Name: "name-" + id, Attempt: 2},
		}}
	})
	f.send(pod, id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
}

func (f *fakeRuntime) start(pod, id string) {
	f.create(pod, id)
	f.change(id, func(s *cri.ContainerStatus) {
		s.State, s.StartedAt = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano()
	})
	f.send(pod, id, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
}

func (f *fakeRuntime) exit(id string, code int32) {
	f.exitQuietly(id, code)
	f.send(f.container(id).sandbox, id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// exitQuietly ends a container. odd changes what the runtime shows of that.
func (f *fakeRuntime) exitQuietly(id string, code int32, odd ...func(*cri.ContainerStatus)) {
	f.change(id, func(s *cri.ContainerStatus) {
		s.State, s.FinishedAt, s.ExitCode, s.Reason = cri.ContainerState_CONTAINER_EXITED, time.Now().UnixNano(), code, "Error"
		for _, change := range odd {
			change(s)
		}
	})
}

func (f *fakeRuntime) remove(id string) {
	pod := f.container(id).sandbox
	f.removeQuietly(id)
	f.send(pod, id, cri.ContainerEventType_CONTAINER_DELETED_EVENT)
}

func (f *fakeRuntime) removeQuietly(id string) {
	f.with(func() { delete(f.containers, id) })
}

// removePod reports the sandbox as deleted before it is, as containerd does.
func (f *fakeRuntime) removePod(id string) {
	f.with(func() { f.sandboxes[id].State = cri.PodSandboxState_SANDBOX_NOTREADY })
	f.send(id, id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	for c, x := range maps.Clone(f.containers) {
		if x.sandbox == id {
			f.remove(c)
		}
	}
	f.send(id, id, cri.ContainerEventType_CONTAINER_DELETED_EVENT)
	f.with(func() {
		if f.lingering[id] == 0 {
			delete(f.sandboxes, id)
		}
	})
}

// change replaces a container's status, as answers under way keep theirs.
func (f *fakeRuntime) change(id string, change func(*cri.ContainerStatus)) {
	f.with(func() {
		old := f.containers[id].status
		status := &cri.ContainerStatus{
			Id: old.Id, Metadata: old.Metadata, State: old.State, CreatedAt: old.CreatedAt, StartedAt: old.StartedAt,
			FinishedAt: old.FinishedAt, ExitCode: old.ExitCode, Reason: old.Reason,
		}
		change(status)
		f.containers[id].status = status
	})
}

func (f *fakeRuntime) send(pod, container string, kind cri.ContainerEventType) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &cri.ContainerEventResponse{
		ContainerId: container, ContainerEventType: kind, CreatedAt: f.stamp(time.Now()),
		PodSandboxStatus: f.sandbox(pod), ContainersStatuses: f.statuses(pod),
	}
	for s := range f.streams {
		s <- e
		f.calls["event"]++
	}
}

// sandbox returns a copy of a sandbox's status, nil if there is none.
func (f *fakeRuntime) sandbox(id string) *cri.PodSandboxStatus {
	s := f.sandboxes[id]
	if s == nil {
		return nil
	}
	return &cri.PodSandboxStatus{Id: s.Id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt}
}

func (f *fakeRuntime) statuses(pod string) (list []*cri.ContainerStatus) {
	for _, id := range slices.Sorted(maps.Keys(f.containers)) {
		if c := f.containers[id]; c.sandbox == pod {
			list = append(list, c.status)
		}
	}
	return list
}

// The calls.

func (f *fakeRuntime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	defer f.mu.Unlock()
	return &cri.VersionResponse{RuntimeName: "fake", RuntimeVersion: "1"}, f.enter("Version")
}

func (f *fakeRuntime) ListPodSandbox(_ context.Context, r *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	err := f.enter("ListPodSandbox")
	defer f.mu.Unlock()
	answer := &cri.ListPodSandboxResponse{}
	for _, id := range slices.Sorted(maps.Keys(f.sandboxes)) {
		if !strings.HasPrefix(id, r.Filter.GetId()) {
			continue
		}
		if f.linger(id); f.sandboxes[id] != nil {
			s := f.sandboxes[id]
			answer.Items = append(answer.Items, &cri.PodSandbox{Id: id, Metadata: s.Metadata, State: s.State})
		}
	}
	return answer, err
}

// linger deletes a sandbox that was deleted, and has been shown often enough since.
func (f *fakeRuntime) linger(id string) {
	if n := f.lingering[id]; n > 0 && f.sandboxes[id].GetState() == cri.PodSandboxState_SANDBOX_NOTREADY {
		if f.lingering[id]--; n == 1 {
			delete(f.sandboxes, id)
		}
	}
}

func (f *fakeRuntime) ListContainers(_ context.Context, r *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	err := f.enter("ListContainers")
	defer f.mu.Unlock()
	answer := &cri.ListContainersResponse{}
	for _, id := range slices.Sorted(maps.Keys(f.containers)) {
		if c := f.containers[id]; r.Filter.GetPodSandboxId() == "" || r.Filter.PodSandboxId == c.sandbox {
			answer.Containers = append(answer.Containers, &cri.Container{
				Id: id, PodSandboxId: c.sandbox, State: c.status.State, Metadata: c.status.Metadata, CreatedAt: c.status.CreatedAt,
			})
		}
	}
	return answer, err
}

func (f *fakeRuntime) PodSandboxStatus(_ context.Context, r *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	err := f.enter("PodSandboxStatus")
	defer f.mu.Unlock()
	f.linger(r.PodSandboxId)
	s := f.sandbox(r.PodSandboxId)
	if err == nil && s == nil {
		err = grpcstatus.Error(codes.NotFound, "no such sandbox")
	}
	answer := &cri.PodSandboxStatusResponse{Status: s}
	if f.full {
		answer.ContainersStatuses, answer.Timestamp = f.statuses(r.PodSandboxId), f.stamp(time.Now())
	}
	if r.Verbose {
		answer.Info = f.info(&cri.PodSandboxConfig{Metadata: s.GetMetadata()})
	}
	return answer, err
}

func (f *fakeRuntime) ContainerStatus(_ context.Context, r *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	err := f.enter("ContainerStatus")
	defer f.mu.Unlock()
	c := f.containers[r.ContainerId]
	if err == nil && c == nil {
		err = grpcstatus.Error(codes.NotFound, "no such container")
	}
	if err != nil {
		return nil, err
	}
	answer := &cri.ContainerStatusResponse{Status: c.status}
	if r.Verbose {
		answer.Info = f.info(c.config)
	}
	return answer, nil
}

func (f *fakeRuntime) GetContainerEvents(_ *cri.GetEventsRequest, s cri.RuntimeService_GetContainerEventsServer) error {
	err := f.enter("GetContainerEvents")
	if f.noStream {
		err = grpcstatus.Error(codes.Unimplemented, "unknown method GetContainerEvents")
	}
	events := make(chan *cri.ContainerEventResponse, 1<<16)
	f.streams[events] = err == nil
	f.mu.Unlock()
	defer f.with(func() { delete(f.streams, events) })
	for err == nil {
		select {
		case e := <-events:
			err = s.Send(e)
		case <-s.Context().Done():
			err = s.Context().Err()
		}
	}
	return err
}

// info is the verbose info of a container or sandbox, as containerd words it.
func (f *fakeRuntime) info(config any) map[string]string {
	if f.secretive {
		return map[string]string{"info": `{"pid": 1}`}
	}
	env := []string{"PATH=/bin", "KEY=value"}
	text, err := json.Marshal(map[string]any{"pid": 1, "config": config, "runtimeSpec": map[string]any{"process": map[string]any{"env": env}}})
	if err != nil {
		f.t.Error(err)
	}
	return map[string]string{"info": string(text)}
}
