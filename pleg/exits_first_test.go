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

// A reader yields exits after its creation, even if the first list shows them. An exit
// without Finished counts as earlier.
func TestFirstListReportsExitsSinceReaderCreation(t *testing.T) {
	for _, tt := range []struct {
		name     string
		finished func(made time.Time) time.Time
		exits    string
	}{
		{"after", func(made time.Time) time.Time { return made.Add(time.Millisecond) }, "a:shown 7"},
		{"at once", func(made time.Time) time.Time { return made }, "a:shown 7"},
		{"a moment before", func(made time.Time) time.Time { return made.Add(-1) }, ""},
		{"an hour before", func(made time.Time) time.Time { return made.Add(-time.Hour) }, ""},
		{"years before", func(made time.Time) time.Time { return time.Unix(1, 1) }, ""},
		{"in the same second, in seconds", func(made time.Time) time.Time { return made.Truncate(time.Second) }, "a:shown 7"},
		{"in the second before, in seconds", func(made time.Time) time.Time { return made.Truncate(time.Second).Add(-time.Second) }, ""},
		{"ahead of the clock", func(made time.Time) time.Time { return made.Add(time.Hour) }, "a:shown 7"},
		{"without a time", func(time.Time) time.Time { return time.Time{} }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				w.pass(1500 * time.Millisecond)
				w.up("a")
				w.rt.ExitWith("p", "a", pleg.ExitDetails{Code: 7, Finished: tt.finished(time.Now())})
				_, exits := w.follow(pleg.ExitOptions[string]{})
				_, all := w.follow(pleg.ExitOptions[string]{IncludePast: true})
				w.pass(time.Minute)
				w.gen.Relist(w.ctx)
				equal(t, "exits", exits(), tt.exits)
				equal(t, "exits with those of before", all(), "a:shown 7")
				w.rt.Remove("p", "a")
				w.gen.Relist(w.ctx)
				w.gen.Relist(w.ctx)
				equal(t, "exits once it is removed", exits()+all(), "")
			})
		})
	}
}

// Only the first list can show exits from before the reader. In later lists, an unknown
// exited container has ended since, regardless of its times.
func TestOnlyFirstListShowsEarlierExits(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.pass(time.Second)
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.gen.Relist(w.ctx)
		long := pleg.ExitDetails{Code: 7, Finished: time.Now().Add(-time.Hour)}
		w.rt.ExitWith("p", "a", long)
		w.up("b")
		w.rt.ExitWith("p", "b", long)
		w.pass(time.Second)
		w.gen.Relist(w.ctx)
		equal(t, "exits", exits(), "a:shown 7 b:shown 7")
	})
}

// slowLists is a runtime that takes a minute to list everything.
type slowLists struct{ *recorder }

func (s *slowLists) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	list, err := s.recorder.Pods(ctx)
	time.Sleep(time.Minute)
	return list, err
}

// Inspections wait for the first list, so that an event during it cannot make a
// container appear new. Ends in between are reported.
func TestEventsBeforeTheFirstListWaitForIt(t *testing.T) {
	setup{}.run(t, func(w *world) {
		s := &script{recorder: w.rt}
		w.make(&slowLists{w.rt}, pleg.GeneratorOptions[string]{Stream: s})
		w.up("was")
		w.rt.Exit("p", "was")
		w.pass(1500 * time.Millisecond)
		w.up("a")
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.pass(time.Second)
		w.rt.ExitCode("p", "a", 7)
		s.handle(event("was", pleg.RuntimeEventStopped)) // replayed
		s.handle(event("a", pleg.RuntimeEventStopped))
		w.pass(time.Second)
		equal(t, "inspections before the list", w.count("Pod"), 0)
		w.pass(2 * time.Minute)
		equal(t, "exits", exits(), "a:shown 7")
	})
}

// The list shows a container exited, and an event reports its removal while the list is
// under way. The answer counts, although the inspection after it does not show the container.
func TestExitInAnOvertakenList(t *testing.T) {
	for _, resumed := range []bool{true, false} {
		setup{}.run(t, func(w *world) {
			s := &script{recorder: w.rt}
			w.make(&slowLists{w.rt}, pleg.GeneratorOptions[string]{Stream: s})
			var o pleg.ExitOptions[string]
			if resumed {
				o.Resume = position(t, `{"baseline": true}`)
			} else {
				w.pass(time.Second)
			}
			_, exits := w.follow(o)
			w.pass(100 * time.Millisecond)
			w.up("d")
			w.up("c")
			w.rt.ExitCode("p", "c", 7)
			w.start()
			w.pass(100 * time.Millisecond)
			w.rt.Remove("p", "c")
			s.handle(event("c", pleg.RuntimeEventDeleted))
			w.pass(10 * time.Minute)
			equal(t, "exits", exits(), "c:shown 7")
		})
	}
}

// Readers of exits learn of containers from the answer to a cancelled call.
func TestAnswerToCancelledCallShowsContainers(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.replace(&lateAnswers{recorder: w.rt}, false)
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.relist()
		w.up("a")
		ctx, cancel := context.WithCancel(w.ctx)
		ended := make(chan error, 1)
		go func() { ended <- w.gen.Run(ctx) }()
		w.gen.RequestRelist("p")
		w.pass(time.Millisecond)
		cancel() // the inspection answers now
		<-ended
		w.rt.Remove("p", "a")
		w.start()
		w.pass(time.Minute)
		equal(t, "exits", exits(), "a:inferred")
	})
}

// lateAnswers is a runtime whose first inspection answers once it is cancelled.
type lateAnswers struct {
	*recorder
	inspected bool
}

func (l *lateAnswers) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	if !l.inspected {
		l.inspected = true
		<-ctx.Done()
		ctx = context.WithoutCancel(ctx)
	}
	return l.recorder.Pod(ctx, id)
}

// A runtime like CRI, whose lists have no exits. If the inspections fail at first, an exit
// that came after the reader was made, but before the first list, is yielded once an
// inspection shows it.
func TestExitBeforeTheFirstListWhileInspectionsFail(t *testing.T) {
	setup{}.run(t, func(w *world) {
		var failing atomic.Bool
		failing.Store(true)
		rt := &scene{recorder: w.rt}
		rt.pods = func() ([]pleg.Pod[string], error) {
			pods, err := w.rt.Pods(w.ctx)
			for i := range pods {
				for k := range pods[i].Containers {
					pods[i].Containers[k].Exit = nil
				}
			}
			return pods, err
		}
		rt.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
			if failing.Load() {
				return pleg.Pod[string]{}, nil, errors.New("not yet")
			}
			return w.rt.Pod(w.ctx, id)
		}
		w.replace(rt, false)
		w.up("old")
		w.rt.ExitCode("p", "old", 1)
		w.pass(time.Minute)
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.pass(time.Minute)
		w.up("new")
		w.rt.ExitCode("p", "new", 2)
		w.start()
		w.pass(20 * time.Second)
		equal(t, "exits while inspections fail", exits(), "")
		failing.Store(false)
		w.pass(time.Minute)
		equal(t, "exits", exits(), "new:shown 2")
	})
}
