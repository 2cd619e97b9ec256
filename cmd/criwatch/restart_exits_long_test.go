//go:build long

package main

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/cmd/internal/statefolder"
	"github.com/restartkit/restart/pleg"
)

// A still is a crashLoop that does not run: the test says what it sees, in which order.
type still struct {
	*crashLoop
	t testing.TB
	f *fakeRuntime
}

var stillAbout = identity{Machine: "m", Runtime: "fake"}

// newStill returns a still that goes on with the state in a folder.
func newStill(t testing.TB, f *fakeRuntime, policy, dir string) *still {
	t.Helper()
	conn, err := dial(f.endpoint())
	if err != nil {
		t.Fatal(err)
	}
	s, err := statefolder.OpenStore(dir, "criwatch", stateVersion)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); s.Close() })
	before, err := readState(s, stillAbout)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := readPolicy(policyOf(t, policy))
	if err != nil {
		t.Fatal(err)
	}
	o := &options{relist: time.Second, evented: time.Minute}
	w, err := newWatch(newNode(conn), o, pleg.ExitOptions[string]{IncludePast: true}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := newCrashLoop(w, p, newRowWriter("json", printer.New().To(t.Output()), false), s, stillAbout, before)
	if err != nil {
		t.Fatal(err)
	}
	return &still{l, t, f}
}

// sees puts what the runtime has of a pod into the cache, and looks at it.
func (s *still) sees(pod string) {
	s.t.Helper()
	st, _, err := s.node.Status(s.t.Context(), pod)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cache.Set(pod, st, nil, time.Now())
	s.lookAt(pod)
}

// reads takes the exit of a container, as its reader yields it.
func (s *still) reads(container string) {
	s.t.Helper()
	c := s.f.container(container)
	s.exited(pleg.Exit[string]{Pod: c.sandbox, Container: container, Known: true, Details: exitDetails(c.status)})
}

// only returns the one task.
func (s *still) only() *task {
	s.t.Helper()
	if len(s.tasks) != 1 {
		s.t.Fatalf("%d tasks", len(s.tasks))
	}
	for _, t := range s.tasks {
		return t
	}
	return nil
}

const hour = "containers: [{curve: {initial: 1h, max: 10h}}]"

// Where an attempt runs already when the exit of the one before is read, the state says
// so, and can be read again.
func TestStateOfAnExitThatOthersHaveDealtWithCanBeRead(t *testing.T) {
	for _, exits := range []uint32{1, 2} { // that there are to be read
		f := newFake(t)
		f.runPod("p")
		config := containerConfig("c")
		for range exits {
			f.exitQuietly(f.run("p", config), 1)
			config = nextConfig(config)
		}
		f.run("p", config)
		dir := filepath.Join(t.TempDir(), "state")
		l := newStill(t, f, hour, dir)
		l.sees("p")
		for n := range exits {
			id, _ := f.attempt("p", "c", n)
			l.reads(id)
		}
		if x := l.only(); x.pending || x.state != pleg.StateRunning || x.attempt != exits {
			t.Errorf("%+v", x)
		}
		l.save()
		l.store.Close()
		l = newStill(t, f, hour, dir)
		x := l.only()
		if id, _ := f.attempt("p", "c", exits-1); x.decided != id || x.exited() != exits-1 {
			t.Errorf("%s, attempt %d, must be %s", x.decided, x.exited(), id)
		}
		if l.sees("p"); x.pending || x.attempt != exits {
			t.Errorf("%+v", x)
		}
	}
}

// Exits that the run before has not taken are there before the first list. They are
// decided on when it is known which pods there are, and make nobody forget the others.
func TestExitsOfTheRunBeforeWaitForTheFirstList(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	f.run("p", containerConfig("d"))
	dir := filepath.Join(t.TempDir(), "state")
	policy := "containers: [{name: c, curve: {initial: 10ms, max: 10ms}}]"
	l := startLoop(t, f, policy, "-state", dir)
	l.says(t, "c", "Running")
	f.exit("p-d-0", 1)
	f.exit("p-c-0", 1)
	programtest.Eventually(t, "c runs", func() bool { return f.runs("p", "c", 1) })
	l.says(t, "c", "Running")
	f.exit("p-c-1", 1)
	programtest.Eventually(t, "c runs", func() bool { return f.runs("p", "c", 2) })
	l.says(t, "c", "Running")
	l.stop()

	s, err := statefolder.OpenStore(dir, "criwatch", stateVersion)
	if err != nil {
		t.Fatal(err)
	}
	about := identityOf("fake", f.endpoint())
	state, err := readState(s, about)
	if err != nil {
		t.Fatal(err)
	}
	state.Position.Due = append(state.Position.Due,
		pleg.Exit[string]{Pod: "p", Container: "gone", Source: pleg.ExitInferred},
		pleg.Exit[string]{Pod: "p", Container: "p-d-0", Known: true, Source: pleg.ExitSeenByEvent, Details: exitDetails(f.container("p-d-0").status)})
	s.Save(state, func(err error) { t.Fatal(err) })
	s.Close()
	f.with(func() { f.hooks["ListPodSandbox"] = func() { time.Sleep(100 * time.Millisecond) } })
	l = startLoop(t, f, "containers: [{curve: {initial: 10ms, max: 10ms}}]", "-state", dir)
	programtest.Eventually(t, "d runs", func() bool { return f.runs("p", "d", 1) })
	l.says(t, "c", "Running")
	f.exit("p-c-2", 1)
	programtest.Eventually(t, "the failures in a row go on", func() bool {
		return slices.ContainsFunc(l.rows(t, "c"), func(r jsonRow) bool { return r.Restarts == 2 && r.Failures == 3 })
	})
}

