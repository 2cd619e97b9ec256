package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Lists with duplicate containers, pods without containers, undefined states
// and empty ids. An inspection shows the same.
func TestMalformedLists(t *testing.T) {
	running := pleg.Container{ID: "a", State: pleg.StateRunning}
	exited := pleg.Container{ID: "a", State: pleg.StateExited}
	unknown := pleg.Container{ID: "a", State: pleg.StateUnknown}
	strange := pleg.Container{ID: "a", State: -7}
	for _, tt := range []struct {
		name  string
		lists [][]pleg.Pod[string]
		want  string // events, with one PodSync for a pod without containers
	}{
		{"a container twice", [][]pleg.Pod[string]{{pod("p", running, exited)}, {pod("p", exited, running)}, {pod("p", running, exited, exited)}}, "p:died a"},
		{"no containers", [][]pleg.Pod[string]{{pod("p")}, {pod("p")}, {}}, "p:sync p:sync"},
		{"its containers go first", [][]pleg.Pod[string]{{pod("p", running)}, {pod("p")}, {}}, "p:started a p:died a p:removed a p:sync"},
		{"unknown takes nothing back", [][]pleg.Pod[string]{{pod("p", running)}, {pod("p", unknown)}, {pod("p", running)}, {pod("p", exited)}, {pod("p", strange)}}, "p:started a p:died a"},
		{"unknown first", [][]pleg.Pod[string]{{pod("p", strange)}, {pod("p", unknown)}, {pod("p", pleg.Container{ID: "a", State: pleg.StateCreated})}, {pod("p", running)}}, "p:changed a p:changed a p:started a"},
		{"no id", [][]pleg.Pod[string]{{pod("p", pleg.Container{State: pleg.StateExited})}, {pod("p")}}, "p:died p:removed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				rt := newListing(w)
				read := w.read(0)
				for _, rt.list = range tt.lists {
					w.relist()
					w.pass(time.Second)
				}
				equal(t, "events", strings.Join(strings.Fields(read()), " "), tt.want)
			})
		})
	}
}

// A listing is a Runtime with the test's list, whose inspections agree with it.
type listing struct {
	scene
	list []pleg.Pod[string]
}

func newListing(w *world) *listing {
	l := &listing{}
	l.recorder = w.rt
	l.pods = func() ([]pleg.Pod[string], error) { return l.list, nil }
	l.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
		one, found := pod(id), false
		for _, p := range l.list {
			if p.ID == id {
				one.Containers, found = append(one.Containers, p.Containers...), true
			}
		}
		if !found {
			return one, nil, pleg.ErrNotFound
		}
		return one, &plegtest.Status{Listed: one.Containers}, nil
	}
	w.replace(l, false)
	return l
}

// The zero key and a key listed twice are errors of the list, and an answer about another pod
// is one of the inspection.
func TestAnswersAboutOtherPodsAreErrors(t *testing.T) {
	setup{}.run(t, func(w *world) {
		l := newListing(w)
		l.list = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateRunning})}
		w.relist()
		l.list = []pleg.Pod[string]{pod("q"), pod("")}
		if err := w.gen.Relist(w.ctx); err == nil || err.Error() != "pleg: Pods: pod 1 has the zero key" {
			t.Errorf("a list with the zero key: %v", err)
		}
		l.list = []pleg.Pod[string]{pod("new"), pod("p"), pod("p", pleg.Container{ID: "b"})}
		if err := w.gen.Relist(w.ctx); err == nil || err.Error() != "pleg: Pods: pod p is listed twice" {
			t.Errorf("a list with a pod twice: %v", err)
		}
		w.valid()
		w.shows("a:running")
		equal(t, "pods", w.cache.Len(), 1)
		l.list = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateExited})}
		l.pod = func(string) (pleg.Pod[string], *plegtest.Status, error) {
			return pod("q", pleg.Container{ID: "z", State: pleg.StateExited}), &plegtest.Status{}, nil
		}
		w.relist()
		if e := w.cache.Get("p"); e.Err == nil || e.Err.Error() != "pleg: Pod(p): the answer is about pod q" {
			t.Errorf("%v", e.Err)
		}
	})
}

