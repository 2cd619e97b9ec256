package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
		for _, c := range w.rt.recorded() {
			took += c.end.Sub(c.start).Seconds()
			if !last.IsZero() {
				between += c.start.Sub(last).Seconds()
			}
			last = c.start
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

// The errors of full lists and of streams are counted, and the last one is kept until the
// next list succeeds or the next stream is open. Healthy wraps that of the list.
func TestStatsKeepTheLastErrors(t *testing.T) {
	listError, streamError := errors.New("no list today"), errors.New("no stream today")
	setup{}.run(t, func(w *world) {
		rt := &broken{recorder: w.rt, list: listError, stream: streamError}
		w.make(rt, pleg.GeneratorOptions[string]{Stream: rt})
		w.start()
		w.pass(2500 * time.Millisecond)
		s := w.gen.Stats()
		equal(t, "RelistErrors", s.RelistErrors, 3)
		equal(t, "RelistError", s.RelistError, listError)
		equal(t, "ConnectionErrors", s.ConnectionErrors, 3) // at 0, 0 and 1 s
		equal(t, "ConnectionError", s.ConnectionError, streamError)
		err := w.gen.Healthy()
		equal(t, "Healthy wraps the error", errors.Is(err, listError), true)
		equal(t, "Healthy", fmt.Sprint(err), "pleg: Healthy: no full list has succeeded yet: no list today")
		rt.set(nil, nil)
		w.pass(10 * time.Second)
		s = w.gen.Stats()
		equal(t, "RelistErrors", s.RelistErrors, 3)
		equal(t, "RelistError", s.RelistError, nil)
		equal(t, "ConnectionError", s.ConnectionError, nil)
		equal(t, "Healthy", w.gen.Healthy(), nil)
		rt.set(listError, nil)
		w.pass(11 * time.Minute)
		equal(t, "Healthy wraps the error of an old list", errors.Is(w.gen.Healthy(), listError), true)
	})
}

// broken is a runtime whose lists and streams fail on demand.
type broken struct {
	*recorder
	mu           sync.Mutex
	list, stream error
}

func (b *broken) set(list, stream error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list, b.stream = list, stream
}

func (b *broken) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	b.mu.Lock()
	err := b.list
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return b.recorder.Pods(ctx)
}

func (b *broken) Events(ctx context.Context, handle events) error {
	b.mu.Lock()
	err := b.stream
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return b.recorder.Events(ctx, handle)
}

// Writes that the cache refuses count.
func TestStatsCountRefusals(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.pass(time.Minute)
		now := time.Now()
		w.cache.Set("x", nil, nil, now)
		w.cache.Set("x", nil, nil, now.Add(-time.Second))
		w.cache.Set("x", nil, nil, now.Add(2*time.Minute))
		w.cache.Delete("x", now.Add(2*time.Minute))
		w.cache.Delete("x", now)
		w.cache.Set("x", nil, nil, now)
		equal(t, "StaleAnswers", w.gen.Stats().StaleAnswers, 4)
	})
}

// Pods and Containers count those present. Retained counts requests, claimed and removed
// containers, pending events and tombstones.
func TestStatsCountPodsAndRetained(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		held := func(what string, pods, containers, retained int) {
			t.Helper()
			s := w.gen.Stats()
			if s.Pods != pods || s.Containers != containers || s.Retained != retained {
				t.Errorf("%s: %d pods, %d containers, %d besides; want %d, %d, %d", what, s.Pods, s.Containers, s.Retained, pods, containers, retained)
			}
		}
		held("at first", 0, 0, 0)
		w.up("a")
		w.up("b")
		w.rt.Create("q", "c")
		w.relist()
		held("two pods", 2, 3, 0)
		s.handle(event("z", pleg.RuntimeEventStarted))
		w.pass(time.Millisecond)
		held("a claimed container", 2, 3, 1)
		w.pass(time.Second)
		w.relist()
		held("none", 2, 3, 0)
		w.pass(time.Second)
		w.rt.Remove("p", "b")
		w.relist()
		held("a removed one", 2, 2, 1)
		w.read(time.Hour)
		held("and a pending event", 2, 2, 2)
		w.pass(time.Millisecond)
		w.cache.Delete("unknown", time.Now())
		held("and a tombstone", 2, 2, 3)
	})
}

// Latencies below zero count as zero, and those above an hour are differences of clocks.
func TestStatsCountEvents(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		before := w.gen.Stats()
		now := time.Now()
		for _, at := range []time.Time{now, now.Add(-time.Second), now.Add(-2 * time.Second), {}, now.Add(time.Second), now.Add(-time.Hour), now.Add(-time.Hour - 1)} {
			e := event("a", pleg.RuntimeEventStarted)
			e.At = at
			s.handle(e)
		}
		after := w.gen.Stats()
		equal(t, "EventsReceived", after.EventsReceived-before.EventsReceived, 7)
		equal(t, "EventLatency", after.EventLatency.Count()-before.EventLatency.Count(), 5)
		equal(t, "latency", after.EventLatency.Sum-before.EventLatency.Sum, 3603)
		equal(t, "SkewedEvents", after.SkewedEvents-before.SkewedEvents, 1)
	})
}

// A container that events named and no answer shows is counted.
func TestUnseenContainersAreCounted(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.relist()
		_, exits := w.follow(pleg.ExitOptions[string]{})
		for _, kind := range []pleg.RuntimeEventType{pleg.RuntimeEventCreated, pleg.RuntimeEventStarted, pleg.RuntimeEventStopped, pleg.RuntimeEventDeleted} {
			e := event("brief", kind)    // it was created and removed between two inspections
			e.At = e.At.Add(time.Second) // a clock that is ahead changes nothing
			s.handle(e)
		}
		s.handle(event("a", pleg.RuntimeEventStarted))
		w.pass(time.Second)
		equal(t, "UnseenContainers", w.gen.Stats().UnseenContainers, 1)
		s.handle(event("lie", pleg.RuntimeEventStarted))
		w.pass(time.Second)
		equal(t, "UnseenContainers", w.gen.Stats().UnseenContainers, 1)
		w.relist()
		equal(t, "UnseenContainers", w.gen.Stats().UnseenContainers, 2)
		equal(t, "exits", exits(), "")
	})
}

func TestStatsAllocatesNothing(t *testing.T) {
	w := setup{}.world(t)
	if n := testing.AllocsPerRun(100, func() { w.gen.Stats() }); n != 0 {
		t.Errorf("Stats() allocates %v times", n)
	}
	w.stop()
}
