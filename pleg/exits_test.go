package pleg_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// follow makes a reader of exits. The function it returns takes the pending exits, as
// in "a:shown 3 b:inferred c:shown ?", where ? is an unknown code.
func (w *world) follow(o pleg.ExitOptions[string]) (*pleg.ExitReader[string], func() string) {
	w.Helper()
	r, err := w.gen.ExitReader(o)
	if err != nil {
		w.Fatal(err)
	}
	return r, func() string {
		synctest.Wait()
		return taken(r)
	}
}

// taken takes and prints the pending exits.
func taken(r *pleg.ExitReader[string]) string {
	var b strings.Builder
	for e, ok := r.TryNext(); ok; e, ok = r.TryNext() {
		fmt.Fprintf(&b, " %s:%s", e.Container, e.Source)
		switch {
		case e.Known:
			fmt.Fprintf(&b, " %d", e.Details.Code)
		case e.Source != pleg.ExitInferred:
			b.WriteString(" ?")
		}
		if e.Lost > 0 {
			fmt.Fprintf(&b, " (%d lost)", e.Lost)
		}
	}
	return strings.TrimSpace(b.String())
}

// failing is the common part of a test and a world.
type failing interface {
	Helper()
	Errorf(string, ...any)
	Fatal(...any)
}

// stored takes a position to JSON and back.
func stored(t failing, p pleg.ExitPosition[string]) *pleg.ExitPosition[string] {
	t.Helper()
	back := position(t, string(marshal(t, p)))
	if diff := cmp.Diff(sortedPods(p), sortedPods(*back)); diff != "" {
		t.Errorf("a position is another one when it comes back from JSON:\n%s", diff)
	}
	return back
}

// sortedPods returns p with its pods in order.
func sortedPods(p pleg.ExitPosition[string]) pleg.ExitPosition[string] {
	p.Pods = slices.Clone(p.Pods)
	slices.SortFunc(p.Pods, func(a, b pleg.PodPosition[string]) int { return strings.Compare(a.Pod, b.Pod) })
	return p
}

func marshal(t failing, p pleg.ExitPosition[string]) []byte {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// position reads a position.
func position(t failing, text string) *pleg.ExitPosition[string] {
	t.Helper()
	var p pleg.ExitPosition[string]
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// Each step is at its own instant, from t0 on. The exits are those of a reader from
// before t0 that never falls behind.
func TestExitsAreYieldedOnce(t *testing.T) {
	type step struct {
		do    func(w *world)
		exits string
	}
	relist := func(w *world) { w.gen.Relist(w.ctx) }
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"seen by a relist, with its code", []step{
			{func(w *world) { w.up("a"); relist(w) }, ""},
			{func(w *world) { w.rt.ExitCode("p", "a", 3) }, ""},
			{relist, "a:shown 3"},
			{relist, ""},
			{func(w *world) { w.rt.Remove("p", "a"); relist(w) }, ""},
			{func(w *world) { relist(w); relist(w) }, ""},
		}},
		{"removed between two inspections", []step{
			{func(w *world) { w.up("a"); w.up("b"); relist(w) }, ""},
			{func(w *world) { w.rt.ExitCode("p", "a", 3); w.rt.Remove("p", "a"); relist(w) }, "a:inferred"},
			{func(w *world) { w.rt.Remove("p", "b"); relist(w) }, "b:inferred"},
			{relist, ""},
		}},
		{"created and removed between two inspections", []step{
			{relist, ""},
			{func(w *world) { w.up("a"); w.rt.Exit("p", "a"); w.rt.Remove("p", "a"); relist(w) }, ""},
		}},
		{"begun and over between two inspections", []step{
			{relist, ""},
			{func(w *world) { w.up("a"); w.rt.ExitCode("p", "a", 2); relist(w) }, "a:shown 2"},
		}},
		{"over in the first answer, but not when the reader was made", []step{
			{func(w *world) { w.up("a"); w.rt.Exit("p", "a"); w.up("b"); relist(w) }, "a:shown 0"},
			{func(w *world) { w.rt.Exit("p", "b"); relist(w) }, "b:shown 0"},
			{func(w *world) { w.rt.Remove("p", "a"); relist(w) }, ""},
		}},
		{"several at once, in the order in which they finished", []step{
			{func(w *world) { w.up("a"); w.up("b"); w.up("c"); w.up("d"); relist(w) }, ""},
			{func(w *world) {
				w.rt.ExitCode("p", "c", 1)
				w.pass(time.Second)
				w.rt.ExitCode("p", "a", 2)
				w.rt.ExitCode("p", "b", 3)
				w.rt.ExitWith("p", "d", pleg.ExitDetails{Code: 4})
				relist(w)
			}, "d:shown 4 c:shown 1 a:shown 2 b:shown 3"},
		}},
		{"while the runtime is down", []step{
			{func(w *world) { w.up("a"); relist(w) }, ""},
			{func(w *world) {
				w.all.Go(func() { w.rt.Restart(time.Second) })
				w.pass(time.Millisecond)
				w.rt.ExitCode("p", "a", 9)
				relist(w)
			}, ""},
			{func(w *world) { w.pass(time.Second); relist(w) }, "a:shown 9"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				_, exits := w.follow(pleg.ExitOptions[string]{})
				for i, s := range tt.steps {
					s.do(w)
					equal(t, fmt.Sprintf("exits at t%d", i), exits(), s.exits)
					w.pass(time.Second)
				}
			})
		})
	}
}