// The slices that the runtime returns may be reused.
func TestGeneratorDoesNotRetainLists(t *testing.T) {
	setup{}.run(t, func(w *world) {
		l := newListing(w)
		l.list = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateRunning})}
		read := w.read(0)
		w.relist()
		w.relist()
		l.list[0].Containers[0] = pleg.Container{ID: "other", State: pleg.StateExited}
		w.relist()
		equal(t, "events", read(), "p:started a p:died a p:removed a p:died other")
	})
}

// A pod that a list shows and inspections do not find is removed, and may be listed for ever.
func TestPodRemovedBetweenListAndInspectionIsRemoved(t *testing.T) {
	for _, first := range []string{"list", "inspection"} {
		t.Run(first+" first", func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				l := newListing(w)
				read := w.read(0)
				l.list = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateRunning})}
				w.relist()
				w.shows("a:running")
				// The other answer comes an instant later. By then the reader has taken the events of
				// the first one, which would otherwise merge with later ones.
				l.pods = func() ([]pleg.Pod[string], error) {
					if first == "inspection" {
						time.Sleep(instant)
					}
					return l.list, nil
				}
				l.pod = func(string) (pleg.Pod[string], *plegtest.Status, error) {
					if first == "list" {
						time.Sleep(instant)
					}
					return pod("p"), nil, fmt.Errorf("pod p: %w", pleg.ErrNotFound)
				}
				w.gen.RequestRelist("p")
				w.pass(0)
				for range 5 {
					w.relist()
					w.shows("gone")
					w.pass(time.Second)
				}
				equal(t, "events", without(without(read(), "p:sync"), "p:changed a"), "p:started a p:died a p:removed a")
			})
		})
	}
}

// Events of unknown type, of an unknown pod, without a container or that lie ask for a
// inspection and do nothing else.
func TestMalformedEventsOnlyAskForAnInspection(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.relist()
		for _, e := range []pleg.RuntimeEvent[string]{
			{},
			{Pod: "p"},
			{Container: "a", Type: pleg.RuntimeEventStopped},
			event("", 99),
			event("a", -1),
			event("a", pleg.RuntimeEventDeleted),
			{Pod: "p", Container: "a", Type: 99, Exit: &pleg.ExitDetails{Code: 1}},
		} {
			w.pass(time.Second)
			s.handle(e)
			w.shows("a:running")
		}
		for i := range 10 {
			s.handle(pleg.RuntimeEvent[string]{Pod: fmt.Sprint("nobody", i), Container: "c", Type: pleg.RuntimeEventStopped})
		}
		w.pass(time.Second)
		w.shows("a:running")
		equal(t, "pods", w.cache.Len(), 1)
	})
}

// An event of the zero type claims nothing. It asks for one inspection, which is not repeated.
func TestZeroEventTypeOnlyAsksForAnInspection(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.relist()
		_, inspections := w.calls()
		s.handle(pleg.RuntimeEvent[string]{Pod: "p", Container: "b"})
		w.pass(10 * time.Second)
		equal(t, "inspections", w.count("Pod"), inspections+1)
		w.relist()
		equal(t, "UnseenContainers", w.gen.Stats().UnseenContainers, 0)
		s.handle(pleg.RuntimeEvent[string]{Pod: "p", Container: "b", Exit: &pleg.ExitDetails{}})
		w.pass(10 * time.Second)
		equal(t, "inspections", w.count("Pod"), inspections+2)
		equal(t, "Retained", w.gen.Stats().Retained, 0)
		equal(t, "zero type", pleg.RuntimeEventType(0).String(), "unknown")
	})
}

