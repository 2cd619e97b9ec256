package pleg_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// Here stand the defects that event generators of this kind are known for, one
// test each; each fails on an implementation that has the defect.

// script is a Streamer whose events the test sends by hand, over the truth of a
// fake runtime whose own events are lost.
type script struct {
	*recorder
	handle func(pleg.RuntimeEvent[string, *plegtest.Status])
}

func (s *script) Events(ctx context.Context, handle func(pleg.RuntimeEvent[string, *plegtest.Status])) error {
	s.handle = handle
	<-ctx.Done()
	return ctx.Err()
}

// scripted runs body over a generator that gets the events of a script.
func scripted(t *testing.T, body func(w *world, s *script)) {
	t.Helper()
	setup{}.scripted(t, body)
}

func (s setup) scripted(t *testing.T, body func(w *world, s *script)) {
	t.Helper()
	s.run(t, func(w *world) {
		s := &script{recorder: w.rt}
		gen, err := pleg.NewGenerator(w.rt, s, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.gen = gen
		w.all.Go(func() { w.rt.Watch(w.ctx, "watcher", w.cache, 0) })
		w.start()
		w.read("listener", 0)
		w.pass(10 * time.Second)
		body(w, s)
	})
}

// event makes an event of pod p that shows containers in states.
func event(container string, kind pleg.RuntimeEventType, at time.Time, shows *plegtest.Status) pleg.RuntimeEvent[string, *plegtest.Status] {
	e := pleg.RuntimeEvent[string, *plegtest.Status]{Pod: "p", Container: container, Type: kind, At: at}
	if shows != nil {
		e.Seen = &pleg.PodSnapshot[string, *plegtest.Status]{Pod: pleg.Pod[string]{ID: "p", Containers: shows.Listed}, Status: shows}
	}
	return e
}

// A key without a look is not a pod without containers. A wait for it waits, and Get
// returns an unknown entry. (kubernetes#120941: a miss answered as "no containers", so
// static pods failed to start)
func TestUnknownKeyIsNotAbsent(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		if e := w.cache.Get("p"); e.Present || !e.Modified.IsZero() {
			t.Errorf("before any list: %+v", e)
		}
		begin := time.Now()
		done := make(chan entry, 1)
		w.all.Go(func() {
			e, _ := w.cache.GetNewerThan(w.ctx, "p", begin)
			done <- e
		})
		w.pass(time.Second)
		w.up("a")
		w.start()
		if e := <-done; !e.Present || e.Status.Version != 2 {
			t.Errorf("the wait returned %+v", e)
		}
	})
}

// A wait for a pod ends soon even if the event never arrives. (kubernetes#124704: pod
// workers stuck at GetNewerThan)
func TestWaitEndsWithoutItsEvent(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		w.rt.Exit("p", "a")
		begin := time.Now()
		e, err := w.rt.Wait(w.ctx, w.cache, "p", 2*time.Second)
		if err != nil || e.Status.Version != 3 || time.Since(begin) > 3*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(begin), e, err)
		}
	})
}

// Timestamps in seconds instead of nanoseconds make no status stale.
// (kubernetes#127814)
func TestStampsInSecondsMakeNoStatusStale(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Seconds: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(10 * time.Second)
		w.up("a")
		w.shows("a:running")
		w.pass(time.Second)
		w.rt.Exit("p", "a")
		w.shows("a:exited")
		if n := w.gen.Stats().EventLatency.Count(); n != 0 {
			t.Errorf("%d latencies of stamps of 1970", n)
		}
	})
}

// Setting the clock back by an hour or a day blocks no pod, neither by timestamps from
// before the step, which are now in the future, nor by later ones. (kubernetes#134153)
func TestSteppedClockBlocksNoPod(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, 24 * time.Hour, time.Minute} {
		scripted(t, func(w *world, s *script) {
			w.up("a")
			truth := w.rt.Truth()["p"]
			s.handle(event("a", pleg.RuntimeEventStarted, time.Now().Add(step), truth)) // stamped before the step
			w.shows("a:running")
			w.pass(time.Second)
			w.rt.Exit("p", "a")
			s.handle(event("a", pleg.RuntimeEventStopped, time.Now(), w.rt.Truth()["p"]))
			w.shows("a:exited")
			w.rt.Create("p", "b")
			s.handle(event("b", pleg.RuntimeEventCreated, time.Now().Add(-step), w.rt.Truth()["p"])) // by a clock that is behind
			w.shows("a:exited b:created")
		})
	}
	setup{stream: true, faults: plegtest.Faults{Step: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(10 * time.Second)
		w.up("a")
		w.shows("a:running")
		w.rt.Exit("p", "a")
		w.shows("a:exited")
	})
}

