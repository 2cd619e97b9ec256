package pleg_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A stream that delivers an event counts as connected at once.
func TestStreamWithAnEventCountsAtOnce(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		w.pass(time.Millisecond)
		equal(t, "connections of a silent stream", w.gen.Stats().Connections, 0)
		w.up("a")
		w.pass(time.Millisecond)
		equal(t, "connections of one with an event", w.gen.Stats().Connections, 1)
		w.pass(time.Minute)
		equal(t, "connections in the end", w.gen.Stats().Connections, 1)
	})
}

// Outside Run, a Generator relies on no stream, counts no missed event and leaves no
// timer.
func TestNothingStreamsAfterRun(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(time.Minute)
		equal(t, "streaming", w.gen.Stats().Streaming, true)
		w.stop()
		w.all.Wait()
		equal(t, "streaming after Run", w.gen.Stats().Streaming, false)
		w.up("a")
		w.gen.Relist(w.Context())
		w.shows("a:running")
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
		w.pass(170 * time.Second)
		equal(t, "healthy", w.gen.Healthy(), nil)
		w.pass(11 * time.Second)
		if w.gen.Healthy() == nil {
			t.Error("healthy by the limit of the long period")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
		c := statuscache.New[string](statuscache.Options[*plegtest.Status]{Clock: clock})
		gen, err := pleg.NewGenerator(plegtest.New[string](1, plegtest.Faults{}), c, pleg.GeneratorOptions[string]{})
		if err != nil {
			t.Fatal(err)
		}
		gen.Relist(t.Context())
		if clock.HasWaiters() {
			t.Error("a timer is left behind")
		}
	})
}

func TestNothingIsMissedOfAnUnsupportedStream(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.rt.SetUnsupported(true)
		w.start()
		w.pass(5 * time.Second)
		w.up("a")
		w.pass(5 * time.Second)
		w.shows("a:running")
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
	})
}

// A step that a list finds counts as missed if no event of its pod has come since the last
// answer, nor within a RelistPeriod.
func TestLateEventIsNotMissed(t *testing.T) {
	for _, tt := range []struct {
		name      string
		earlier   bool          // an event comes between the exit and the list
		late      time.Duration // an event comes so long after the list
		missed    uint64
		elsewhere bool // the events are another pod's
	}{
		{"never", false, 0, 1, false},
		{"before", true, 0, 0, false},
		{"within a period", false, 999 * time.Millisecond, 0, false},
		{"after a period", false, 1001 * time.Millisecond, 1, false},
		{"of another pod", true, 999 * time.Millisecond, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scripted(t, func(w *world, s *script) {
				w.up("a")
				w.relist()
				w.pass(5 * time.Second)
				before := w.gen.Stats().MissedEvents
				w.rt.Exit("p", "a")
				e := event("a", pleg.RuntimeEventStopped)
				if tt.elsewhere {
					e.Pod = "q"
				}
				if tt.earlier {
					s.handle(e) // with the list, so that the list may be the one that finds it
				}
				w.relist()
				if tt.late > 0 {
					w.pass(tt.late)
					s.handle(e)
				}
				w.pass(5 * time.Second)
				equal(t, "MissedEvents", w.gen.Stats().MissedEvents-before, tt.missed)
			})
		})
	}
}

// An event of unknown type only requests an inspection of its pod.
func TestUnknownEventOnlyAsksForARelist(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.gen.Relist(w.ctx)
		read := w.read(0)
		_, before := w.calls()
		s.handle(event("z", 99))
		w.pass(time.Second)
		equal(t, "events", read(), "p:sync")
		if _, calls := w.calls(); calls != before+1 {
			t.Errorf("%d calls, want one inspection", calls-before)
		}
	})
}

// The KEP's schedule: at once, after 1, 2, 4, 8, 16, 32 and 60 seconds, then every 60.
// A stream that lasted a minute starts it over. Streams that end at once cause no busy
// loop. (kubernetes#129827: five retries at once, then none)
func TestReconnectsKeepTheSchedule(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{EndAtOnce: 1}}.run(t, func(w *world) {
		begin := time.Now()
		w.start()
		w.pass(10 * time.Minute)
		equal(t, "connections after", w.rt.connected(begin), "0 0 1 3 7 15 31 63 123 183 243 303 363 423 483 543")
		lists, _ := w.calls()
		equal(t, "lists", lists, 601)
		equal(t, "errors", w.gen.Stats().ConnectionErrors, 16)
		equal(t, "connections", w.gen.Stats().Connections, 0)
		equal(t, "streaming", w.gen.Stats().Streaming, false)

		w.rt.SetFaults(plegtest.Faults{}) // the next one lives, for a minute
		w.pass(time.Minute)
		equal(t, "streaming", w.gen.Stats().Streaming, true)
		w.pass(time.Minute)
		w.rt.Disconnect()
		w.pass(0)
		equal(t, "connections", w.count("Events"), 18) // at once
	})
}

// Reconnects keep to their schedule even if lists are rare.
func TestReconnectsWaitForNoList(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{EndAtOnce: 1}, options: pleg.GeneratorOptions[string]{RelistPeriod: time.Hour}}.run(t, func(w *world) {
		begin := time.Now()
		w.start()
		w.pass(5 * time.Minute)
		equal(t, "connections after", w.rt.connected(begin), "0 0 1 3 7 15 31 63 123 183 243")
	})
}