// A flood of events of unknown pods and containers, and without a pod, is bounded in
// memory and calls.
func TestFloodOfEventsIsBounded(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.relist()
		lists, inspections := w.calls()
		for i := range 20000 {
			s.handle(pleg.RuntimeEvent[string]{Pod: fmt.Sprint("nobody", i), Container: "c", Type: pleg.RuntimeEventCreated})
			s.handle(pleg.RuntimeEvent[string]{Pod: "p", Container: fmt.Sprint("c", i), Type: pleg.RuntimeEventCreated})
			s.handle(pleg.RuntimeEvent[string]{})
			if i%100 == 0 {
				w.pass(time.Millisecond)
			}
			if s := w.gen.Stats(); s.Retained > 3000 {
				t.Fatalf("after %d events %d things are held", 3*i, s.Retained)
			}
		}
		w.pass(5 * time.Second)
		w.shows("a:running")
		w.relist()
		if s := w.gen.Stats(); s.Retained > 10 {
			t.Errorf("in the end %d things are held", s.Retained)
		}
		if n, m := w.calls(); n-lists > 8 || m-inspections > 21000 {
			t.Errorf("%d lists and %d inspections", n-lists, m-inspections)
		}
		if n := w.gen.Stats().UnseenContainers; n == 0 {
			t.Error("no container is counted as unseen")
		}
	})
}

// Requests for removed pods leave tombstones, which full lists free.
func TestTombstonesAreBounded(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		w.pass(5 * time.Second)
		most := 0
		for i := range 5000 {
			w.gen.RequestRelist(fmt.Sprint(i))
			time.Sleep(time.Millisecond)
			synctest.Wait()
			most = max(most, w.gen.Stats().Retained)
		}
		if most > 3000 {
			t.Errorf("%d tombstones", most)
		}
	})
}

// setBack is a clock that can be set back, as the real one can be.
type setBack struct {
	clock.RealClock
	by atomic.Int64
}

func (c *setBack) Now() time.Time { return c.RealClock.Now().Add(-time.Duration(c.by.Load())) }

// A clock set back causes no busy loop, and after it has caught up everything works.
func TestClockSetBackMakesNothingSpin(t *testing.T) {
	c := &setBack{}
	setup{stream: true, cache: statuscache.Options[*plegtest.Status]{Clock: c}}.run(t, func(w *world) {
		w.start()
		w.pass(5 * time.Second)
		w.up("a")
		w.pass(5 * time.Second)
		c.by.Store(int64(time.Minute))
		lists, inspections := w.calls()
		for i := range 10 {
			w.up(fmt.Sprint("b", i))
			w.pass(5 * time.Second)
		}
		more, later := w.calls()
		if n := more - lists + later - inspections; n > 300 {
			t.Errorf("%d calls in 50s", n)
		}
		w.pass(2 * time.Minute)
		w.rt.Exit("p", "a")
		w.pass(time.Second)
		if e := w.cache.Get("p"); e.Err != nil || e.Status == nil || e.Status.Version != w.rt.Truth()["p"].Version {
			t.Errorf("%+v", e)
		}
	})
}

// A panic of the Runtime or the Streamer ends Run, which panics with its value, and
// leaves no lock held and no call behind.
func TestPanicOfARuntimeReachesRun(t *testing.T) {
	for _, what := range []string{"Pods", "Pod", "Events"} {
		setup{}.run(t, func(w *world) {
			rt := &panicking{recorder: w.rt, what: what}
			w.make(rt, pleg.GeneratorOptions[string]{Stream: rt})
			w.up("a")
			func() {
				defer func() { equal(t, "recovered", recover(), any(what)) }()
				_ = w.gen.Run(w.ctx)
			}()
			equal(t, "calls left", w.rt.Busy(), 0)
			w.gen.RequestRelist("p")
			rt.what = ""
			w.start()
			w.shows("a:running")
		})
	}
}

// panicking panics in one method.
type panicking struct {
	*recorder
	what string
}

func (p *panicking) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	if p.what == "Pods" {
		panic(p.what)
	}
	return p.recorder.Pods(ctx)
}

func (p *panicking) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	if p.what == "Pod" {
		panic(p.what)
	}
	return p.recorder.Pod(ctx, id)
}

func (p *panicking) Events(ctx context.Context, handle events) error {
	if p.what == "Events" {
		panic(p.what)
	}
	return p.recorder.Events(ctx, handle)
}

// A panic in Merge leaves no lock held.
func TestPanicInMergeLeavesNoLock(t *testing.T) {
	bad := true
	merge := func(old, new *plegtest.Status) *plegtest.Status {
		if bad {
			panic("merge")
		}
		return new
	}
	setup{cache: statuscache.Options[*plegtest.Status]{Merge: merge}}.run(t, func(w *world) {
		w.up("a")
		w.relist()
		w.rt.Exit("p", "a")
		func() {
			defer func() { equal(t, "recovered", recover(), any("merge")) }()
			_ = w.gen.Relist(w.ctx)
		}()
		bad = false
		w.pass(time.Second)
		w.relist()
		w.shows("a:exited")
	})
}