// A slow reader loses no exit. (kubernetes#72482: a full channel lost an exit)
func TestFullChannelLosesNoExit(t *testing.T) {
	const pods = 1100 // the kubelet's channel holds 1000 events
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		w.pass(2 * time.Second)
		gate := make(chan struct{})
		heard := map[string]bool{}
		w.all.Go(func() {
			for e := range w.gen.Events(w.ctx) {
				heard[e.Pod] = heard[e.Pod] || e.Type == pleg.PodSync || e.Type == pleg.ContainerDied
				<-gate
			}
		})
		for i := range pods {
			id := fmt.Sprint("p", i)
			w.rt.Create(id, "c")
			w.rt.Start(id, "c")
			if i%100 == 0 {
				w.pass(100 * time.Millisecond)
			}
		}
		w.pass(time.Second)
		for i := range pods {
			w.rt.Exit(fmt.Sprint("p", i), "c")
		}
		w.pass(time.Second)
		close(gate)
		w.pass(time.Second)
		for i := range pods {
			if !heard[fmt.Sprint("p", i)] {
				t.Fatalf("the exit in p%d was never heard of", i)
			}
		}
	})
}

// An event may carry older contents under its newer timestamp, and even a removed
// container. (containerd: 6 of 1440 events)
func TestOlderContentsUnderANewerStampAreNotBelieved(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		read := w.read("reader", 0)
		w.up("a")
		old := w.rt.Truth()["p"]
		s.handle(event("a", pleg.RuntimeEventStarted, time.Now(), old))
		w.pass(time.Second)
		w.up("b")
		w.rt.Exit("p", "a")
		w.gen.Relist(w.ctx)
		w.shows("a:exited b:running")
		w.pass(time.Second)
		for _, stale := range []pleg.RuntimeEvent[string, *plegtest.Status]{
			event("a", pleg.RuntimeEventStopped, time.Now(), old),                                                    // shows a running, and no b
			event("b", pleg.RuntimeEventStarted, time.Now(), old),                                                    // shows no b at all
			event("z", pleg.RuntimeEventDeleted, time.Now(), &plegtest.Status{Listed: w.rt.Truth()["p"].Listed[1:]}), // shows no a
		} {
			s.handle(stale)
			w.shows("a:exited b:running")
			w.pass(time.Second)
		}
		w.rt.Remove("p", "a")
		w.gen.Relist(w.ctx)
		w.shows("b:running")
		w.pass(time.Second)
		s.handle(event("b", pleg.RuntimeEventStarted, time.Now(), &plegtest.Status{Listed: []pleg.Container{{ID: "a", State: pleg.StateExited}, {ID: "b", State: pleg.StateRunning}}}))
		w.shows("b:running")
		equal(t, "events", without(read(), "p:sync"), "p:started a p:died a p:started b p:removed a")
	})
}

// without drops a word: a spurious PodSync is harmless.
func without(words, word string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(words, word, "")), " ")
}

// Events replayed to a new subscription bring nothing back and are not reported.
// (containerd)
func TestReplayBringsNothingBack(t *testing.T) {
	for _, listless := range []bool{false, true} {
		setup{stream: true, listless: listless, faults: plegtest.Faults{Replay: 1}}.run(t, func(w *world) {
			w.start()
			w.all.Go(func() { w.rt.Watch(w.ctx, "watcher", w.cache, 0) })
			read := w.read("reader", 0)
			w.pass(5 * time.Second)
			w.up("a")
			w.pass(time.Second)
			w.rt.Exit("p", "a")
			w.pass(time.Second)
			w.rt.Remove("p", "a")
			w.pass(5 * time.Second)
			w.rt.Disconnect()
			w.pass(5 * time.Second)
			w.shows("gone")
			if got := without(read(), "p:sync"); got != "p:changed a p:started a p:died a p:removed a" && got != "p:started a p:died a p:removed a" {
				t.Errorf("events: %s", got)
			}
			if w.gen.Stats().EventsReceived <= 4 {
				t.Error("nothing was replayed")
			}
		})
	}
}

