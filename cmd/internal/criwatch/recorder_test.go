package criwatch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// A recorder keeps the lines of a watch.
type recorder struct {
	mu    sync.Mutex
	lines []line
}

func (r *recorder) line(l line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
	return nil
}

func (r *recorder) stats(counters) error { return nil }

// of returns the lines about a container.
func (r *recorder) of(container string) []line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.lines), func(l line) bool { return l.container != container })
}

// has reports whether an event of a container was reported.
func (r *recorder) has(container string, event pleg.EventType) bool {
	return slices.ContainsFunc(r.of(container), func(l line) bool { return l.event == event })
}

// eventually waits until ok returns true, and fails the test if that takes very long.
func eventually(t testing.TB, condition string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", condition)
		}
	}
}

// testLog writes the program's log to the test's.
type testLog struct{ t testing.TB }

func (w testLog) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// startWatch runs a watch over a runtime until the returned stop, which returns
// once nothing of it is left.
func startWatch(t testing.TB, endpoint string, o Options) (w *watch, r *recorder, stop func()) {
	t.Helper()
	conn, err := dial(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	r = &recorder{}
	w, end := startWatchTo(t, conn, o, r, testLog{t})
	stop = func() {
		end()
		conn.Close()
	}
	t.Cleanup(stop)
	return w, r, stop
}

func startWatchTo(t testing.TB, conn *grpc.ClientConn, o Options, out writer, log io.Writer) (w *watch, stop func()) {
	t.Helper()
	w, err := newWatch(newNode(conn), o, nil, io.Discard, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	w.out = out
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return w, stop
}

// fate is what a test did to a container, or a sandbox.
type fate struct {
	exited  bool
	code    int32 // of a container that exited
	removed bool
	hasty   bool // removed at once: the runtime may tell the exit without its code
	missed  bool // it exited while the runtime was down, which may then report 255
}

// lifeOrder is the order in which a container's events come, each once at most.
var lifeOrder = []pleg.EventType{pleg.ContainerChanged, pleg.ContainerStarted, pleg.ContainerDied, pleg.ContainerRemoved}

// A checker is what check needs of a test.
type checker interface {
	Helper()
	Errorf(string, ...any)
	Logf(string, ...any)
}

// check compares what was reported with what was done: every exit and removal once,
// starts at most once, in order, with the right code, and nothing else of the pods that
// the test has made.
func (r *recorder) check(t checker, done map[string]fate) {
	t.Helper()
	reported := map[string][]line{}
	for _, l := range r.lines {
		if l.container == "" {
			continue
		}
		reported[l.container] = append(reported[l.container], l)
	}
	for id, lines := range reported {
		_, ours := done[lines[0].pod] // containerd replays unread events
		if _, ok := done[id]; ours && !ok {
			t.Errorf("an event of an unknown container: %v %s", lines[0].event, id)
		}
	}
	unknown := 0
	for id, f := range done {
		var events []string
		at := -1
		for _, l := range reported[id] {
			events = append(events, string(l.event))
			step := slices.Index(lifeOrder, l.event)
			if step <= at {
				t.Errorf("%s: %v reported twice or too late: %v", id, l.event, events)
			}
			at = step
			if l.event != pleg.ContainerDied || l.sandbox() {
				continue
			}
			switch {
			case l.exit == nil && f.hasty:
				unknown++
			case l.exit != nil && l.exit.Code == 255 && f.missed:
				unknown++
			case l.exit == nil:
				t.Errorf("%s: reported no exit code, it was %d", id, f.code)
			case l.exit.Code != f.code:
				t.Errorf("%s: reported exit %d, it was %d", id, l.exit.Code, f.code)
			}
		}
		if got := slices.Contains(events, string(pleg.ContainerDied)); got != (f.exited || f.removed) {
			t.Errorf("%s: exited %v, but reported %v", id, f.exited || f.removed, events)
		}
		if got := slices.Contains(events, string(pleg.ContainerRemoved)); got != f.removed {
			t.Errorf("%s: removed %v, but reported %v", id, f.removed, events)
		}
	}
	t.Logf("%d fates checked, %d exit codes lost by the runtime", len(done), unknown)
}

// everyPod selects pods for a comparison.
func everyPod(string) bool { return true }

// inCache is what a watch's cache has of some pods, as the runtime would list it.
func inCache(w *watch, of func(pod string) bool) map[string]string {
	all := map[string]string{}
	for id, e := range w.cache.All() {
		if !of(id) {
			continue
		}
		if e.Err != nil {
			all[id] = e.Err.Error()
			continue
		}
		if s := e.Status.sandbox; s != nil {
			all[s.Id] = s.State.String()
		}
		for _, c := range e.Status.containers {
			all[c.Id] = describe(id, c.State)
		}
	}
	return all
}

func describe(pod string, s cri.ContainerState) string {
	return fmt.Sprintf("%v in %s", s, pod)
}

// inRuntime is the runtime's own list of some pods.
func inRuntime(t testing.TB, client cri.RuntimeServiceClient, of func(pod string) bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	sandboxes, err := client.ListPodSandbox(t.Context(), &cri.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sandboxes.Items {
		if of(s.Id) {
			all[s.Id] = s.State.String()
		}
	}
	containers, err := client.ListContainers(t.Context(), &cri.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Containers {
		if of(c.PodSandboxId) {
			all[c.Id] = describe(c.PodSandboxId, c.State)
		}
	}
	return all
}

// same reports whether the cache has what the runtime lists of some pods.
func same(t testing.TB, w *watch, client cri.RuntimeServiceClient, of func(pod string) bool) bool {
	t.Helper()
	return cmp.Equal(inCache(w, of), inRuntime(t, client, of))
}
