package pleg_test

import (
	"context"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// A reader yields exits after its creation, even if the first list shows them. An exit
// without Finished counts as such.
func TestFirstListReportsExitsSinceReaderCreation(t *testing.T) {
	for _, tt := range []struct {
		name     string
		finished func(made time.Time) time.Time
		exits    string
	}{
		{"after", func(made time.Time) time.Time { return made.Add(time.Millisecond) }, "a:relist 7"},
		{"at once", func(made time.Time) time.Time { return made }, "a:relist 7"},
		{"a moment before", func(made time.Time) time.Time { return made.Add(-1) }, ""},
		{"an hour before", func(made time.Time) time.Time { return made.Add(-time.Hour) }, ""},
		{"years before", func(made time.Time) time.Time { return time.Unix(1, 1) }, ""},
		{"in the same second, in seconds", func(made time.Time) time.Time { return made.Truncate(time.Second) }, "a:relist 7"},
		{"in the second before, in seconds", func(made time.Time) time.Time { return made.Truncate(time.Second).Add(-time.Second) }, ""},
		{"ahead of the clock", func(made time.Time) time.Time { return made.Add(time.Hour) }, "a:relist 7"},
		{"without a time", func(time.Time) time.Time { return time.Time{} }, "a:relist 7"},
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
				equal(t, "exits with those of before", all(), "a:relist 7")
				w.rt.Remove("p", "a")
				w.gen.Relist(w.ctx)
				w.gen.Relist(w.ctx)
				equal(t, "exits once it is gone", exits()+all(), "")
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
		equal(t, "exits", exits(), "a:relist 7 b:relist 7")
	})
	setup{}.run(t, func(w *world) { // one pod is looked at again before the first list has ended
		rt := &slowLists{recorder: w.rt}
		w.replace(rt, false)
		w.up("a")
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.gen.RequestRelist("p")
		w.pass(time.Second)
		w.rt.ExitWith("p", "a", pleg.ExitDetails{Code: 7, Finished: time.Now().Add(-time.Hour)})
		w.gen.RequestRelist("p")
		w.pass(time.Second)
		equal(t, "exits", exits(), "a:relist 7")
	})
}

// slowLists is a runtime that takes a minute to list everything.
type slowLists struct{ *recorder }

func (s *slowLists) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	list, err := s.recorder.Pods(ctx)
	time.Sleep(time.Minute)
	return list, err
}

// Events during the first list report exits, except of containers gone by then that
// ended before the reader's creation.
func TestEventsBeforeFirstListReportExits(t *testing.T) {
	setup{}.run(t, func(w *world) {
		s := &script{recorder: w.rt}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](&slowLists{w.rt}, s, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.gen = gen
		w.pass(1500 * time.Millisecond)
		old := &plegtest.Status{
			Listed: []pleg.Container{{ID: "old", State: pleg.StateExited}},
			Ended:  map[string]pleg.ExitDetails{"old": {Code: 1, Finished: time.Now().Add(-1)}},
		}
		w.up("was")
		w.rt.Exit("p", "was")
		w.pass(time.Millisecond)
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.pass(time.Second)
		s.handle(event("old", pleg.RuntimeEventStopped, time.Now(), old)) // these two are replayed
		s.handle(event("was", pleg.RuntimeEventStopped, time.Now(), nil))
		w.up("a")
		s.handle(event("a", pleg.RuntimeEventStarted, time.Now(), w.rt.Truth()["p"]))
		w.pass(0) // so that no look finds the exit before its event
		w.rt.ExitCode("p", "a", 7)
		s.handle(event("a", pleg.RuntimeEventStopped, time.Now(), w.rt.Truth()["p"]))
		w.pass(2 * time.Minute)
		equal(t, "exits", exits(), "a:event 7")
	})
}

// Readers of exits learn of containers from the answer to a cancelled call.
func TestAnswerToCancelledCallShowsContainers(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.replace(&lateAnswers{recorder: w.rt}, false)
		w.up("a")
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.gen.RequestRelist("p")
		if err := w.gen.Relist(w.ctx); err == nil {
			t.Fatal("the list has not failed")
		}
		w.rt.Remove("p", "a")
		w.start()
		w.pass(time.Minute)
		equal(t, "exits", exits(), "a:inferred")
	})
}

// lateAnswers is a runtime that fails the first list and answers the first call of Pod
// once it is cancelled.
type lateAnswers struct {
	*recorder
	listed, looked bool
}

func (l *lateAnswers) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	if !l.listed {
		l.listed = true
		return nil, plegtest.ErrInjected
	}
	return l.recorder.Pods(ctx)
}

func (l *lateAnswers) Pod(ctx context.Context, id string) (pleg.Pod[string], error) {
	if !l.looked {
		l.looked = true
		<-ctx.Done()
		ctx = context.WithoutCancel(ctx)
	}
	return l.recorder.Pod(ctx, id)
}