// A Merge that panics for several pods at once keeps neither a lock nor the Generator.
func TestPanicsInMergeLeaveNoLock(t *testing.T) {
	bad := false
	merge := func(old, new *plegtest.Status) *plegtest.Status {
		if bad {
			panic("merge")
		}
		return new
	}
	setup{cache: statuscache.Options[*plegtest.Status]{Merge: merge}}.run(t, func(w *world) {
		for _, pod := range []string{"p", "q", "r"} {
			w.rt.Create(pod, pod)
			w.rt.Start(pod, pod)
		}
		w.relist()
		for _, pod := range []string{"p", "q", "r"} {
			w.rt.Exit(pod, pod)
		}
		bad = true
		func() {
			defer func() { equal(t, "recovered", recover(), any("merge")) }()
			_ = w.gen.Relist(w.ctx)
		}()
		bad = false
		w.pass(time.Second)
		w.relist()
		w.shows("p:exited")
	})
}

// The zero key names no pod, wherever it comes from.
func TestZeroKeyIsNoPod(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &scene{recorder: w.rt}
		rt.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
			if id == "" {
				t.Error("Pod was asked about the zero key")
			}
			return w.rt.Pod(w.ctx, id)
		}
		w.replace(rt, false)
		w.up("a")
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.start()
		r.Expect("", pleg.Container{ID: "x"})
		w.gen.RequestSync("")
		w.gen.RequestRelist("")
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		_, _ = w.cache.GetNewerThan(ctx, "", time.Now().Add(time.Second))
		w.pass(20 * time.Second)
		place := stored(t, r.Position())
		w.follow(pleg.ExitOptions[string]{Resume: place})
	})
}

// An inspection that ignores its deadline fails at the deadline all the same. It keeps its
// place among the calls, and its answer counts if it ever comes.
func TestInspectionThatIgnoresItsContextFailsAtItsDeadline(t *testing.T) {
	setup{}.run(t, func(w *world) {
		hold := make(chan struct{})
		rt := &scene{recorder: w.rt}
		rt.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
			if id == "p" {
				<-hold
			}
			return w.rt.Pod(context.Background(), id)
		}
		w.replace(rt, false)
		w.up("a")
		w.start()
		begin := time.Now()
		w.relist()
		equal(t, "Relist took", time.Since(begin), 10*time.Second)
		if e := w.cache.Get("p"); !errors.Is(e.Err, context.DeadlineExceeded) {
			t.Errorf("%+v", e)
		}
		w.rt.Create("q", "b")
		w.pass(5 * time.Second)
		equal(t, "another pod", w.cache.Get("q").Present, true)
		equal(t, "calls for the deaf one", w.rt.Calls()["Pod"], 1)
		close(hold)
		w.pass(time.Millisecond)
		w.shows("a:running")
	})
}

// A pod that an event named, and whose inspection never ends, holds an error as soon as a full
// list shows it. It is not reported as absent.
func TestInspectionThatIgnoresItsContextBeforeTheFirstList(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		hold := make(chan struct{})
		rt := &scene{recorder: w.rt}
		var shown atomic.Bool
		rt.pods = func() ([]pleg.Pod[string], error) {
			if !shown.Load() {
				return nil, nil
			}
			return w.rt.Pods(w.ctx)
		}
		rt.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
			<-hold
			return w.rt.Pod(context.Background(), id)
		}
		w.replace(rt, false)
		w.start()
		w.pass(5 * time.Second)
		w.up("a")
		w.gen.RequestRelist("p")
		w.pass(15 * time.Second) // the inspection is late
		shown.Store(true)
		w.relist()
		if e := w.cache.Get("p"); !e.Present || !errors.Is(e.Err, context.DeadlineExceeded) {
			t.Errorf("%+v", e)
		}
		close(hold)
		w.pass(time.Second)
		w.shows("a:running")
	})
}
