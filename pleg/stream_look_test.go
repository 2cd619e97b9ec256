package pleg_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// Calls of the runtime are slow here, so that the time between an event and the end of
// the look that it asks for can be seen.
var slowCalls = setup{faults: plegtest.Faults{Slow: 1, SlowBy: time.Second}}

// An event of a forgotten container requests a look regardless of its timestamp,
// because it may be about a new one.
func TestLateEventBringsNothingBack(t *testing.T) {
	slowCalls.scripted(t, func(w *world, s *script) {
		w.up("a")
		w.up("b")
		w.gen.Relist(w.ctx)
		was := w.rt.Truth()["p"]
		w.rt.Remove("p", "a")
		for range 3 {
			w.gen.Relist(w.ctx)
			w.pass(time.Second)
		}
		w.shows("b:running")
		s.handle(event("a", pleg.RuntimeEventStarted, time.Now(), was))
		w.shows("b:running")
		w.pass(10 * time.Second)
		was = w.rt.Truth()["p"]
		w.rt.Remove("p", "b")
		for range 3 {
			w.gen.Relist(w.ctx)
			w.pass(time.Second)
		}
		w.shows("gone")
		s.handle(event("b", pleg.RuntimeEventStarted, time.Now(), was))
		w.shows("gone")
		w.pass(10 * time.Second)
	})
}

// An event with any timestamp requests a look at its pod and writes nothing to the
// cache.
func TestEventWithAnyStampAsksForALook(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stamp func(looked, now time.Time) time.Time
	}{
		{"of before the last look", func(looked, now time.Time) time.Time { return looked.Add(-time.Millisecond) }},
		{"of the end of the last look", func(looked, now time.Time) time.Time { return looked }},
		{"now", func(looked, now time.Time) time.Time { return now }},
		{"none", func(looked, now time.Time) time.Time { return time.Time{} }},
		{"ahead of the clock", func(looked, now time.Time) time.Time { return now.Add(time.Millisecond) }},
		{"of 1970", func(looked, now time.Time) time.Time { return time.Unix(1, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			slowCalls.scripted(t, func(w *world, s *script) {
				w.up("a")
				w.gen.RequestRelist("p")
				for w.cache.Get("p").Status == nil {
					w.pass(time.Millisecond)
				}
				calls := w.rt.History().Calls
				looked := calls[len(calls)-1].End
				w.pass(500 * time.Millisecond)
				w.rt.Exit("p", "a")
				s.handle(event("a", pleg.RuntimeEventStopped, tt.stamp(looked, time.Now()), w.rt.Truth()["p"]))
				w.shows("a:running")
				equal(t, "StaleWrites", w.gen.Stats().StaleWrites, 0)
				w.pass(10 * time.Second)
				w.shows("a:exited")
			})
		})
	}
}

// While looks at a pod fail, its entry has the error.
func TestEventDoesNotHideAnError(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		rt := &besides{recorder: w.rt}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](rt, s, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.stop()
		w.all.Wait()
		w.ctx, w.stop = context.WithCancel(w.Context())
		w.gen = gen
		w.start()
		w.pass(2 * time.Second)
		w.up("a")
		gen.Relist(w.ctx)
		rt.fail(plegtest.ErrInjected)
		gen.RequestRelist("p") // within the same reading of the clock
		w.shows("a:running plegtest: injected error")
		w.pass(time.Millisecond)
		w.rt.Exit("p", "a")
		s.handle(event("a", pleg.RuntimeEventStopped, time.Now(), w.rt.Truth()["p"]))
		w.shows("a:running plegtest: injected error")
		rt.fail(nil)
		w.pass(10 * time.Second)
		w.shows("a:exited")
	})
}

// A look does not decide about a container first reported during it. If the container
// is gone afterwards, a PodSync reports it.
func TestLookDoesNotJudgeEventsDuringIt(t *testing.T) {
	setup{}.scripted(t, func(w *world, s *script) {
		rt := &gated{recorder: w.rt, gate: make(chan struct{})}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](rt, s, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.stop()
		w.all.Wait()
		w.ctx, w.stop = context.WithCancel(w.Context())
		w.gen = gen
		w.up("a")
		w.start()
		w.pass(2 * time.Second)
		read := w.read("reader", 0)
		rt.closed.Store(true)
		gen.RequestRelist("p")
		w.pass(time.Millisecond) // the look has begun
		s.handle(event("z", pleg.RuntimeEventStarted, time.Now(), nil))
		w.pass(time.Millisecond)
		rt.gate <- struct{}{} // and ends: it shows no z
		w.pass(time.Millisecond)
		equal(t, "events", read(), "p:sync")
		rt.gate <- struct{}{} // the next one shows none, either
		w.pass(time.Millisecond)
		equal(t, "events", read(), "p:sync p:sync")
	})
}

// gated holds back the answers for single pods until the gate lets them pass.
type gated struct {
	*recorder
	closed atomic.Bool
	gate   chan struct{}
}

func (g *gated) Status(ctx context.Context, id string) (*plegtest.Status, time.Time, error) {
	s, stamp, err := g.recorder.Status(ctx, id)
	if g.closed.Load() {
		select {
		case <-g.gate:
		case <-ctx.Done():
		}
	}
	return s, stamp, err
}