// A pod that gets another sandbox keeps its containers' failures in a row, whether their
// attempts go on there or start over, and whichever is seen first. Each exit there is
// decided on, and none of the old sandbox any more.
func TestContainersOfANewSandboxAreRestarted(t *testing.T) {
	for _, x := range []struct{ before, after uint32 }{{0, 0}, {2, 0}, {2, 2}, {0, 1}} {
		for _, looks := range []bool{false, true} {
			f := newFake(t)
			config := func(attempt uint32) *cri.ContainerConfig {
				c := containerConfig("c")
				c.Metadata.Attempt = attempt
				return c
			}
			f.runPod("p")
			old := f.run("p", config(x.before))
			dir := filepath.Join(t.TempDir(), "state")
			l := newStill(t, f, hour, dir)
			l.sees("p")
			f.exitQuietly(old, 1)
			l.sees("p")
			l.reads(old)
			if x := l.only(); !x.pending || x.decision.Failures != 1 {
				t.Fatalf("%+v", x)
			}
			f.runPod("q")
			f.with(func() {
				f.sandboxes["p"].State, f.sandboxes["q"].Metadata = cri.PodSandboxState_SANDBOX_NOTREADY, f.sandboxes["p"].Metadata
			})
			next := f.run("q", config(x.after))
			if looks {
				l.sees("q")
				l.sees("p")
				if x := l.only(); x.pending || x.sandbox != "q" || x.container != next || x.state != pleg.StateRunning {
					t.Errorf("%+v", x)
				}
			}
			f.exitQuietly(next, 1)
			f.change(next, func(s *cri.ContainerStatus) { s.FinishedAt += int64(time.Second) })
			if st, _, err := l.node.Status(t.Context(), "q"); err != nil || !l.cache.Set("q", st, nil, time.Now()) {
				t.Fatal(err)
			}
			l.reads(next)
			l.reads(old)
			l.reads(next)
			l.sees("p")
			l.sees("q")
			if y := l.only(); !y.pending || y.sandbox != "q" || y.decided != next || y.decision.Failures != 2 || y.exited() != x.after || l.back.Remaining(y.key) < time.Hour {
				t.Errorf("%+v, seen first: %t: %+v", x, looks, y)
			}
			l.save()
			l.store.Close()
			l = newStill(t, f, hour, dir)
			if y := l.only(); !y.pending || y.sandbox != "q" || y.decided != next || y.decision.Failures != 2 || y.exited() != x.after {
				t.Errorf("%+v: read again: %+v", x, y)
			}
		}
	}
}

// Containers that have exited while the policy left them alone are restarted once it no
// longer does.
func TestPolicyThatMatchesLaterRestartsWhatHasExited(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	f.run("p", containerConfig("d"))
	dir := filepath.Join(t.TempDir(), "state")
	l := startLoop(t, f, "containers: [{name: c, curve: {initial: 10ms, max: 10ms}}]", "-state", dir)
	l.says(t, "c", "Running")
	f.exit("p-d-0", 1)
	f.exit("p-c-0", 1)
	programtest.Eventually(t, "c runs", func() bool { return f.runs("p", "c", 1) })
	l.stop()
	startLoop(t, f, brief, "-state", dir)
	programtest.Eventually(t, "d runs", func() bool { return f.runs("p", "d", 1) })
	if list := f.doubled(); list != nil {
		t.Error(list)
	}
}

// A restart due by the state may have been made already. Nothing is started, and no turn
// is taken, before criwatch has looked at the pod.
func TestRestoredRestartWaitsForALook(t *testing.T) {
	for _, runs := range []bool{false, true} {
		f := newFake(t)
		f.runPod("p")
		f.exitQuietly(f.run("p", containerConfig("c")), 1)
		dir := filepath.Join(t.TempDir(), "state")
		const policy = "containers: [{curve: {initial: 1ns, max: 1ns}}]"
		l := newStill(t, f, policy, dir)
		l.sees("p")
		l.reads("p-c-0")
		l.save()
		l.store.Close()
		if runs {
			f.run("p", nextConfig(containerConfig("c")))
		}
		l = newStill(t, f, policy, dir)
		if due, wait := l.due(time.Now()); due != nil || wait > awayPause {
			t.Errorf("before a look: %d to be started, wait %v", len(due), wait)
		}
		l.sees("p")
		if due, _ := l.due(time.Now()); (len(due) == 0) != runs {
			t.Errorf("it runs: %t; %d to be started", runs, len(due))
		}
	}
}
