package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
)

// secondAfter42 restarts a container one second after each exit with code 42.
const secondAfter42 = `{"restartPolicyRules": [{"action": "Restart",
	"exitCodes": {"operator": "In", "values": [42]}, "delay": {"initial": "1s", "max": "1s"}}]}`

// lines collects what an agent prints.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) Write(line []byte) (int, error) {
	l.add(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// with returns the lines that contain a text.
func (l *lines) with(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(line string) bool { return !strings.Contains(line, text) })
}

// host is an agent on a fake runtime, with folders of logs and of static pods.
type host struct {
	*agent
	t         testing.TB
	runtime   *fakeRuntime
	folder    string
	log, said lines
	now       chan os.Signal
	wake      chan struct{}
	stop      func() // ends run, and returns when it has ended
}

// bubble runs a test in virtual time, which fails if a goroutine remains.
func bubble(t *testing.T, test func(t *testing.T, h *host)) {
	t.Helper()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRuntime(t)
		n, end := f.inMemory()
		defer end()
		h := newHost(t, f, n, folder)
		defer h.end()
		test(t, h)
	})
}

func newHost(t testing.TB, f *fakeRuntime, n *node, folder string) *host {
	t.Helper()
	h := &host{t: t, runtime: f, folder: folder, now: make(chan os.Signal, 1), wake: make(chan struct{}, 1)}
	h.agent = newAgent(n, slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug})), newMetrics(), decide.Limits{})
	h.say = h.said.add
	h.newStaticFolder()
	h.manifests = newManifests(h.staticPods(), "Node1")
	return h
}

// newStaticFolder creates the folder of static pods.
func (h *host) newStaticFolder() {
	h.t.Helper()
	if err := os.MkdirAll(h.staticPods(), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) staticPods() string { return filepath.Join(h.folder, "manifests") }

// start runs the agent.
func (h *host) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.run(ctx, h.wake, h.now)
	}()
	h.stop = func() { cancel(); <-done }
}

func (h *host) end() {
	if h.stop != nil {
		h.stop()
	}
}