// Repeated and replayed events repeat no exit.
func TestEventsReportExitsOnce(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Replay: 1, Duplicate: 1}}.run(t, func(w *world) {
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.pass(5 * time.Second)
		w.up("a")
		w.up("b")
		w.pass(5 * time.Second)
		w.rt.ExitCode("p", "a", 3)
		w.pass(5 * time.Second)
		equal(t, "exits", exits(), "a:shown 3")
		w.rt.Remove("p", "a")
		w.rt.ExitCode("p", "b", 4)
		w.rt.Remove("p", "b")
		w.pass(10 * time.Second)
		equal(t, "exits", exits(), "b:event 4")
		for range 3 {
			w.rt.Disconnect()
			w.pass(time.Minute)
		}
		equal(t, "exits after replays", exits(), "")
	})
}

// An event's exit is used for a container that an answer has shown alive or a reader
// expects, and that an answer shows ended without its exit or no longer shows. A later
// answer that shows the container alive proves it wrong.
func TestExitOfAnEventIsUsedAtLast(t *testing.T) {
	reported := event("a", pleg.RuntimeEventStopped)
	reported.Exit = &pleg.ExitDetails{Code: 7}
	for _, tt := range []struct {
		name  string
		do    func(w *world, s *script, r *pleg.ExitReader[string])
		exits string
	}{
		{"a live container that is removed", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			w.rt.Exit("p", "a")
			w.rt.Remove("p", "a")
			s.handle(reported)
		}, "a:event 7"},
		{"an expected one that is removed", func(w *world, s *script, r *pleg.ExitReader[string]) {
			r.Expect("p", pleg.Container{ID: "a"})
			s.handle(reported)
			w.pass(time.Second)
			w.relist()
		}, "a:event 7"},
		{"one that the answer shows without its exit", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			w.rt.ExitWith("p", "a", pleg.ExitDetails{Code: 3})
			s.handle(reported)
		}, "a:shown 3"},
		{"an unknown one", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			s.handle(reported)
		}, ""},
		{"one that a later answer shows alive", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			s.handle(reported)
			w.pass(time.Second)
			w.rt.Remove("p", "a")
			w.relist()
		}, "a:inferred"},
		{"one that a later answer shows in an unknown state", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			s.inspection = func() []pleg.Container { return []pleg.Container{{ID: "keep"}, {ID: "a"}} }
			s.handle(reported)
			w.pass(time.Second)
			s.inspection = nil
			w.rt.Remove("p", "a")
			w.relist()
		}, "a:event 7"},
		{"one whose state is always unknown", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			s.list = func() []pleg.Container { return []pleg.Container{{ID: "keep"}, {ID: "a"}} }
			s.inspection = s.list
			w.relist()
			s.handle(reported)
			w.pass(time.Second)
			s.list, s.inspection = nil, nil
			w.rt.Remove("p", "a")
			w.relist()
		}, "a:event 7"},
		{"one that a later answer with old contents shows alive", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			s.inspection = func() []pleg.Container { return []pleg.Container{{ID: "keep"}, {ID: "a", State: pleg.StateCreated}} }
			s.handle(reported)
			w.pass(10 * time.Millisecond)
			s.inspection = nil
			w.rt.Remove("p", "a")
			w.relist()
		}, "a:event 7"},
		{"reported by an event of undefined type", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			w.rt.Remove("p", "a")
			strange := reported
			strange.Type = 99
			s.handle(strange)
		}, "a:event 7"},
		{"reported by an event of the zero type", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			w.rt.Remove("p", "a")
			strange := reported
			strange.Type = pleg.RuntimeEventUnknown
			s.handle(strange)
		}, "a:event 7"},
		{"one that has been reported", func(w *world, s *script, _ *pleg.ExitReader[string]) {
			w.up("a")
			w.relist()
			w.rt.ExitCode("p", "a", 3)
			w.relist()
			s.handle(reported)
			w.rt.Remove("p", "a")
			w.relist()
			s.handle(reported)
		}, "a:shown 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scripted(t, func(w *world, s *script) {
				r, exits := w.follow(pleg.ExitOptions[string]{})
				w.rt.Create("p", "keep")
				w.relist()
				tt.do(w, s, r)
				w.pass(10 * time.Minute)
				equal(t, "exits", exits(), tt.exits)
				equal(t, "what events named", w.gen.Stats().Retained <= 1, true)
			})
		})
	}
	setup{}.run(t, func(w *world) { // a runtime without exits
		l := newListing(w)
		x := &script{recorder: w.rt}
		w.make(l, pleg.GeneratorOptions[string]{Stream: x})
		l.list = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateRunning, Name: "main", Attempt: 2})}
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.pass(10 * time.Second)
		l.list = []pleg.Pod[string]{pod("p", pleg.Container{ID: "a", State: pleg.StateExited, Name: "main", Attempt: 2})}
		x.handle(reported)
		w.pass(time.Second)
		want := pleg.Exit[string]{Pod: "p", Container: "a", Source: pleg.ExitShown, Known: true, Details: pleg.ExitDetails{Name: "main", Attempt: 2, Code: 7}}
		if e, ok := r.TryNext(); !ok || e != want {
			t.Errorf("%+v, want %+v", e, want)
		}
	})
}

