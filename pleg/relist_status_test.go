package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// The error is cached with the last status, the call is retried with backoff, and its
// success is reported.
func TestFailedStatusIsCachedAndRetried(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt}
		w.replace(rt, true)
		w.up("a")
		rt.fail(errors.New("no status today"))
		w.start()
		read := w.read(0)
		w.shows("nothing no status today")
		if e := w.cache.Get("p"); !e.Present || e.Status != nil {
			t.Errorf("a pod whose status was never read: %+v", e)
		}
		equal(t, "events", read(), "p:sync")
		w.pass(25 * time.Second)
		equal(t, "inspections in 25s", w.count("Pod"), 0) // all failed before the runtime
		equal(t, "attempts in 25s", rt.failed, 6)         // at 0 1 3 7 15 25
		rt.fail(nil)
		w.pass(10 * time.Second)
		w.shows("a:running")
		equal(t, "events", read(), "p:sync p:started a")
		rt.fail(errors.New("no status today"))
		w.gen.RequestRelist("p")
		w.shows("a:running no status today")
		rt.fail(nil)
		w.pass(time.Second)
		w.shows("a:running")
		equal(t, "events", read(), "p:sync p:started a p:sync")
	})
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
		if e := w.cache.Get("q"); !errors.Is(e.Err, context.DeadlineExceeded) || !strings.Contains(e.Err.Error(), "Pod(q)") {
			t.Errorf("after the timeout: %+v", e)
		}
	})
}

// hanging never answers for one pod.
type hanging struct {
	*recorder
	pod string
}

func (h *hanging) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	if id == h.pod {
		<-ctx.Done()
		return pleg.Pod[string]{}, nil, ctx.Err()
	}
	return h.recorder.Pod(ctx, id)
}

func TestMaxConcurrentLimitsCalls(t *testing.T) {
	setup{faults: plegtest.Faults{Slow: 1, SlowBy: 2 * time.Second}, options: pleg.GeneratorOptions[string]{MaxConcurrent: 3}}.run(t, func(w *world) {
		for i := range 12 {
			w.rt.Create(fmt.Sprint("p", i), "a")
		}
		w.all.Go(func() { w.gen.Relist(w.ctx) })
		most := 0
		for range 300 {
			w.pass(100 * time.Millisecond)
			busy := 0
			for _, c := range w.rt.recorded() {
				if c.kind == "Pod" && c.end.IsZero() {
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
		rt := &fickle{recorder: w.rt}
		w.replace(rt, false)
		w.up("a")
		rt.fail(errors.New("no status today"))
		w.start()
		w.pass(24 * time.Second)
		n := rt.failed
		if n > 8 {
			t.Errorf("%d attempts in 24 s", n)
		}
		w.gen.Relist(w.ctx)
		equal(t, "attempts after Relist", rt.failed, n+1)
		w.pass(5 * time.Second)
		equal(t, "attempts 5s later", rt.failed, n+1)
	})
}

// A status returned with an error is stored with it, as in the kubelet. Without one the
// last status stays.
func TestStatusBesideAnErrorIsStored(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt}
		w.replace(rt, false)
		read := w.read(0)
		w.up("a")
		w.relist()
		w.pass(time.Second)
		rt.fail(errors.New("half"))
		w.rt.Exit("p", "a")
		for _, step := range []struct {
			beside *plegtest.Status
			shows  string
		}{
			{nil, "a:running half"},
			{w.rt.Truth()["p"], "a:exited half"},
			{nil, "a:exited half"},
		} {
			rt.beside = step.beside
			w.relist()
			w.shows(step.shows)
			equal(t, "events", read(), "p:started a")
			w.pass(time.Second)
		}
		rt.fail(nil)
		w.relist()
		w.shows("a:exited")
		equal(t, "events", read(), "p:started a p:died a")
	})
}

// An inspection that began before a full list may be answered after it. If it is refused
// because the list is newer, the pod is inspected once more, at once, and no inspection has
// failed.
func TestInspectionOlderThanAListIsRepeated(t *testing.T) {
	setup{}.run(t, func(w *world) {
		x := &script{recorder: w.rt}
		hold, inspections := make(chan struct{}), 0
		rt := &scene{recorder: w.rt}
		rt.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
			if inspections++; inspections == 1 {
				<-hold
			}
			return w.rt.Pod(w.ctx, id)
		}
		w.make(rt, pleg.GeneratorOptions[string]{Stream: x})
		w.start()
		w.pass(5 * time.Second)
		w.gen.RequestRelist("p") // which does not exist yet
		w.pass(time.Second)
		w.relist()
		w.up("a")
		close(hold)
		w.shows("a:running")
		equal(t, "inspections", inspections, 2)
		w.pass(10 * time.Minute)
		equal(t, "inspections later", inspections, 2)
	})
}

// If the second inspection is refused as well, because another writer's entry is ahead, the
// inspections back off.
func TestSecondRefusedInspectionFails(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		w.pass(5 * time.Second)
		_, before := w.calls()
		w.cache.Set("p", nil, nil, time.Now().Add(time.Minute))
		w.up("a") // an event requests a look
		w.pass(0)
		_, inspections := w.calls()
		if n := inspections - before; n < 2 || n > 3 {
			t.Errorf("%d inspections at once", n)
		}
		w.pass(59 * time.Second)
		if _, later := w.calls(); later-inspections > 12 {
			t.Errorf("%d inspections in a minute", later-inspections)
		}
		w.pass(20 * time.Second)
		w.shows("a:running")
	})
}

// A failed inspection is no evidence that an unknown pod exists.
func TestFailedInspectionShowsNoPod(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt}
		w.replace(rt, true)
		w.start()
		w.pass(10 * time.Second)
		rt.fail(errors.New("no status today"))
		w.gen.RequestRelist("nobody")
		w.pass(5 * time.Second)
		equal(t, "attempts", rt.failed, 3) // after 0, 1 and 3 s
		equal(t, "present", w.cache.Get("nobody").Present, false)
		rt.fail(nil)
		w.pass(10 * time.Second)
		rt.failed = 0
		w.pass(time.Minute)
		equal(t, "attempts when the runtime has answered", rt.failed, 0)
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
