package criwatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// nodeOf connects to a fake.
func nodeOf(t *testing.T, f *fakeRuntime) *node {
	t.Helper()
	conn, err := dial(f.endpoint())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return newNode(conn)
}

// states is a pod's containers with their states.
func states(p pleg.Pod[string]) map[string]string {
	all := map[string]string{}
	for _, c := range p.Containers {
		all[c.ID] = c.State.String()
	}
	return all
}

// allStates are the states of all pods' containers.
func allStates(pods []pleg.Pod[string]) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, p := range pods {
		all[p.ID] = states(p)
	}
	return all
}

func TestPodsListsSandboxesAsContainers(t *testing.T) {
	f := newFake(t)
	n := nodeOf(t, f)
	f.runPod("a")
	f.create("a", "a1")
	f.start("a", "a2")
	f.start("a", "a3")
	f.exit("a3", 1)
	f.start("a", "a4")
	f.change("a4", func(s *cri.ContainerStatus) { s.State = cri.ContainerState_CONTAINER_UNKNOWN })
	f.runPod("b")
	f.with(func() { f.sandboxes["b"].State = cri.PodSandboxState_SANDBOX_NOTREADY })
	f.start("outlived", "c1")

	pods, err := n.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"a":        {"a": "running", "a1": "created", "a2": "running", "a3": "exited", "a4": "unknown"},
		"b":        {"b": "exited"},
		"outlived": {"c1": "running"},
	}
	if diff := cmp.Diff(want, allStates(pods)); diff != "" {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
	for id, want := range want {
		p, _, err := n.Pod(t.Context(), id)
		if diff := cmp.Diff(want, states(p)); diff != "" || err != nil || p.ID != id {
			t.Errorf("Pod(%s): %v (-want +got):\n%s", id, err, diff)
		}
	}
	if _, _, err := n.Pod(t.Context(), "no-such"); !errors.Is(err, pleg.ErrNotFound) {
		t.Errorf("Pod of no sandbox: %v", err)
	}
}

