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

// A key without an inspection is not a pod without containers. A wait for it waits, and Get
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
		if e, err := w.wait("p", 3*time.Second); err != nil || e.Status.Version != 3 {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// The timestamps of events make no status stale and block no pod, whether they are in
// seconds, missing, or of a clock that was set back by an hour or a day.
// (kubernetes#127814, kubernetes#134153)
func TestEventWithAnyStampAsksForAnInspection(t *testing.T) {
	for name, stamp := range map[string]func() time.Time{
		"now":      time.Now,
		"none":     func() time.Time { return time.Time{} },
		"seconds":  func() time.Time { return time.Unix(0, time.Now().Unix()) },
		"tomorrow": func() time.Time { return time.Now().AddDate(0, 0, 1) },
		"hour ago": func() time.Time { return time.Now().Add(-time.Hour - 1) },
		"2200":     func() time.Time { return time.Now().AddDate(174, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			scripted(t, func(w *world, s *script) {
				before := w.gen.Stats()
				for i, step := range []struct {
					do    func(pod, container string) bool
					kind  pleg.RuntimeEventType
					shows string
				}{
					{w.rt.Create, pleg.RuntimeEventCreated, "a:created"},
					{w.rt.Start, pleg.RuntimeEventStarted, "a:running"},
					{w.rt.Exit, pleg.RuntimeEventStopped, "a:exited"},
					{w.rt.Remove, pleg.RuntimeEventDeleted, "gone"},
				} {
					step.do("p", "a")
					e := event("a", step.kind)
					e.At = stamp()
					s.handle(e)
					w.shows(step.shows)
					equal(t, "inspections", w.count("Pod"), i+1)
					w.pass(time.Second)
				}
				equal(t, "StaleAnswers", w.gen.Stats().StaleAnswers, before.StaleAnswers)
			})
		})
	}
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

// An event writes nothing, whatever it says. Only answers do.
func TestEventsAreNotBelieved(t *testing.T) {
	slowCalls.scripted(t, func(w *world, s *script) {
		read := w.read(0)
		w.up("a")
		w.up("b")
		w.relist()
		w.shows("a:running b:running")
		_, exits := w.follow(pleg.ExitOptions[string]{})
		for _, e := range []pleg.RuntimeEvent[string]{
			event("a", pleg.RuntimeEventStopped),
			event("b", pleg.RuntimeEventDeleted),
			event("z", pleg.RuntimeEventStarted),
		} {
			e.Exit = &pleg.ExitDetails{Code: 9}
			s.handle(e)
			w.shows("a:running b:running")
			w.pass(10 * time.Second)
		}
		w.relist()
		w.rt.ExitCode("p", "a", 3)
		w.rt.Remove("p", "b")
		w.relist()
		w.shows("a:exited")
		equal(t, "exits", exits(), "b:inferred a:shown 3") // the events' exits were lies
		equal(t, "events", read(), "p:started a p:started b p:died a p:died b p:removed b")
	})
}

// A late event brings nothing back.
func TestLateEventBringsNothingBack(t *testing.T) {
	slowCalls.scripted(t, func(w *world, s *script) {
		w.up("a")
		w.up("b")
		w.relist()
		w.rt.Remove("p", "a")
		w.relist()
		w.shows("b:running")
		s.handle(event("a", pleg.RuntimeEventStarted))
		w.pass(10 * time.Second)
		w.shows("b:running")
		w.rt.Remove("p", "b")
		w.relist()
		w.shows("gone")
		s.handle(event("b", pleg.RuntimeEventStarted))
		w.pass(10 * time.Second)
		w.shows("gone")
		w.relist()
		equal(t, "UnseenContainers", w.gen.Stats().UnseenContainers, 0)
	})
}

// without drops a word.
func without(words, word string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(words, word, "")), " ")
}

// Events replayed to a new subscription bring nothing back and are not reported.
// (containerd)
func TestReplayBringsNothingBack(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Replay: 1}}.run(t, func(w *world) {
		w.start()
		read := w.read(0)
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
		read := w.read(0)
		w.pass(10 * time.Second)
		w.all.Go(func() { w.rt.Restart(5 * time.Second) })
		w.pass(time.Second)
		w.rt.Exit("p", "a")
		w.pass(5 * time.Second)
		w.shows("a:exited")
		equal(t, "events", read(), "p:sync p:died a")
	})
}