// After the loss of a stream, the short period applies at once, and the
// Generator stays healthy. The long period returns once a list has begun after the
// reconnect.
func TestLostStreamFallsBackAtOnce(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(250 * time.Second)
		equal(t, "healthy", w.gen.Healthy(), nil)
		lists, _ := w.calls()
		equal(t, "lists", lists, 2)
		w.gen.Relist(w.ctx)
		w.pass(time.Millisecond)
		w.rt.SetUnsupported(true)
		w.pass(0)
		equal(t, "streaming", w.gen.Stats().Streaming, false)
		w.pass(time.Second)
		lists, _ = w.calls()
		equal(t, "lists after the loss", lists, 4)
		w.pass(10*time.Second + time.Millisecond)
		lists, _ = w.calls()
		equal(t, "lists after 10s", lists, 14)
		w.rt.SetUnsupported(false)
		w.pass(55 * time.Second)
		equal(t, "streaming", w.gen.Stats().Streaming, true)
		lists, _ = w.calls()
		w.pass(200 * time.Second)
		later, _ := w.calls()
		equal(t, "lists in 200s", later-lists, 0)
	})
}

// An event causes an inspection of its pod and nothing else.
func TestEventMakesItsPodInspected(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.rt.Create("q", "b")
		w.start()
		read := w.read(0)
		w.pass(10 * time.Second)
		lists, _ := w.calls()
		w.up("a")
		w.shows("a:running")
		w.pass(time.Second)
		w.rt.Exit("p", "a")
		w.shows("a:exited")
		equal(t, "events", read(), "q:sync p:started a p:died a")
		later, _ := w.calls()
		equal(t, "lists", later, lists)
		s := w.gen.Stats()
		equal(t, "EventsReceived", s.EventsReceived, 3)
		equal(t, "Connections", s.Connections, 1)
		equal(t, "MissedEvents", s.MissedEvents, 0)
		equal(t, "EventLatency", s.EventLatency.Count(), 3)
	})
}

// An event costs one inspection and no list.
func TestEventCostsOneCall(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		w.pass(10 * time.Second)
		before := w.rt.Calls()
		for i := range 5 {
			for _, do := range []func(pod, container string) bool{w.rt.Create, w.rt.Start} {
				do("p", fmt.Sprint(i))
				w.pass(time.Second)
			}
		}
		calls := w.rt.Calls()
		for _, kind := range []string{"Pods", "Pod", "Events"} {
			calls[kind] -= before[kind]
		}
		equal(t, "calls for ten events", fmt.Sprint(calls), "map[Events:0 Pod:10 Pods:0]")
	})
}

// A burst of events of one pod costs one inspection in flight and one that follows.
func TestBurstOfEventsMerges(t *testing.T) {
	setup{}.scripted(t, func(w *world, s *script) {
		w.up("a")
		w.relist()
		w.rt.SetFaults(plegtest.Faults{Slow: 1, SlowBy: time.Second})
		_, inspections := w.calls()
		for range 1000 {
			s.handle(event("a", pleg.RuntimeEventStarted))
		}
		w.pass(10 * time.Second)
		if _, n := w.calls(); n-inspections > 2 {
			t.Errorf("%d inspections", n-inspections)
		}
	})
}

// An inspection that does not show the claim of an event is repeated after 100 ms, doubling
// up to the period, until an answer shows it or a full list begun later was answered.
func TestEventAheadOfTheAnswersIsChased(t *testing.T) {
	for _, tt := range []struct {
		name        string
		event       func() pleg.RuntimeEvent[string]
		do          func(w *world) // 1.65 s later
		inspections string         // seconds after the event, before the list
	}{
		{"started", func() pleg.RuntimeEvent[string] { return event("b", pleg.RuntimeEventStarted) }, func(w *world) { w.up("b") }, "0 0.1 0.3 0.7 1.5 2.5"},
		{"stopped", func() pleg.RuntimeEvent[string] { return event("a", pleg.RuntimeEventStopped) }, func(w *world) { w.rt.Exit("p", "a") }, "0 0.1 0.3 0.7 1.5 2.5"},
		{"deleted", func() pleg.RuntimeEvent[string] { return event("a", pleg.RuntimeEventDeleted) }, func(w *world) { w.rt.Remove("p", "a") }, "0 0.1 0.3 0.7 1.5 2.5"},
		{"never", func() pleg.RuntimeEvent[string] { return event("a", pleg.RuntimeEventStopped) }, func(w *world) { w.relist() }, "0 0.1 0.3 0.7 1.5"},
		{"shown", func() pleg.RuntimeEvent[string] { return event("a", pleg.RuntimeEventStarted) }, func(*world) {}, "0"},
		{"deleted, never shown", func() pleg.RuntimeEvent[string] { return event("z", pleg.RuntimeEventDeleted) }, func(*world) {}, "0"},
		{"of no container", func() pleg.RuntimeEvent[string] { return event("", pleg.RuntimeEventStarted) }, func(*world) {}, "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scripted(t, func(w *world, s *script) {
				w.up("a")
				w.relist()
				w.pass(time.Second)
				before, begin := len(w.rt.recorded()), time.Now()
				s.handle(tt.event())
				w.pass(1650 * time.Millisecond)
				tt.do(w)
				w.pass(20 * time.Second)
				var inspections []string
				for _, c := range w.rt.recorded()[before:] {
					if c.kind == "Pod" {
						inspections = append(inspections, fmt.Sprint(c.start.Sub(begin).Seconds()))
					}
				}
				equal(t, "inspections", strings.Join(inspections, " "), tt.inspections)
			})
		})
	}
}

func TestEventWithoutPodAsksForAFullRelist(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Nameless: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(10 * time.Second)
		lists, _ := w.calls()
		w.up("a")
		w.shows("a:running")
		if later, _ := w.calls(); later == lists {
			t.Error("no full relist")
		}
	})
}

// Without a stream there is nothing to miss.
func TestNothingIsMissedWithoutAStream(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.start()
		w.up("a")
		w.pass(5 * time.Second)
		w.rt.Exit("p", "a")
		w.pass(5 * time.Second)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
	})
}
