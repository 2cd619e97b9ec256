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
)

// The error is cached with the last status, the call is retried with backoff, and its
// success is reported.
func TestFailedStatusIsCachedAndRetried(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt, err: errors.New("no status today")}
		w.replace(rt, true)
		w.up("a")
		rt.fail.Store(true)
		w.start()
		read := w.read("reader", 0)
		w.shows("nothing no status today")
		if e := w.cache.Get("p"); !e.Present || e.Status != nil {
			t.Errorf("a pod whose status was never read: %+v", e)
		}
		equal(t, "events", read(), "")
		w.pass(25 * time.Second)
		equal(t, "inspections in 25s", w.count("Status"), 0) // all failed before the runtime
		equal(t, "attempts in 25s", rt.failed.Load(), 6)     // at 0 1 3 7 15 25
		rt.fail.Store(false)
		w.pass(10 * time.Second)
		w.shows("a:running")
		equal(t, "events", read(), "p:started a")
		rt.fail.Store(true)
		w.gen.RequestRelist("p")
		w.shows("a:running no status today")
		rt.fail.Store(false)
		w.pass(time.Second)
		w.shows("a:running")
		equal(t, "events", read(), "p:started a p:sync")
	})
}

// fickle fails on demand.
type fickle struct {
	*recorder
	fail   atomic.Bool
	failed atomic.Int64
	err    error
}

func (f *fickle) Status(ctx context.Context, id string) (*plegtest.Status, time.Time, error) {
	if f.fail.Load() {
		f.failed.Add(1)
		return nil, time.Time{}, f.err
	}
	return f.recorder.Status(ctx, id)
}

// A call is abandoned after its timeout, and others proceed meanwhile.
func TestHungStatusBlocksNoOtherPod(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &hanging{recorder: w.rt, pod: "q"}
		w.replace(rt, false)
		w.rt.Create("q", "b")
		w.up("a")
		w.start()
		w.shows("a:running")
		w.gen.RequestRelist("p") // is served while q hangs
		w.rt.Exit("p", "a")
		w.shows("a:exited")
		w.pass(10*time.Second + time.Millisecond)
		if e := w.cache.Get("q"); !errors.Is(e.Err, context.DeadlineExceeded) || !strings.Contains(e.Err.Error(), "Status(q)") {
			t.Errorf("after the timeout: %+v", e)
		}
	})
}

// hanging never answers for one pod.
type hanging struct {
	*recorder
	pod string
}

func (h *hanging) Status(ctx context.Context, id string) (*plegtest.Status, time.Time, error) {
	if id == h.pod {
		<-ctx.Done()
		return nil, time.Time{}, ctx.Err()
	}
	return h.recorder.Status(ctx, id)
}

func TestMaxConcurrentLimitsCalls(t *testing.T) {
	setup{faults: plegtest.Faults{Slow: 1, SlowBy: 2 * time.Second}, options: pleg.GeneratorOptions{MaxConcurrent: 3}}.run(t, func(w *world) {
		for i := range 12 {
			w.rt.Create(fmt.Sprint("p", i), "a")
		}
		w.all.Go(func() { w.gen.Relist(w.ctx) })
		most := 0
		for range 300 {
			w.pass(100 * time.Millisecond)
			busy := 0
			for _, c := range w.rt.History().Calls {
				if c.Kind == "Status" && c.End.IsZero() {
					busy++
				}
			}
			most = max(most, busy)
		}
		equal(t, "inspections at a time", most, 3)
		equal(t, "pods", w.cache.Len(), 12)
	})
}

// Full lists every second do not inspect a failing pod before its backoff is over.
// Relist does.
func TestListsRespectBackoffOfFailingPod(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt, err: errors.New("no status today")}
		w.replace(rt, false)
		w.up("a")
		rt.fail.Store(true)
		w.start()
		w.pass(24 * time.Second)
		n := rt.failed.Load()
		if n > 8 {
			t.Errorf("%d attempts in 24 s", n)
		}
		w.gen.Relist(w.ctx)
		equal(t, "attempts after Relist", rt.failed.Load(), n+1)
		w.pass(5 * time.Second)
		equal(t, "attempts 5s later", rt.failed.Load(), n+1)
	})
}

// A status returned with an error is stored with it, as in the kubelet, unless it shows
// a step back. Without one the last status stays.
func TestStatusBesideAnErrorIsStored(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &besides{recorder: w.rt}
		w.replace(rt, false)
		read := w.read("reader", 0)
		w.up("a")
		w.gen.Relist(w.ctx)
		w.pass(time.Second)
		old := w.rt.Truth()["p"]
		w.rt.Exit("p", "a")
		rt.fail(errors.New("half"))
		for i, step := range []struct {
			beside *plegtest.Status
			shows  string
		}{
			{nil, "a:running half"},
			{w.rt.Truth()["p"], "a:exited half"},
			{nil, "a:exited half"},
			{&plegtest.Status{Listed: []pleg.Container{{ID: "a", State: pleg.StateCreated}}}, "a:exited half"},
			{old, "a:running half"}, // no step back: the exit is not recorded
		} {
			rt.status.Store(step.beside)
			w.gen.Relist(w.ctx)
			w.shows(step.shows)
			equal(t, fmt.Sprint("events after step ", i), read(), "p:started a")
			w.pass(time.Second)
		}
		rt.fail(nil)
		w.gen.Relist(w.ctx)
		w.shows("a:exited")
		equal(t, "events", read(), "p:started a p:died a")
	})
}

// besides fails with a status.
type besides struct {
	*recorder
	status atomic.Pointer[plegtest.Status]
	err    atomic.Pointer[error]
}

func (b *besides) fail(err error) { b.err.Store(&err) }

func (b *besides) Status(ctx context.Context, id string) (*plegtest.Status, time.Time, error) {
	if err := b.err.Load(); err != nil && *err != nil {
		return b.status.Load(), time.Time{}, *err
	}
	return b.recorder.Status(ctx, id)
}

// A failed Status is no evidence that an unknown pod exists.
func TestFailedStatusShowsNoPod(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt, err: errors.New("no status today")}
		w.replace(rt, true)
		w.start()
		w.pass(10 * time.Second)
		rt.fail.Store(true)
		w.gen.RequestRelist("nobody")
		w.pass(5 * time.Second)
		equal(t, "attempts", rt.failed.Load(), 3) // after 0, 1 and 3 s
		equal(t, "present", w.cache.Get("nobody").Present, false)
		rt.fail.Store(false)
		w.pass(10 * time.Second)
		rt.failed.Store(0)
		w.pass(time.Minute)
		equal(t, "attempts when the runtime has answered", rt.failed.Load(), 0)
	})
}

// A hanging call ends at its deadline also outside Run, where no other timer exists.
func TestHungCallEndsAtItsDeadline(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &hanging{recorder: w.rt, pod: "p"}
		w.replace(rt, false)
		w.up("a")
		begin := time.Now()
		equal(t, "error", w.gen.Relist(w.ctx), nil)
		equal(t, "lasted", time.Since(begin), 10*time.Second)
		if e := w.cache.Get("p"); !errors.Is(e.Err, context.DeadlineExceeded) {
			t.Errorf("%+v", e)
		}
	})
}