// An exit in a full list comes with the next inspection, or after the second failure.
func TestFailingInspectionsHoldBackNoExit(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt}
		w.replace(rt, false)
		w.up("a")
		w.up("b")
		_, exits := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.pass(500 * time.Millisecond)
		rt.fail(errors.New("no status today"))
		w.rt.ExitCode("p", "a", 3)
		w.rt.Remove("p", "b")
		w.pass(time.Second)
		equal(t, "exits after one failure", exits(), "")
		w.pass(time.Second)
		equal(t, "exits after two", exits(), "a:shown 3") // b needs a second answer
		w.rt.Remove("p", "a")
		rt.fail(nil)
		w.pass(10 * time.Second)
		equal(t, "exits", exits(), "b:inferred")
	})
}

// Details are passed on unchanged even if they make no sense.
func TestExitDetailsArePassedOnUnchanged(t *testing.T) {
	setup{}.run(t, func(w *world) {
		details := map[string]pleg.ExitDetails{
			"no-time":    {Name: "app", Code: 1, Reason: "Error"},
			"the-future": {Name: "app", Code: 2, Reason: "Error", Started: time.Now(), Finished: time.Now().Add(time.Hour).Round(0)},
			"oom":        {Name: "app", Attempt: 4, Code: 0, Reason: "OOMKilled", Started: time.Now().Round(0), Finished: time.Now().Round(0)},
			"negative":   {Name: "app", Code: -1},
		}
		r, _ := w.follow(pleg.ExitOptions[string]{})
		for id := range details {
			w.up(id)
		}
		w.gen.Relist(w.ctx)
		for id, d := range details {
			w.rt.ExitWith("p", id, d)
		}
		w.pass(time.Second)
		w.gen.Relist(w.ctx)
		for e, ok := r.TryNext(); ok; e, ok = r.TryNext() {
			want := pleg.Exit[string]{Pod: "p", Container: e.Container, Source: pleg.ExitShown, Known: true, Details: details[e.Container]}
			if e != want {
				t.Errorf("exit %+v, want %+v", e, want)
			}
			delete(details, e.Container)
		}
		equal(t, "exits that were not reported", len(details), 0)
	})
}

// A time that JSON cannot hold does not make the position unwritable.
func TestExitTimesOutsideTheYearsOfJSON(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.relist()
		w.rt.ExitWith("p", "a", pleg.ExitDetails{Code: 3, Started: time.Time{}.AddDate(-2, 0, 0), Finished: time.Now().AddDate(9000, 0, 0)})
		w.relist()
		if due := stored(t, r.Position()).Due; len(due) != 1 || due[0].Details != (pleg.ExitDetails{Code: 3}) {
			t.Errorf("%+v", due)
		}
	})
}