// Lists and statuses give containers the name and attempt that their exits have.
func TestContainersHaveNamesAndAttempts(t *testing.T) {
	f := newFake(t)
	n := nodeOf(t, f)
	f.runPod("a")
	f.start("a", "a1")
	pods, err := n.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, st, err := n.Pod(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	exit := exitDetails(st.containers[0])
	want := []pleg.Container{{ID: "a", State: pleg.StateRunning}, {ID: "a1", State: pleg.StateRunning, Name: "name-a1", Attempt: 2}}
	for _, got := range [][]pleg.Container{pods[0].Containers, p.Containers} {
		if diff := cmp.Diff(want, got); diff != "" || got[1].Name != exit.Name || got[1].Attempt != exit.Attempt {
			t.Errorf("the exit has %+v (-want +got):\n%s", exit, diff)
		}
	}
}

// A container that appears between the two lists brings its sandbox along; one whose
// sandbox went between them is seen without it.
func TestPodsChangedBetweenTheListsAreSeen(t *testing.T) {
	f := newFake(t)
	n := nodeOf(t, f)
	f.runPod("a")
	f.start("a", "a1")
	f.hooks["ListPodSandbox"] = func() {
		f.hooks = nil
		f.removePod("a")
		f.runPod("b")
		f.start("b", "b1")
	}
	pods, err := n.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{"a": {"a1": "running"}, "b": {"b": "running"}}
	if diff := cmp.Diff(want, allStates(pods)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, _, err := n.Pod(t.Context(), "a"); !errors.Is(err, pleg.ErrNotFound) {
		t.Errorf("status of what is gone: %v", err)
	}
}

func TestPodOfEveryKindOfRuntime(t *testing.T) {
	for _, full := range []bool{false, true} {
		f := newFake(t)
		f.full = full
		n := nodeOf(t, f)
		f.runPod("a")
		f.start("a", "a1")
		f.start("a", "a2")
		f.exit("a2", 7)
		before := time.Now()
		p, st, err := n.Pod(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if st.sandbox.GetMetadata().GetName() != "name-a" || len(st.containers) != 2 || st.containers[1].ExitCode != 7 {
			t.Errorf("full %v: %+v", full, st)
		}
		if calls := f.count("ContainerStatus"); full != (calls == 0) {
			t.Errorf("full %v: %d calls of ContainerStatus", full, calls)
		}
		exits := map[string]*pleg.ExitDetails{}
		for _, c := range p.Containers {
			if c.Exit != nil {
				exits[c.ID] = c.Exit
			}
		}
		if x, ok := exits["a2"]; !ok || len(exits) != 1 || x.Code != 7 || x.Name != "name-a2" || x.Attempt != 2 || x.Started.Before(before.Add(-time.Minute)) || x.Finished.Before(x.Started) {
			t.Errorf("full %v: exits %+v", full, exits)
		}
	}
}

func TestGoneContainerIsLeftOut(t *testing.T) {
	f := newFake(t)
	n := nodeOf(t, f)
	f.runPod("a")
	f.start("a", "a1")
	f.start("a", "a2")
	f.hooks["ContainerStatus"] = func() { // between the list and the first status
		f.hooks = nil
		f.remove("a1")
	}
	_, st, err := n.Pod(t.Context(), "a")
	if err != nil || len(st.containers) != 1 || st.containers[0].Id != "a2" {
		t.Errorf("%+v, %v", st, err)
	}
	f.with(func() { delete(f.sandboxes, "a") })
	if _, st, err := n.Pod(t.Context(), "a"); err != nil || st.sandbox != nil || len(st.containers) != 1 {
		t.Errorf("containers that outlived their sandbox: %+v, %v", st, err)
	}
	f.remove("a2")
	if _, _, err := n.Pod(t.Context(), "a"); !errors.Is(err, pleg.ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
	f.runPod("c")
	f.start("c", "c1")
	f.hooks = map[string]func(){"ContainerStatus": func() {
		f.with(func() { c := f.containers["c1"]; c.status = nil; f.containers["c1"] = c })
	}}
	if _, _, err := n.Pod(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "ContainerStatus(c1): the answer has no status") {
		t.Errorf("an answer without a status: %v", err)
	}
	f.hooks = nil
	f.remove("c1")
	for _, call := range []string{"PodSandboxStatus", "ListContainers", "ContainerStatus"} {
		f.runPod("b")
		f.start("b", "b1")
		f.with(func() { f.failing = map[string]error{call: grpcstatus.Error(codes.Internal, "out of order")} })
		if _, _, err := n.Pod(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), call+"(b") || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("%s fails: %v", call, err)
		}
	}
	for _, call := range []string{"ListPodSandbox", "ListContainers"} {
		f.with(func() { f.failing = map[string]error{call: grpcstatus.Error(codes.Internal, "out of order")} })
		if _, err := n.Pods(t.Context()); err == nil || !strings.HasPrefix(err.Error(), call) {
			t.Errorf("%s fails: %v", call, err)
		}
	}
}

func TestStampsInSecondsAndNanoseconds(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.UTC)
	for _, x := range []struct {
		stamp int64
		want  time.Time
	}{
		{0, time.Time{}},
		{-1, time.Time{}},
		{now.UnixNano(), now},
		{now.Unix(), now.Truncate(time.Second)},
		{1, time.Unix(1, 0)},
		{1e11 - 1, time.Unix(1e11-1, 0)},
		{1e17, time.Unix(0, 1e17)},
		{1<<63 - 1, time.Unix(0, 1<<63-1)},
	} {
		if got := stamp(x.stamp); !got.Equal(x.want) {
			t.Errorf("stamp(%d) = %v, want %v", x.stamp, got, x.want)
		}
	}
}

// collect opens the stream and returns what comes of it, and the error that
// ended it.
func collect(t *testing.T, n *node) (events <-chan pleg.RuntimeEvent[string], ended <-chan error) {
	t.Helper()
	c, done := make(chan pleg.RuntimeEvent[string], 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { done <- n.Events(ctx, func(e pleg.RuntimeEvent[string]) { c <- e }) }()
	return c, done
}

func subscribed(t *testing.T, f *fakeRuntime, n int) {
	t.Helper()
	eventually(t, "the stream is open", func() bool { return f.count("GetContainerEvents") == n })
}

func TestEventsAreTranslated(t *testing.T) {
	f := newFake(t)
	n := nodeOf(t, f)
	events, ended := collect(t, n)
	subscribed(t, f, 1)
	begun := time.Now()
	f.runPod("a")
	f.start("a", "a1")
	f.exit("a1", 3)
	f.remove("a1")
	f.removePod("a")
	want := []struct {
		container string
		kind      pleg.RuntimeEventType
	}{
		{"a", pleg.RuntimeEventCreated},
		{"a", pleg.RuntimeEventStarted},
		{"a1", pleg.RuntimeEventCreated},
		{"a1", pleg.RuntimeEventStarted},
		{"a1", pleg.RuntimeEventStopped},
		{"a1", pleg.RuntimeEventDeleted},
		{"a", pleg.RuntimeEventStopped},
		{"a", pleg.RuntimeEventDeleted},
	}
	for i, w := range want {
		e := <-events
		if e.Pod != "a" || e.Container != w.container || e.Type != w.kind || e.At.Before(begun) || e.At.After(time.Now()) {
			t.Errorf("event %d: %+v, want %+v", i, e, w)
		}
		if stopped := e.Container == "a1" && e.Type == pleg.RuntimeEventStopped; (e.Exit != nil) != stopped || stopped && (e.Exit.Code != 3 || e.Exit.Name != "name-a1") {
			t.Errorf("event %d tells the exit %+v", i, e.Exit)
		}
	}
	for _, id := range []string{"a1", "a"} {
		if at := n.ended.take(id); at.Before(begun) || at.After(time.Now()) {
			t.Errorf("the event of %s has the time %v", id, at)
		}
	}

	// An event of a pod whose sandbox has no status is of no pod.
	f.send("unknown", "a9", cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	if e := <-events; e.Pod != "" || e.Container != "a9" || e.Type != pleg.RuntimeEventStopped || e.Exit != nil {
		t.Errorf("event without a sandbox: %+v", e)
	}
	// Stamps are in seconds, or missing.
	f.unit = time.Second
	f.runPod("b")
	if e := <-events; e.At.Unix() < begun.Unix() || e.At.After(time.Now()) {
		t.Errorf("stamped in seconds: %v", e.At)
	}
	f.unit = 0
	f.runPod("c")
	<-events
	if e := <-events; !e.At.IsZero() {
		t.Errorf("not stamped: %v", e.At)
	}
	f.down()
	if err := <-ended; err == nil || errors.Is(err, pleg.ErrUnsupported) {
		t.Errorf("the runtime went: %v", err)
	}
}

func TestUnimplementedStreamIsUnsupported(t *testing.T) {
	f := newFake(t)
	f.noStream = true
	n := nodeOf(t, f)
	_, ended := collect(t, n)
	if err := <-ended; !errors.Is(err, pleg.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	f.noStream, f.failing["GetContainerEvents"] = false, grpcstatus.Error(codes.Unknown, "events are switched off")
	_, ended = collect(t, n)
	if err := <-ended; errors.Is(err, pleg.ErrUnsupported) || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("%v", err)
	}
}