// after lets time pass.
func (h *host) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// static adds a static pod with rules, and its sandbox. Its UID is uid-NAME.
func (h *host) static(name, rules string) {
	h.t.Helper()
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q, "annotations": {%q: %q}},
		"spec": {"containers": [{"name": "c", "image": "i"}]}}`, name, annotationRules, rules)
	if err := os.WriteFile(filepath.Join(h.staticPods(), name+".json"), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
	h.runtime.box("default", name+"-node1", "uid-"+name)
}

// logFile adds a log of a static pod's container and returns its path.
func (h *host) logFile(pod, name string) string {
	h.t.Helper()
	return h.logIn("default_"+pod+"-node1_uid-"+pod, name)
}

func (h *host) logIn(folder, name string) string {
	h.t.Helper()
	path := filepath.Join(h.folder, "pods", folder, "c", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("log"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// exit ends a run of a static pod's container, and adds its log.
func (h *host) exit(pod, id string, code int32, restarts int) {
	h.t.Helper()
	h.runtime.record("uid-"+pod, exitedStatus(id, code, restarts, h.logFile(pod, fmt.Sprint(restarts, ".log"))))
}

// runs starts a run of a static pod's container, and adds its log.
func (h *host) runs(pod, id string, restarts int) {
	h.t.Helper()
	h.runtime.record("uid-"+pod, runningStatus(id, restarts, h.logFile(pod, fmt.Sprint(restarts, ".log"))))
}

// want fails the test unless exactly these calls have changed the runtime, removals first.
func (h *host) want(calls ...string) {
	h.t.Helper()
	if got := h.runtime.changes(); !slices.Equal(got, calls) {
		h.t.Fatalf("at %v: calls %q, want %q", time.Since(h.began), got, calls)
	}
}

// counted returns the value of a counter with a label.
func (h *host) counted(name, label string) float64 { return counted(h.t, h.metrics, name, label) }

func counted(t testing.TB, m *metrics, name, label string) float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := metric.GetLabel()
			if family.GetName() == "sooner_"+name+"_total" && (label == "" || len(labels) == 1 && labels[0].GetValue() == label) {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// An exited container of a static pod is removed when a kubelet has had the time to see
// the exit. A record without a start makes the kubelet look, and is removed again.
// The runs go on that way, and their logs do not pile up.
func TestStaticPodRestarts(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", secondAfter42)
		var old []string
		for _, name := range []string{"0.log", "1.log", "1.log.20261123-101112.gz"} {
			old = append(old, h.logFile("web", name))
		}
		kept := []string{h.logFile("web", "2.log.20261124-101112"), h.logFile("web", "notes.txt")}
		h.exit("web", "run2", 42, 2)
		h.start()
		h.after(decide.Settle - time.Millisecond)
		h.want()
		h.after(time.Millisecond)
		h.want("RemoveContainer run2", "CreateContainer box-uid-web")
		for _, path := range old {
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v, want it removed", path, err)
			}
		}
		for _, path := range append(kept, h.logFile("web", "2.log")) {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
		poke := h.runtime.created[0]
		if poke.Config.Labels[labelPodUID] != "uid-web" || poke.Config.Image.Image != "image-of-uid-web" || poke.SandboxConfig.Metadata.Uid != "uid-web" {
			t.Errorf("poke %v", poke)
		}
		h.runs("web", "run3", 3) // the kubelet
		h.after(decide.Settle - time.Millisecond)
		h.want("RemoveContainer run2", "CreateContainer box-uid-web")
		h.after(2 * decide.Settle)
		h.want("RemoveContainer run2", "RemoveContainer created-0", "CreateContainer box-uid-web")
		h.after(10 * time.Minute)

		// The next exit, and one with another code.
		h.exit("web", "run3", 42, 3)
		h.after(decide.Settle + decide.Poll)
		h.runs("web", "run4", 4)
		h.after(time.Minute)
		want := []string{"RemoveContainer run2", "RemoveContainer created-0", "RemoveContainer run3", "RemoveContainer created-1", "CreateContainer box-uid-web", "CreateContainer box-uid-web"}
		h.want(want...)
		h.exit("web", "run4", 1, 4)
		h.after(10 * time.Minute)
		h.want(want...)
		if removed, poked, pruned := h.counted("removed", ""), h.counted("poked", ""), h.counted("pruned_logs", ""); removed != 2 || poked != 2 || pruned != 5 {
			t.Errorf("counted %v removals, %v pokes, %v logs", removed, poked, pruned)
		}
		if got := h.log.with("level=ERROR"); len(got) > 0 {
			t.Errorf("log: %s", got)
		}
	})
}

// Pokes go on, each second at first, until the container has a record.
func TestPokesAreRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", secondAfter42)
		h.exit("web", "run0", 42, 0)
		h.start()
		h.after(10 * time.Second)
		before := len(h.runtime.of("CreateContainer"))
		if before < 5 || before > 9 {
			t.Errorf("%d pokes in 8.5 s", before)
		}
		h.after(time.Hour)
		if n := len(h.runtime.of("CreateContainer")) - before; n < 50 || n > 70 {
			t.Errorf("%d pokes in an hour", n)
		}
		h.runs("web", "run1", 1)
		h.after(2 * time.Minute)
		after := len(h.runtime.of("CreateContainer"))
		h.after(10 * time.Minute)
		if n := len(h.runtime.of("CreateContainer")); n != after {
			t.Errorf("%d pokes of a running container", n-after)
		}
		h.runtime.with(func() {
			if len(h.runtime.records) != 1 {
				t.Errorf("%d records are left, want the container's", len(h.runtime.records))
			}
		})
	})
}

// A poke does not delay the restart of another container.
func TestPokeDelaysNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("a", secondAfter42)
		h.static("b", strings.ReplaceAll(secondAfter42, `"1s"`, `"2s"`))
		h.exit("a", "a0", 42, 0)
		h.exit("b", "b0", 42, 0)
		h.start()
		h.after(2*time.Second + decide.Poll)
		if got := h.runtime.of("RemoveContainer b0"); len(got) != 1 {
			t.Errorf("b has not started %v after its exit", time.Since(h.began))
		}
	})
}

// A former agent may have ended between a poke and its end, even that of a pod which
// is of no interest now.
func TestFormerAgentsPokesAreRemoved(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.runtime.box("default", "other", "uid-other")
		if err := h.node.poke(t.Context(), "box-uid-other", nil, time.Now()); err != nil {
			t.Fatal(err)
		}
		h.start()
		h.after(time.Minute)
		h.want("RemoveContainer created-0", "CreateContainer box-uid-other")
		looks := len(h.runtime.of("ListContainers"))
		h.after(time.Hour)
		if n := len(h.runtime.of("ListContainers")) - looks; n > 0 {
			t.Errorf("%d lists without pods", n)
		}
	})
}

// A container may have the name of the pokes. It is not one, and never touched.
func TestContainerNamedLikeAPokeIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", secondAfter42)
		for i, s := range []*cri.ContainerStatus{runningStatus("running", 0, "/0.log"), exitedStatus("exited", 42, 0, "/0.log")} {
			uid := fmt.Sprint("uid-", i)
			h.runtime.box("default", uid, uid)
			h.runtime.record(uid, s)
			h.runtime.with(func() { s.Labels[labelContainer] = decide.PokeName })
		}
		h.start()
		h.after(10 * time.Minute)
		h.want()
	})
}

// A runtime that hangs ends a turn at the deadline. Turns are repeated after growing
// pauses, and the agent goes on once the runtime answers.
func TestRuntimeHangs(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", secondAfter42)
		h.exit("web", "run0", 42, 0)
		h.runtime.setFault(func(ctx context.Context, call, id string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		h.start()
		h.after(listTimeout)
		if n := h.counted("errors", "runtime"); n != 1 {
			t.Fatalf("%v errors after the deadline", n)
		}
		// The pauses are 1, 2, 4 and 8 s, and then 10 s.
		calls := 1
		for _, pause := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
			h.after(pause*time.Second - time.Millisecond)
			if n := len(h.runtime.of("ListContainers")); n != calls {
				t.Fatalf("%d calls before the pause of %d s is over, want %d", n, pause, calls)
			}
			h.after(time.Millisecond)
			if calls++; len(h.runtime.of("ListContainers")) != calls {
				t.Fatalf("%d calls after the pause of %d s, want %d", len(h.runtime.of("ListContainers")), pause, calls)
			}
			h.after(listTimeout)
		}
		if errors, logged := h.counted("errors", "runtime"), len(h.log.with("does not answer")); errors != 8 || logged != 8 {
			t.Errorf("%v errors counted, %d logged", errors, logged)
		}
		h.want()
		h.runtime.setFault(nil)
		h.after(time.Minute)
		if got := h.runtime.of("RemoveContainer run0"); len(got) != 1 {
			t.Errorf("removals: %q", got)
		}
	})
}

// The agent ends at once, whichever call hangs and however long its pause is.
func TestEndDuringCallOrPause(t *testing.T) {
	for _, hangs := range []string{"ListContainers", "ListPodSandbox", "ContainerStatus", "RemoveContainer", "PodSandboxStatus", "CreateContainer", ""} {
		bubble(t, func(t *testing.T, h *host) {
			h.static("web", secondAfter42)
			h.exit("web", "run0", 42, 0)
			reached := make(chan struct{}, 100)
			h.runtime.setFault(func(ctx context.Context, call, id string) error {
				if hangs == "" {
					reached <- struct{}{}
					return status.Error(codes.Unavailable, "gone") // the agent pauses
				}
				if call == hangs {
					reached <- struct{}{}
					<-ctx.Done()
				}
				return ctx.Err()
			})
			h.start()
			<-reached
			synctest.Wait()
			began := time.Now()
			h.stop()
			if d := time.Since(began); d > 0 {
				t.Errorf("%s hangs: the end takes %v", hangs, d)
			}
			h.stop = nil
		})
	}
}

// A container whose status the runtime cannot tell is left alone. Others restart.
func TestStatusOfOneContainerFails(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("a", secondAfter42)
		h.static("b", secondAfter42)
		h.exit("a", "a0", 42, 0)
		h.exit("b", "b0", 42, 0)
		h.runtime.setFault(func(_ context.Context, call, id string) error {
			if call == "ContainerStatus" && id == "a0" {
				return status.Error(codes.Unknown, "a task that makes no sense")
			}
			return nil
		})
		h.start()
		h.after(decide.Settle)
		h.want("RemoveContainer b0", "CreateContainer box-uid-b")
		h.after(time.Minute)
		if got := h.runtime.of("RemoveContainer a0"); len(got) > 0 {
			t.Error("a container without a status was removed")
		}
		if n, logged := h.counted("errors", "status"), len(h.log.with("status failed")); n == 0 || logged == 0 {
			t.Errorf("%v errors counted, %d logged", n, logged)
		}
		h.runtime.setFault(nil)
		h.after(decide.Settle + 2*decide.Poll)
		if got := h.runtime.of("RemoveContainer a0"); len(got) != 1 {
			t.Errorf("removals of a0: %q", got)
		}
	})
}

// The agent goes on after the runtime's socket was gone and is back.
func TestRuntimeRestarts(t *testing.T) {
	f, socket := newFakeRuntime(t), newSocket(t)
	stop := f.listen(socket)
	n, err := dial("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	h := newHost(t, f, n, t.TempDir())
	h.static("web", secondAfter42)
	h.runs("web", "run0", 0)
	if _, err := h.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	h.polled = time.Time{}
	if _, err := h.turn(t.Context()); status.Code(err) != codes.Unavailable {
		t.Fatalf("without a runtime: %v", err)
	}
	f.listen(socket)
	h.exit("web", "run0", 42, 0)
	give := time.Now().Add(time.Minute)
	for len(f.of("RemoveContainer run0")) == 0 {
		if time.Now().After(give) {
			t.Fatalf("not yet: %s", h.log.all)
		}
		h.turn(t.Context())
		time.Sleep(10 * time.Millisecond)
	}
}

// Each call has a deadline, in case the runtime never answers.
func TestCallsHaveDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.runtime.box("default", "p", "uid-p")
		seen := map[string]bool{}
		h.runtime.setFault(func(ctx context.Context, call, _ string) error {
			_, ok := ctx.Deadline()
			seen[call] = ok
			return nil
		})
		ctx := context.Background()
		h.node.version(ctx)
		h.node.exited(ctx)
		h.node.sandboxes(ctx, nil)
		h.node.status(ctx, "x")
		h.node.remove(ctx, "x")
		h.node.poke(ctx, "box-uid-p", nil, time.Now())
		for _, call := range []string{"Version", "ListContainers", "ListPodSandbox", "ContainerStatus", "RemoveContainer", "PodSandboxStatus", "CreateContainer"} {
			if !seen[call] {
				t.Errorf("%s: no call with a deadline", call)
			}
		}
	})
}

// A removal that fails is repeated each second, and later each minute.
func TestRemovalFails(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", secondAfter42)
		h.exit("web", "run0", 42, 0)
		h.runtime.setFault(func(_ context.Context, call, id string) error {
			if call == "RemoveContainer" && id == "run0" {
				return status.Error(codes.Internal, "device or resource busy")
			}
			return nil
		})
		h.start()
		h.after(decide.Settle + 10*time.Second)
		tries := len(h.runtime.of("RemoveContainer run0"))
		if tries < 5 || tries > 11 {
			t.Errorf("%d tries in 10 s", tries)
		}
		h.after(time.Hour)
		if n := len(h.runtime.of("RemoveContainer run0")) - tries; n < 50 || n > 70 {
			t.Errorf("%d tries in an hour", n)
		}
		if pokes, counts := h.runtime.of("CreateContainer"), h.counted("errors", "remove"); len(pokes) > 0 || counts < float64(tries) {
			t.Errorf("pokes %q, %v errors counted", pokes, counts)
		}
		h.runtime.setFault(nil)
		h.after(time.Minute + decide.Poll)
		if got := h.runtime.of("CreateContainer"); len(got) == 0 {
			t.Error("no poke after the removal")
		}
	})
}

// A missing record counts as removed, so its pod is poked.
func TestRemovalOfARecordThatIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", secondAfter42)
		h.exit("web", "run0", 42, 0)
		h.runtime.setFault(func(_ context.Context, call, id string) error {
			if call == "RemoveContainer" && id == "run0" {
				h.runtime.with(func() { delete(h.runtime.records, id) })
			}
			return nil
		})
		h.start()
		h.after(decide.Settle)
		h.want("RemoveContainer run0", "CreateContainer box-uid-web")
		if n := h.counted("errors", "remove"); n > 0 {
			t.Errorf("%v errors", n)
		}
	})
}

// Another record with the id of a former one is judged by its own exit.
func TestIDUsedAgain(t *testing.T) {
	tenAfter42 := strings.ReplaceAll(secondAfter42, `"1s"`, `"10s"`)
	t.Run("while a delay lasts", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *host) {
			h.static("web", tenAfter42)
			h.exit("web", "x", 42, 0)
			h.start()
			h.after(5 * time.Second)
			reads := len(h.runtime.of("ContainerStatus"))
			h.exit("web", "x", 1, 1) // the kubelet would restart it by its own curve
			h.after(time.Minute)
			h.want()
			if len(h.runtime.of("ContainerStatus")) == reads {
				t.Error("its status was not read")
			}
		})
	})
	t.Run("after its wait was ended", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *host) {
			h.static("web", tenAfter42)
			h.exit("web", "x", 42, 0)
			h.runtime.setFault(func(_ context.Context, call, id string) error {
				if call == "RemoveContainer" {
					return status.Error(codes.Internal, "busy")
				}
				return nil
			})
			h.start()
			h.after(5 * time.Second)
			h.now <- syscall.SIGUSR1
			h.after(500 * time.Millisecond)
			h.want("RemoveContainer x")
			h.exit("web", "x", 1, 1)
			h.runtime.setFault(nil)
			h.after(time.Minute)
			h.want("RemoveContainer x")
		})
	})
	t.Run("between list and status", func(t *testing.T) {
		for name, other := range map[string]func() *cri.ContainerStatus{
			"runs":       func() *cri.ContainerStatus { return runningStatus("x", 0, "") },
			"is another": func() *cri.ContainerStatus { return exitedStatus("x", 42, 0, "") },
		} {
			bubble(t, func(t *testing.T, h *host) {
				h.static("web", secondAfter42)
				log := h.logFile("web", "0.log")
				h.runtime.record("uid-web", exitedStatus("x", 42, 0, log))
				listed := h.runtime.records["x"].status
				h.runtime.setFault(func(_ context.Context, call, id string) error {
					switch call {
					case "ListContainers":
						h.runtime.record("uid-web", listed)
					case "ContainerStatus":
						s := other()
						s.ExitCode, s.LogPath = 42, log
						if s.CreatedAt = listed.CreatedAt; name == "is another" {
							s.CreatedAt++
						}
						h.runtime.record("uid-web", s)
					}
					return nil
				})
				h.start()
				h.after(time.Minute)
				if got := h.runtime.changes(); len(got) > 0 {
					t.Errorf("%s: %q", name, got)
				}
			})
		}
	})
}

// A dry run prints what it would do and when, and changes nothing.
func TestDryRun(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.dryRun = true
		h.static("web", strings.ReplaceAll(secondAfter42, `"1s"`, `"10s"`))
		h.static("other", secondAfter42)
		h.exit("web", "run2", 42, 2)
		h.exit("other", "other0", 1, 0)
		h.start()
		h.after(time.Minute)
		const web = "default/web-node1 c: exit code 42, restart 3: "
		want := []string{web + "would wait (exit-not-shown)", web + "would start it in 8.5s", web + "would start it now"}
		if got := h.said.with("web"); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		want = []string{"default/other-node1 c: exit code 1, restart 1: would leave it to the kubelet (kubelet)"}
		if got := h.said.with("other"); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		h.want()
		if _, err := os.Stat(h.logFile("web", "0.log")); err != nil {
			t.Error(err)
		}
	})
}

// SIGUSR1 ends the waits of pods with rules at that time, and no later ones.
func TestSignalEndsWaits(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.start()
		h.after(time.Minute)
		h.now <- syscall.SIGUSR1 // which ends nothing yet
		h.after(time.Minute)
		h.static("web", strings.ReplaceAll(secondAfter42, `"1s"`, `"10m"`))
		h.exit("web", "run0", 42, 0)
		h.after(time.Minute)
		h.want()
		h.now <- syscall.SIGUSR1
		h.after(0)
		h.want("RemoveContainer run0", "CreateContainer box-uid-web")
		h.runs("web", "run1", 1)
		h.after(time.Minute)
		h.exit("web", "run1", 42, 1)
		h.after(9 * time.Minute)
		if got := h.runtime.of("RemoveContainer run1"); len(got) > 0 {
			t.Error("the wait of a later exit was ended")
		}
		h.after(2 * time.Minute)
		if got := h.runtime.of("RemoveContainer run1"); len(got) != 1 {
			t.Error("the wait has no end")
		}
	})
}

// Static pods of other namespaces than --namespaces has are left alone. What is wrong with an
// annotation is logged once.
func TestStaticPodsOfNamespaces(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.namespaces = []string{"other"}
		h.static("web", "{")
		h.exit("web", "run0", 42, 0)
		h.start()
		h.after(time.Minute)
		h.want()
		if got := h.log.with("level=WARN"); len(got) > 0 {
			t.Errorf("logged %q", got)
		}
	})
	bubble(t, func(t *testing.T, h *host) {
		h.namespaces = []string{"default"}
		h.static("web", secondAfter42)
		h.static("wrong", "{")
		h.exit("web", "run0", 42, 0)
		h.exit("wrong", "wrong0", 42, 0)
		h.start()
		h.after(time.Minute)
		if got := h.runtime.of("RemoveContainer"); len(got) == 0 || got[0] != "RemoveContainer run0" || slices.Contains(got, "RemoveContainer wrong0") {
			t.Errorf("removals %q", got)
		}
		if got := h.log.with("wrong annotation"); len(got) != 1 || !strings.Contains(got[0], "pod=default/wrong-node1") {
			t.Errorf("logged %q", got)
		}
	})
}

// A static pod whose manifest is replaced ends, and is not judged by the rules of the next,
// also if the manifest has a mistake in between. A manifest with a UID of its own is another
// matter, because the pod remains.
func TestStaticPodIsReplaced(t *testing.T) {
	tenAfter42 := strings.ReplaceAll(secondAfter42, `"1s"`, `"10s"`)
	replace := func(h *host, old, by string) {
		path := filepath.Join(h.staticPods(), "web.json")
		text, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, by, 1)), 0o644); err != nil {
			h.t.Fatal(err)
		}
		h.after(decide.Poll)
	}
	for _, mistake := range []bool{false, true} {
		bubble(t, func(t *testing.T, h *host) {
			h.static("web", tenAfter42)
			h.static("other", tenAfter42) // so that the agent looks while web has a mistake
			h.runs("web", "old", 0)
			h.start()
			h.after(time.Minute)
			if mistake {
				replace(h, `"Pod"`, `"Service"`)
			}
			replace(h, `"image": "i"`, `"image": "other"`)
			if mistake {
				replace(h, `"Service"`, `"Pod"`)
			}
			h.exit("web", "old", 42, 0)
			h.after(time.Minute)
			h.want()

			// The next pod of the manifest.
			h.runtime.with(func() { clear(h.runtime.boxes); clear(h.runtime.records) })
			h.runtime.box("default", "web-node1", "uid-next")
			h.runtime.record("uid-next", exitedStatus("next", 42, 0, h.logIn("default_web-node1_uid-next", "0.log")))
			h.after(time.Minute)
			if got := h.runtime.of("RemoveContainer next"); len(got) != 1 {
				t.Errorf("removals of the next: %q", got)
			}
			if len(h.manifestOf) != 1 {
				t.Errorf("%d manifests are kept", len(h.manifestOf))
			}
		})
	}
	t.Run("before it was looked at", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *host) {
			h.static("web", tenAfter42)
			h.runtime.with(func() { clear(h.runtime.boxes) })
			h.start()
			h.after(30 * time.Second)
			h.runtime.box("default", "web-node1", "uid-web")
			h.runs("web", "old", 0)
			h.after(time.Second)
			replace(h, `"image": "i"`, `"image": "other"`)
			h.exit("web", "old", 42, 0)
			h.after(time.Minute)
			h.want()
		})
	})
	t.Run("with a UID", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *host) {
			h.static("web", tenAfter42)
			replace(h, `"name": "web"`, `"name": "web", "uid": "uid-web"`)
			h.runs("web", "run0", 0)
			h.start()
			h.after(time.Minute)
			replace(h, "10s", "9s")
			h.exit("web", "run0", 42, 0)
			h.after(time.Minute)
			if got := h.runtime.of("RemoveContainer run0"); len(got) != 1 {
				t.Errorf("removals: %q", got)
			}
		})
	})
}

// The memory about a pod ends with it.
func TestMemoryEndsWithThePod(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.start()
		for i := range 20 {
			name := fmt.Sprint("pod", i)
			h.static(name, secondAfter42)
			h.exit(name, "run-"+name, 42, 0)
			h.after(10 * time.Second)
			if err := os.Remove(filepath.Join(h.staticPods(), name+".json")); err != nil {
				t.Fatal(err)
			}
			h.runtime.with(func() { clear(h.runtime.boxes); clear(h.runtime.records) })
			h.after(10 * time.Second)
		}
		h.static("last", secondAfter42)
		h.runs("last", "run", 0)
		h.exit("last", "run", 1, 0)
		h.after(10 * time.Second)
		for name, n := range map[string]int{"details": len(h.details), "images": len(h.images), "verdicts": len(h.verdicts), "exited": len(h.last.exited)} {
			if n > 1 {
				t.Errorf("%d %s", n, name)
			}
		}
	})
}

// Pods without rules, of which many come and go while nothing is looked at, are forgotten too.
func TestMemoryEndsWithPodsWithoutRules(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.connect()
		h.start()
		for i := range 20 {
			p := h.crash(fmt.Sprint("pod", i), fmt.Sprint("run", i), 1, nil)
			h.after(time.Second)
			h.cluster.replace(string(p.UID), nil)
			h.after(time.Second)
		}
		state := reflect.ValueOf(h.state).Elem()
		for i := range state.NumField() {
			if field := state.Field(i); field.Kind() == reflect.Map && field.Len() > 1 {
				t.Errorf("%d entries in the state's %s", field.Len(), state.Type().Field(i).Name)
			}
		}
	})
}

// A missing folder of static pods is one mistake, not one per turn.
func TestMissingManifestsAreLoggedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", secondAfter42)
		if err := os.RemoveAll(h.staticPods()); err != nil {
			t.Fatal(err)
		}
		h.exit("web", "run0", 42, 0)
		h.start()
		h.after(time.Minute)
		if got := h.log.with("reading the manifests"); len(got) != 1 || !strings.Contains(got[0], h.staticPods()) {
			t.Errorf("logged %q", got)
		}
		if err := os.MkdirAll(h.staticPods(), 0o755); err != nil {
			t.Fatal(err)
		}
		h.static("web", secondAfter42)
		h.after(decide.Settle + 2*decide.Poll)
		if got := h.runtime.of("RemoveContainer run0"); len(got) != 1 {
			t.Errorf("removals: %q", got)
		}
	})
}