// A runtime that restarts may answer with an empty list. Nothing has ended, and nothing
// would be started twice, because a second answer is needed.
func TestEmptyListEndsNothing(t *testing.T) {
	for _, stream := range []bool{false, true} {
		setup{stream: stream}.run(t, func(w *world) {
			empty := false
			rt := &scene{recorder: w.rt}
			rt.pods = func() ([]pleg.Pod[string], error) {
				if empty {
					return nil, nil
				}
				return w.rt.Pods(w.ctx)
			}
			w.replace(rt, stream)
			w.up("a")
			w.up("b")
			r, exits := w.follow(pleg.ExitOptions[string]{})
			read := w.read(0)
			w.start()
			r.Expect("p", pleg.Container{ID: "a"})
			w.pass(5 * time.Second)
			for range 3 {
				empty = true
				w.relist()
				w.shows("a:running b:running")
				empty = false
				w.relist()
			}
			w.rt.Remove("p", "b")
			w.relist()
			equal(t, "exits", exits(), "b:inferred")
			equal(t, "events", read(), "p:started a p:started b p:died b p:removed b")
		})
	}
}

// If a removed container is shown again, the cache follows and its exit is not repeated.
func TestContainerThatComesBackDoesNotEndTwice(t *testing.T) {
	setup{}.run(t, func(w *world) {
		var shown []pleg.Container
		rt := &scene{recorder: w.rt}
		rt.pods = func() ([]pleg.Pod[string], error) { return []pleg.Pod[string]{pod("p", shown...)}, nil }
		rt.pod = func(string) (pleg.Pod[string], *plegtest.Status, error) {
			return pod("p", shown...), &plegtest.Status{Listed: shown}, nil
		}
		w.replace(rt, false)
		_, exits := w.follow(pleg.ExitOptions[string]{})
		read := w.read(0)
		running, exited, other := pleg.Container{ID: "a", State: pleg.StateRunning}, pleg.Container{ID: "a", State: pleg.StateExited}, pleg.Container{ID: "b"}
		for _, step := range []struct {
			shown []pleg.Container
			shows string
		}{
			{[]pleg.Container{running, other}, "a:running b:unknown"},
			{[]pleg.Container{other}, "b:unknown"},
			{[]pleg.Container{other}, "b:unknown"},
			{[]pleg.Container{running, other}, "a:running b:unknown"},
			{[]pleg.Container{exited, other}, "a:exited b:unknown"},
			{[]pleg.Container{other}, "b:unknown"},
			{[]pleg.Container{exited, other}, "a:exited b:unknown"},
		} {
			shown = step.shown
			w.relist()
			w.shows(step.shows)
			w.pass(time.Second)
		}
		equal(t, "exits", exits(), "a:inferred")
		equal(t, "events", read(), "p:started a p:changed b p:died a p:removed a p:changed a p:changed a p:changed a p:changed a")
	})
}

// One answer with old contents is asked for again. If that does not help, the pod has an
// error until the answers are right.
func TestOldAnswerBringsNothingBack(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		rt := &scene{recorder: w.rt}
		old, left, hold := (*plegtest.Status)(nil), 0, make(chan struct{})
		close(hold)
		rt.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
			if left > 0 {
				left--
				return pod("p", old.Listed...), old, nil
			}
			<-hold
			return w.rt.Pod(w.ctx, id)
		}
		w.replace(rt, false)
		w.relist()
		old = w.rt.Truth()["p"]
		w.rt.Exit("p", "a")
		w.relist()
		w.start()
		for times, want := range []string{"a:exited", "a:exited", "a:exited pleg: Pod(p): the answer is older than another one"} {
			left = times
			w.gen.RequestRelist("p")
			w.shows(want)
			w.pass(20 * time.Second)
			w.shows("a:exited")
		}
		equal(t, "StaleAnswers", w.gen.Stats().StaleAnswers, 3)
		w.up("b")
		left, hold = 1, make(chan struct{})
		done := make(chan error, 1)
		go func() { done <- w.gen.Relist(w.ctx) }()
		w.pass(time.Second)
		equal(t, "Relists that do not wait for the second inspection", len(done), 0)
		close(hold)
		equal(t, "error", <-done, nil)
		w.shows("a:exited b:running")
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
			w.make(w.rt, pleg.GeneratorOptions[string]{Stream: &sluggish{recorder: w.rt, takes: tt.takes, says: tt.says}})
			w.up("a")
			w.start()
			w.shows("a:running")
			w.pass(tt.takes - time.Microsecond)
			w.rt.Exit("p", "a")
			w.pass(tt.found - tt.takes + time.Microsecond)
			w.shows("a:exited")
			w.pass(time.Second)
			equal(t, "streaming", w.gen.Stats().Streaming, true)
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

func (s *sluggish) Events(ctx context.Context, handle events) error {
	time.Sleep(s.takes)
	if s.says {
		handle(pleg.RuntimeEvent[string]{})
	}
	return s.recorder.Events(ctx, handle)
}
