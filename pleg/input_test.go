package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
	"k8s.io/utils/clock"
)

// listing is a Runtime with the test's lists.
type listing struct {
	pods   []pleg.Pod[string]
	stamp  time.Time
	status func(ctx context.Context) error
}

func (l *listing) Pods(context.Context) ([]pleg.Pod[string], error) { return l.pods, nil }

func (l *listing) Status(ctx context.Context, id string) (*plegtest.Status, time.Time, error) {
	if l.status != nil {
		return nil, time.Time{}, l.status(ctx)
	}
	var s *plegtest.Status
	for _, p := range l.pods {
		if p.ID == id {
			if s == nil {
				s = &plegtest.Status{}
			}
			s.Listed = append(s.Listed, p.Containers...)
		}
	}
	if s == nil {
		return nil, time.Time{}, pleg.ErrNotFound
	}
	return s, l.stamp, nil
}

// listed runs body over a generator of a listing that is driven by Relist.
func listed(t *testing.T, body func(w *world, l *listing)) {
	t.Helper()
	setup{}.run(t, func(w *world) {
		l := &listing{}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](l, nil, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.gen = gen
		body(w, l)
	})
}

func pod(id string, containers ...pleg.Container) pleg.Pod[string] {
	return pleg.Pod[string]{ID: id, Containers: containers}
}

// Lists with duplicate pods or containers, pods without containers, undefined states,
// the zero key and empty ids.
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
		{"a pod twice", [][]pleg.Pod[string]{{pod("p", running), pod("p", pleg.Container{ID: "b"})}}, "p:started a p:changed b"},
		{"a pod twice, still", [][]pleg.Pod[string]{{pod("p", running), pod("p")}, {pod("p"), pod("p", running)}}, "p:started a"},
		{"a container twice", [][]pleg.Pod[string]{{pod("p", running, exited)}, {pod("p", exited, running)}, {pod("p", running, exited, exited)}}, "p:died a"},
		{"no containers", [][]pleg.Pod[string]{{pod("p")}, {pod("p")}, {}}, "p:sync p:sync"},
		{"its containers go first", [][]pleg.Pod[string]{{pod("p", running)}, {pod("p")}, {}}, "p:started a p:died a p:removed a p:sync"},
		{"unknown takes nothing back", [][]pleg.Pod[string]{{pod("p", running)}, {pod("p", unknown)}, {pod("p", running)}, {pod("p", exited)}, {pod("p", strange)}}, "p:started a p:died a"},
		{"unknown first", [][]pleg.Pod[string]{{pod("p", strange)}, {pod("p", unknown)}, {pod("p", pleg.Container{ID: "a", State: pleg.StateCreated})}, {pod("p", running)}}, "p:changed a p:changed a p:started a"},
		{"the zero key", [][]pleg.Pod[string]{{pod("", running)}, {}}, ":started a :died a :removed a"},
		{"no id", [][]pleg.Pod[string]{{pod("p", pleg.Container{State: pleg.StateExited})}, {pod("p")}}, "p:died p:removed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			listed(t, func(w *world, l *listing) {
				read := w.read("reader", 0)
				for _, l.pods = range tt.lists {
					w.gen.Relist(w.ctx)
					w.pass(time.Second)
				}
				equal(t, "events", strings.Join(strings.Fields(read()), " "), tt.want)
			})
		})
	}
}

// The slices that Pods returns may be reused.
func TestGeneratorDoesNotRetainLists(t *testing.T) {
	listed(t, func(w *world, l *listing) {
		l.pods = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateRunning})}
		hold := make(chan struct{})
		l.status = func(context.Context) error { <-hold; l.status = nil; return errors.New("later") }
		done := make(chan error, 1)
		go func() { done <- w.gen.Relist(w.ctx) }()
		w.pass(time.Second)
		l.pods[0].Containers[0] = pleg.Container{ID: "other", State: pleg.StateExited}
		l.pods[0].ID = "other"
		close(hold)
		<-done
		if e := w.cache.Get("p"); !e.Present || e.Err == nil {
			t.Errorf("pod p: %+v", e)
		}
	})
}

func TestPodGoneBetweenListAndStatusIsGone(t *testing.T) {
	listed(t, func(w *world, l *listing) {
		read := w.read("reader", 0)
		l.pods = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateRunning})}
		w.gen.Relist(w.ctx)
		w.shows("a:running")
		w.pass(time.Second)
		l.pods = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateExited})}
		l.status = func(context.Context) error { return fmt.Errorf("pod p: %w", pleg.ErrNotFound) }
		for range 5 { // and goes on being listed
			w.gen.Relist(w.ctx)
			w.shows("gone")
			w.pass(time.Second)
		}
		equal(t, "events", without(read(), "p:sync"), "p:started a p:died a p:removed a")
	})
}

