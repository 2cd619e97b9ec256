package pleg_test

import (
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// RelistDuration, RelistInterval and LastSeen.
func TestStatsTimeRelists(t *testing.T) {
	setup{faults: plegtest.Faults{Slow: 1, SlowBy: 2 * time.Second}}.run(t, func(w *world) {
		for _, pause := range []time.Duration{3 * time.Second, 5 * time.Second, 0} {
			begun := time.Now()
			w.gen.Relist(w.ctx)
			s := w.gen.Stats()
			if !s.LastSeen.Equal(begun) {
				t.Errorf("the last relist began %v, want %v", s.LastSeen, begun)
			}
			w.pass(pause)
		}
		s := w.gen.Stats()
		var took, between float64
		var last time.Time
		for _, c := range w.rt.History().Calls {
			took += c.End.Sub(c.Start).Seconds()
			if !last.IsZero() {
				between += c.Start.Sub(last).Seconds()
			}
			last = c.Start
		}
		equal(t, "Relists", s.Relists, 3)
		equal(t, "durations", s.RelistDuration.Count(), 3)
		equal(t, "intervals", s.RelistInterval.Count(), 2)
		if d := s.RelistDuration.Sum - took; d*d > 1e-6 || took == 0 {
			t.Errorf("relists took %vs, want %vs", s.RelistDuration.Sum, took)
		}
		if d := s.RelistInterval.Sum - between; d*d > 1e-6 {
			t.Errorf("from start to start %vs, want %vs", s.RelistInterval.Sum, between)
		}
	})
}

// Refused writes of all writers are counted by reason.
func TestStatsCountRefusals(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.pass(time.Minute)
		now := time.Now()
		w.cache.Set("x", nil, nil, now)
		w.cache.Set("x", nil, nil, now.Add(-time.Second))
		w.cache.Set("x", nil, nil, now.Add(2*time.Minute))
		w.cache.Delete("x", now.Add(2*time.Minute))
		w.cache.UpdateTime(now.Add(2 * time.Minute))
		w.cache.Delete("x", now)
		w.cache.Set("x", nil, nil, now)
		s := w.gen.Stats()
		equal(t, "StaleWrites", s.StaleWrites, 2)
		equal(t, "SkewedWrites", s.SkewedWrites, 3)
		equal(t, "Resurrections", s.Resurrections, 1)
	})
}

// Pods and Containers count those present. Retained counts requests, pending events,
// tombstones, and gone containers and pods, each once.
func TestStatsCountPodsAndRetained(t *testing.T) {
	setup{}.run(t, func(w *world) {
		held := func(pods, containers, backlog int) {
			t.Helper()
			s := w.gen.Stats()
			if s.Pods != pods || s.Containers != containers || s.Retained != backlog {
				t.Errorf("%d pods, %d containers, %d besides; want %d, %d, %d", s.Pods, s.Containers, s.Retained, pods, containers, backlog)
			}
		}
		held(0, 0, 0)
		w.up("a")
		w.up("b")
		w.rt.Create("q", "c")
		w.gen.Relist(w.ctx)
		held(2, 3, 0)
		w.gen.RequestRelist("p")
		w.gen.RequestRelist("p")
		w.gen.RequestRelist("nobody")
		held(2, 3, 2)
		w.pass(time.Second)
		w.gen.Relist(w.ctx)
		held(2, 3, 0) // the tombstone of nobody is older than the relist
		w.pass(time.Second)
		w.rt.Remove("p", "b")
		w.gen.Relist(w.ctx)
		held(2, 2, 1) // b
		w.read("sleeper", time.Hour)
		held(2, 2, 2) // and q, which the reader has yet to take
		w.pass(time.Second)
		w.gen.Relist(w.ctx)
		held(2, 2, 1)
		w.pass(time.Millisecond)
		w.cache.Delete("unknown", time.Now())
		held(2, 2, 2)
	})
}

// EventsReceived, EventLatency from believed timestamps, and MergedEvents.
func TestStatsCountEvents(t *testing.T) {
	slowCalls.scripted(t, func(w *world, s *script) {
		w.up("a")
		w.gen.Relist(w.ctx)
		w.pass(time.Minute)
		before := w.gen.Stats()
		now := time.Now()
		for _, stamp := range []time.Time{now, now.Add(-time.Second), now.Add(-2 * time.Second), {}, now.Add(time.Second), now.Add(-time.Hour)} {
			s.handle(event("a", pleg.RuntimeEventStarted, stamp, nil))
		}
		s.handle(pleg.RuntimeEvent[string, *plegtest.Status]{Pod: "q", Type: pleg.RuntimeEventStarted})
		after := w.gen.Stats()
		equal(t, "EventsReceived", after.EventsReceived-before.EventsReceived, 7)
		equal(t, "EventLatency", after.EventLatency.Count()-before.EventLatency.Count(), 3)
		equal(t, "latency", after.EventLatency.Sum-before.EventLatency.Sum, 3)
		if n := after.MergedEvents - before.MergedEvents; n != 5 {
			t.Errorf("%d events were merged, want 5: all of p's but one", n)
		}
		w.pass(10 * time.Second)
	})
}

// A container listed twice counts at its furthest state, also beside one that would be
// a step back.
func TestDuplicateHidesNoStep(t *testing.T) {
	running := pleg.Container{ID: "a", State: pleg.StateRunning}
	exited := pleg.Container{ID: "a", State: pleg.StateExited}
	listed(t, func(w *world, l *listing) {
		for _, l.pods = range [][]pleg.Pod[string]{{pod("p", exited)}, {pod("p", running, exited)}, {pod("p", exited, running)}} {
			if err := w.gen.Relist(w.ctx); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
		}
		equal(t, "StaleWrites", w.gen.Stats().StaleWrites, 0)
		w.shows("a:exited")
	})
}

func TestStatsAllocatesNothing(t *testing.T) {
	w := setup{}.world(t)
	if n := testing.AllocsPerRun(100, func() { w.gen.Stats() }); n != 0 {
		t.Errorf("Stats() allocates %v times", n)
	}
	w.stop()
}
