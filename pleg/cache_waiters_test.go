package pleg_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// shows reports whether the first container that e shows is in state s.
func shows(s pleg.State) func(entry) bool {
	return func(e entry) bool {
		return e.Present && e.Status.Listed[0].State == s
	}
}

// An exit without an event ends a WaitFor within WaitLimit, whether it happened before
// the wait or long after its start.
func TestLostEventEndsWaitFor(t *testing.T) {
	{
		for _, late := range []time.Duration{0, time.Second, 17 * time.Second} {
			setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
				w.up("a")
				w.start()
				w.pass(10 * time.Second)
				var exited time.Time
				w.all.Go(func() {
					time.Sleep(late)
					exited = time.Now()
					w.rt.Exit("p", "a")
				})
				if late == 0 {
					w.pass(time.Millisecond)
				}
				if _, err := w.cache.WaitFor(w.ctx, "p", shows(pleg.StateExited)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(exited); took > 2*time.Second+time.Millisecond {
					t.Errorf("exit %v after the begin of the wait: seen after %v", late, took)
				}
			})
		}
	}
}

// Any number of waits for a pod cost one inspection per WaitLimit, also if every inspection
// fails, and none once the last has ended.
func TestLongWaitsCostOneInspectionPerLimit(t *testing.T) {
	for _, fails := range []bool{false, true} {
		setup{stream: true}.run(t, func(w *world) {
			rt := &counting{recorder: w.rt}
			w.replace(rt, true)
			w.up("a")
			w.start()
			w.pass(10 * time.Second)
			rt.fails.Store(fails)
			ctx, cancel := context.WithCancel(w.ctx)
			lists, _ := w.calls()
			for range 20 {
				w.all.Go(func() { w.cache.WaitFor(ctx, "p", shows(pleg.StateExited)) })
				w.all.Go(func() { w.cache.GetNewerThan(ctx, "p", time.Now().Add(time.Hour)) })
				w.pass(90 * time.Millisecond)
			}
			rt.inspections.Store(0)
			w.pass(60 * time.Second)
			if n := rt.inspections.Load(); n < 29 || n > 31 {
				t.Errorf("%d inspections in 60s, failing %v", n, fails)
			}
			cancel()
			rt.fails.Store(false)
			w.pass(10 * time.Second)
			rt.inspections.Store(0)
			w.pass(60 * time.Second)
			equal(t, "inspections when nobody waits", rt.inspections.Load(), 0)
			later, _ := w.calls()
			equal(t, "lists", later-lists, 0)
		})
	}
}

// counting counts, and may fail, the inspections of single pods.
type counting struct {
	*recorder
	fails       atomic.Bool
	inspections atomic.Int64
}

func (c *counting) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	c.inspections.Add(1)
	if c.fails.Load() {
		return pleg.Pod[string]{}, nil, errors.New("no pod today")
	}
	return c.recorder.Pod(ctx, id)
}

// A wait for a future time does not delay the inspection for another wait for the same pod.
func TestFutureWaitDelaysNoOtherWait(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		w.all.Go(func() { w.cache.GetNewerThan(w.ctx, "p", time.Now().Add(time.Hour)) })
		w.pass(1500 * time.Millisecond)
		begin := time.Now()
		if _, err := w.wait("p", 2*time.Second); err != nil {
			t.Fatal(err)
		}
		equal(t, "lasted", time.Since(begin), 2*time.Second)
	})
}

// A wait for a pod without changes, or for a missing pod, is ended by a relist of that
// pod. It costs no full list. (kubernetes#124704: a wait
// without an event never ended)
func TestWaitWithoutEventEndsByRelist(t *testing.T) {
	{
		setup{stream: true}.run(t, func(w *world) {
			w.up("a")
			w.start()
			w.pass(10 * time.Second)
			lists, _ := w.calls()
			for _, id := range []string{"p", "nobody"} {
				begin := time.Now()
				w.pass(time.Millisecond)
				e, err := w.wait(id, 2*time.Second)
				if err != nil || !e.Modified.After(begin) || e.Present != (id == "p") {
					t.Errorf("a wait for %s: %+v, %v", id, e, err)
				}
				equal(t, "lasted", time.Since(begin), 2*time.Second+time.Millisecond)
			}
			later, _ := w.calls()
			equal(t, "lists", later-lists, 0)
		})
	}
}

// A wait for a future time requests no inspection before that time.
func TestWaitForFutureTimeRequestsNoInspection(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		_, before := w.calls()
		begin := time.Now()
		min := begin.Add(20 * time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := w.cache.GetNewerThan(w.ctx, "p", min)
			done <- err
		}()
		w.pass(19 * time.Second)
		_, calls := w.calls()
		equal(t, "calls before", calls, before)
		equal(t, "error", <-done, nil)
		if lasted := time.Since(begin); lasted > 25*time.Second {
			t.Errorf("lasted %v", lasted)
		}
	})
}
