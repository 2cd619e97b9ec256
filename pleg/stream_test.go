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
		equal(t, "connections of one that told", w.gen.Stats().Connections, 1)
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
		equal(t, "Transitions", w.gen.Stats().Transitions, 0)
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
		gen, err := pleg.NewGenerator[string, *plegtest.Status](plegtest.New[string](1, plegtest.Faults{}), nil, c, pleg.GeneratorOptions{})
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
		equal(t, "Transitions", w.gen.Stats().Transitions, 0)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
	})
}

// A step that a list finds before the stream is relied upon counts as missed only if
// its event has not arrived by the next full list.
func TestYoungStreamMayReportLate(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(100 * time.Millisecond)
		w.up("a")
		w.gen.Relist(w.ctx)
		s := w.gen.Stats()
		equal(t, "Transitions", s.Transitions, 1)
		equal(t, "MissedEvents at once", s.MissedEvents, 0)
		w.pass(10 * time.Second)
		w.gen.Relist(w.ctx)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 1)
	})
}

// An event of unknown type only requests a look at its pod.
func TestUnknownEventOnlyAsksForARelist(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.gen.Relist(w.ctx)
		read := w.read("reader", 0)
		_, before := w.calls()
		s.handle(event("z", 99, time.Now(), nil))
		w.pass(time.Second)
		equal(t, "events", read(), "p:sync")
		if _, calls := w.calls(); calls != before+1 {
			t.Errorf("%d calls, want one look", calls-before)
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
		var at []string
		for _, c := range w.rt.History().Connections {
			at = append(at, fmt.Sprint(c.Sub(begin).Seconds()))
		}
		equal(t, "connections after", strings.Join(at, " "), "0 0 1 3 7 15 31 63 123 183 243 303 363 423 483 543")
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
		n := len(w.rt.History().Connections)
		equal(t, "connections", n, 18) // at once
	})
}

// Reconnects keep to their schedule even if lists are rare.
func TestReconnectsWaitForNoList(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{EndAtOnce: 1}, options: pleg.GeneratorOptions{RelistPeriod: time.Hour}}.run(t, func(w *world) {
		begin := time.Now()
		w.start()
		w.pass(5 * time.Minute)
		var at []string
		for _, c := range w.rt.History().Connections {
			at = append(at, fmt.Sprint(c.Sub(begin).Seconds()))
		}
		equal(t, "connections after", strings.Join(at, " "), "0 0 1 3 7 15 31 63 123 183 243")
	})
}

// After the loss of a stream, the short period applies at once, with a relist, and the
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
		lists, _ = w.calls()
		equal(t, "lists after the loss", lists, 4)
		equal(t, "streaming", w.gen.Stats().Streaming, false)
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

// An event causes a look at its pod and nothing else.
func TestEventMakesItsPodInspected(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.rt.Create("q", "b")
		w.start()
		read := w.read("reader", 0)
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

// With a ContainerLister, an event costs one call of Status. Otherwise its pod is
// listed first, and without a PodLister all pods are.
func TestEventCostsOneCall(t *testing.T) {
	for _, tt := range []struct {
		name               string
		distrust, listless bool
		want               string
	}{
		{"a ContainerLister", false, false, "map[Events:0 Pod:0 Pods:0 Status:10]"},
		{"another status", true, false, "map[Events:0 Pod:10 Pods:0 Status:10]"},
		{"another status without PodLister", true, true, "map[Events:0 Pod:0 Pods:10 Status:10]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup{stream: true, listless: tt.listless}.run(t, func(w *world) {
				if tt.distrust {
					w.gen.DistrustStatuses()
				}
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
				for _, kind := range []string{"Pods", "Pod", "Status", "Events"} {
					calls[kind] -= before[kind]
				}
				equal(t, "calls for ten events", fmt.Sprint(calls), tt.want)
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

// A step without an event counts as missed once, when a full relist finds it, or after
// the full relist that follows a relist of the pod.
func TestMissedStepIsCountedOnce(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		w.rt.Exit("p", "a")
		w.pass(time.Second)
		w.shows("a:running")
		w.gen.Relist(w.ctx)
		w.shows("a:exited")
		s := w.gen.Stats()
		equal(t, "Transitions", s.Transitions, 1)
		equal(t, "MissedEvents", s.MissedEvents, 1)
		w.rt.Remove("p", "a")
		w.up("b")
		w.gen.RequestRelist("p")
		w.shows("b:running")
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 1)
		w.pass(5 * time.Second)
		w.gen.Relist(w.ctx)
		s = w.gen.Stats()
		equal(t, "Transitions", s.Transitions, 3)
		equal(t, "MissedEvents", s.MissedEvents, 3)
	})
	setup{}.run(t, func(w *world) { // no stream: nothing to miss
		w.start()
		w.up("a")
		w.pass(5 * time.Second)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
	})
}