// Changes whose events are lost after a reconnect are found within RelistPeriod, not
// EventedPeriod. (containerd)
func TestLossAfterReconnectIsFoundSoon(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Lose: 1}}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		w.rt.Disconnect()
		synctest.Wait() // it is back at once, and deaf
		w.rt.Exit("p", "a")
		w.pass(2500 * time.Millisecond)
		w.shows("a:exited")
		equal(t, "streaming", w.gen.Stats().Streaming, true)
	})
}

// An exit while the runtime is down sends no event and is found once the runtime is
// back.
func TestExitWhileDownIsFound(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.up("a")
		w.start()
		read := w.read("reader", 0)
		w.pass(10 * time.Second)
		w.all.Go(func() { w.rt.Restart(5 * time.Second) })
		w.pass(time.Second)
		w.rt.Exit("p", "a")
		w.pass(5 * time.Second)
		w.shows("a:exited")
		equal(t, "events", read(), "p:sync p:died a")
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 1)
	})
}

// A write stamped before a deletion is refused. The kubelet's cache accepts it.
func TestStaleWriteAfterDeletionIsRefused(t *testing.T) {
	// Calls are slow, so that what is written in error can be seen.
	setup{faults: plegtest.Faults{Slow: 1}}.scripted(t, func(w *world, s *script) {
		w.up("a")
		w.gen.Relist(w.ctx)
		w.pass(time.Second)
		stale := event("a", pleg.RuntimeEventStarted, time.Now(), w.rt.Truth()["p"])
		w.pass(time.Second)
		w.rt.Remove("p", "a")
		s.handle(event("a", pleg.RuntimeEventDeleted, time.Now(), nil))
		w.pass(10 * time.Second)
		w.shows("gone")
		s.handle(stale)
		w.shows("gone")
		w.gen.Relist(w.ctx)
		w.pass(time.Second)
		s.handle(stale)
		w.shows("gone")
	})
}

// Changes before a subscription is up have no events, also on the first connection.
// They are found RelistPeriod after the connection, or when a slower subscription says
// that it is up.
func TestFirstConnectionLosesNothing(t *testing.T) {
	for _, tt := range []struct {
		takes time.Duration
		says  bool
		found time.Duration // after the connection, at the latest
	}{
		{time.Millisecond, false, time.Second},
		{900 * time.Millisecond, false, time.Second},
		{3 * time.Second, true, 3 * time.Second},
	} {
		setup{}.run(t, func(w *world) {
			s := &sluggish{recorder: w.rt, takes: tt.takes, says: tt.says}
			gen, err := pleg.NewGenerator(w.rt, pleg.Streamer[string, *plegtest.Status](s), w.cache, pleg.GeneratorOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w.gen = gen
			w.up("a")
			w.start()
			w.shows("a:running")
			w.pass(tt.takes - time.Microsecond)
			w.rt.Exit("p", "a")
			w.pass(tt.found - tt.takes + time.Microsecond)
			w.shows("a:exited")
			w.pass(time.Second)
			equal(t, "streaming", gen.Stats().Streaming, true)
			lists, _ := w.calls()
			w.pass(250 * time.Second)
			later, _ := w.calls()
			equal(t, "lists in 250s", later-lists, 0)
			w.up("b")
			w.shows("a:exited b:running")
		})
	}
}

// sluggish is a Streamer whose subscription takes some time, which it may announce.
// Earlier events are lost.
type sluggish struct {
	*recorder
	takes time.Duration
	says  bool
}

func (s *sluggish) Events(ctx context.Context, handle func(pleg.RuntimeEvent[string, *plegtest.Status])) error {
	time.Sleep(s.takes)
	if s.says {
		handle(pleg.RuntimeEvent[string, *plegtest.Status]{})
	}
	return s.recorder.Events(ctx, handle)
}