// A status with any timestamp is in the cache after one relist, with the relist's time.
func TestWrongStampsCostOneRelist(t *testing.T) {
	listed(t, func(w *world, l *listing) {
		now := time.Now()
		for i, stamp := range []time.Time{
			{}, time.Unix(0, 0), time.Unix(0, now.Unix()), now.AddDate(174, 0, 0), time.Time{}.Add(time.Hour), time.Time{}.AddDate(-1, 0, 0),
			now.AddDate(5000, 0, 0), now.Add(24 * time.Hour), now.Add(-24 * time.Hour), now.Add(-time.Minute), now.Truncate(time.Second),
		} {
			l.stamp = stamp
			l.pods = []pleg.Pod[string]{pod("p", pleg.Container{ID: fmt.Sprint(i), State: pleg.StateRunning})}
			at := time.Now()
			w.gen.Relist(w.ctx)
			w.shows(fmt.Sprintf("%d:running", i))
			if e := w.cache.Get("p"); !e.Modified.Equal(at) {
				t.Errorf("stamped %v: known as of %v, want %v", stamp, e.Modified, at)
			}
			w.pass(time.Second)
		}
	})
}

// Events of unknown type, of an unknown pod, without a container, with another pod's
// contents, or stamped in the year 1 or 2200 request a look and do nothing else.
func TestMalformedEventsOnlyRequestARelist(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.gen.Relist(w.ctx)
		lie := &plegtest.Status{Version: 1, Listed: []pleg.Container{{ID: "a", State: pleg.StateExited}}}
		other := event("a", pleg.RuntimeEventStopped, time.Now(), lie)
		other.Seen.Pod.ID = "q"
		empty := event("a", pleg.RuntimeEventDeleted, time.Now(), &plegtest.Status{})
		nobody := event("a", pleg.RuntimeEventStopped, time.Now(), lie)
		nobody.Pod = ""
		for _, e := range []pleg.RuntimeEvent[string, *plegtest.Status]{
			{}, other, empty, nobody,
			event("", 99, time.Now(), nil),
			event("a", -1, time.Time{}, nil),
			event("a", pleg.RuntimeEventStopped, time.Time{}, lie),
			event("a", pleg.RuntimeEventStopped, time.Time{}.Add(time.Hour), lie),
			event("a", pleg.RuntimeEventStopped, time.Now().AddDate(174, 0, 0), lie),
			event("a", pleg.RuntimeEventStopped, time.Unix(0, time.Now().Unix()), lie),
		} {
			w.pass(time.Second)
			s.handle(e)
			w.shows("a:running")
		}
		for i := range 10 {
			s.handle(pleg.RuntimeEvent[string, *plegtest.Status]{Pod: fmt.Sprint("nobody", i), Container: "c", Type: pleg.RuntimeEventStopped})
		}
		w.shows("a:running")
		equal(t, "pods", w.cache.Len(), 1)
	})
}

// Memory of events of unknown pods and containers is bounded.
func TestUnknownContainersAreForgotten(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		for i := range 20000 {
			s.handle(pleg.RuntimeEvent[string, *plegtest.Status]{Pod: fmt.Sprint("nobody", i), Container: "c", Type: pleg.RuntimeEventCreated})
			s.handle(pleg.RuntimeEvent[string, *plegtest.Status]{Pod: "p", Container: fmt.Sprint("c", i), Type: pleg.RuntimeEventCreated})
			if i%100 == 0 {
				w.pass(0)
			}
			if s := w.gen.Stats(); s.Retained > 5000 {
				t.Fatalf("after %d events of unknown pods %d things are held", i, s.Retained)
			}
		}
		w.pass(5 * time.Second)
		w.shows("a:running")
		if s := w.gen.Stats(); s.Retained > 10 {
			t.Errorf("in the end %d things are held", s.Retained)
		}
	})
}

// setBack is a clock that can be set back, which no clock of ours should be.
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
		lists, others := w.calls()
		for i := range 10 {
			w.up(fmt.Sprint("b", i))
			w.pass(5 * time.Second)
		}
		more, later := w.calls()
		if n := more - lists + later - others; n > 300 {
			t.Errorf("%d calls in 50s", n)
		}
		w.rt.Note(func(h *history) { h.Waits = nil })
		w.pass(2 * time.Minute)
		w.rt.Compare(w.cache, 4)
	})
}
