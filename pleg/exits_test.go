package pleg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// follow makes a reader of exits. The function it returns takes the pending exits, as
// in "a:event 3 b:inferred c:relist ?", where ? is an unknown code.
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

// stored takes a position to JSON and back.
func stored(t failing, p pleg.ExitPosition[string]) *pleg.ExitPosition[string] {
	t.Helper()
	back := position(t, string(marshal(t, p)))
	if diff := cmp.Diff(p, *back); diff != "" {
		t.Errorf("a position is another one when it comes back from JSON:\n%s", diff)
	}
	return back
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
			{relist, "a:relist 3"},
			{relist, ""},
			{func(w *world) { w.rt.Remove("p", "a"); relist(w) }, ""},
			{func(w *world) { relist(w); relist(w) }, ""},
		}},
		{"gone between two looks", []step{
			{func(w *world) { w.up("a"); w.up("b"); relist(w) }, ""},
			{func(w *world) { w.rt.ExitCode("p", "a", 3); w.rt.Remove("p", "a"); relist(w) }, "a:inferred"},
			{func(w *world) { w.rt.Remove("p", "b"); relist(w) }, "b:inferred"},
			{relist, ""},
		}},
		{"come and gone between two looks", []step{
			{relist, ""},
			{func(w *world) { w.up("a"); w.rt.Exit("p", "a"); w.rt.Remove("p", "a"); relist(w) }, ""},
		}},
		{"begun and over between two looks", []step{
			{relist, ""},
			{func(w *world) { w.up("a"); w.rt.ExitCode("p", "a", 2); relist(w) }, "a:relist 2"},
		}},
		{"over when the Generator looked first, but not when the reader was made", []step{
			{func(w *world) { w.up("a"); w.rt.Exit("p", "a"); w.up("b"); relist(w) }, "a:relist 0"},
			{func(w *world) { w.rt.Exit("p", "b"); relist(w) }, "b:relist 0"},
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
			}, "d:relist 4 c:relist 1 a:relist 2 b:relist 3"},
		}},
		{"while the runtime is down", []step{
			{func(w *world) { w.up("a"); relist(w) }, ""},
			{func(w *world) {
				w.all.Go(func() { w.rt.Restart(time.Second) })
				w.pass(time.Millisecond)
				w.rt.ExitCode("p", "a", 9)
				relist(w)
			}, ""},
			{func(w *world) { w.pass(time.Second); relist(w) }, "a:relist 9"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, listless := range []bool{false, true} {
				setup{listless: listless}.run(t, func(w *world) {
					_, exits := w.follow(pleg.ExitOptions[string]{})
					for i, s := range tt.steps {
						s.do(w)
						equal(t, fmt.Sprintf("exits at t%d", i), exits(), s.exits)
						w.pass(time.Second)
					}
				})
			}
		})
	}
}

// Exits come from events, and repeated or replayed events repeat none.
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
		equal(t, "exits", exits(), "a:event 3")
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

// The exit of a container seen only in events is reported once a later look does not
// show the container, with the details from the events.
func TestExitsOfContainersSeenOnlyInEvents(t *testing.T) {
	at := func(w *world, container string, kind pleg.RuntimeEventType, shows *plegtest.Status) pleg.RuntimeEvent[string, *plegtest.Status] {
		return event(container, kind, time.Now(), shows)
	}
	over := &plegtest.Status{
		Listed: []pleg.Container{{ID: "x", State: pleg.StateExited}, {ID: "z", State: pleg.StateExited}},
		Ended:  map[string]pleg.ExitDetails{"z": {Code: 7}},
	}
	for _, tt := range []struct {
		name   string
		events func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status]
		exits  string
	}{
		{"created", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeEventCreated, nil)}
		}, "z:inferred"},
		{"stopped", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeEventStopped, nil)}
		}, "z:event ?"},
		{"stopped, and carries how", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeEventStopped, over)}
		}, "x:event ? z:event 7"},
		{"deleted first, then how it stopped", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeEventDeleted, nil), at(w, "z", pleg.RuntimeEventStopped, over)}
		}, "x:event ? z:event 7"},
		{"without a stamp", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{event("z", pleg.RuntimeEventStopped, time.Time{}, over)}
		}, "x:event ? z:event 7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			slowCalls.scripted(t, func(w *world, s *script) { // so that no look ends between two events
				w.up("a")
				w.gen.Relist(w.ctx)
				_, exits := w.follow(pleg.ExitOptions[string]{})
				for range 3 {
					for _, e := range tt.events(w) {
						s.handle(e)
					}
					w.pass(10 * time.Second)
				}
				equal(t, "exits", exits(), tt.exits)
				w.gen.Relist(w.ctx)
				w.pass(time.Second)
				w.gen.Relist(w.ctx) // everything is forgotten
				for _, e := range tt.events(w) {
					s.handle(e)
				}
				w.pass(10 * time.Second)
				equal(t, "exits after late events", exits(), "")
			})
		})
	}
}

// Details are passed on unchanged even if they make no sense.
func TestExitDetailsArePassedOnUnchanged(t *testing.T) {
	setup{}.run(t, func(w *world) {
		details := map[string]pleg.ExitDetails{
			"no-time":    {Code: 1, Reason: "Error"},
			"the-future": {Code: 2, Reason: "Error", Started: time.Now(), Finished: time.Now().Add(time.Hour).Round(0)},
			"oom":        {Name: "app", Attempt: 4, Code: 0, Reason: "OOMKilled", Started: time.Now().Round(0), Finished: time.Now().Round(0)},
			"negative":   {Code: -1},
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
			want := pleg.Exit[string]{Pod: "p", Container: e.Container, Source: pleg.ExitSeenByRelist, Known: true, Details: details[e.Container]}
			if e != want {
				t.Errorf("exit %+v, want %+v", e, want)
			}
			delete(details, e.Container)
		}
		equal(t, "exits that were not told", len(details), 0)
	})
}

// counted is a status that counts the calls of its Exits.
type counted struct {
	namedOnly
	asked *int
}

func (c counted) Exits() iter.Seq2[string, pleg.ExitDetails] {
	*c.asked++
	return func(func(string, pleg.ExitDetails) bool) {}
}

// countedPod is a runtime with one pod, whose statuses are counted.
type countedPod struct {
	onePod
	asked *int
}

func (r *countedPod) Status(ctx context.Context, pod string) (counted, time.Time, error) {
	containers, at, err := r.onePod.Status(ctx, pod)
	return counted{containers, r.asked}, at, err
}

// A status is asked for its exits only while a reader exists.
func TestExitsAreAskedForOnlyForReaders(t *testing.T) {
	asked := 0
	rt := &countedPod{onePod{namedOnly{{ID: "a"}}}, &asked}
	cache := statuscache.New[string](statuscache.Options[counted]{})
	defer cache.Close()
	gen, err := pleg.NewGenerator(rt, nil, cache, pleg.GeneratorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed := func(state pleg.State) int { // the calls for a change
		rt.containers[0].State = state
		before := asked
		if err := gen.Relist(t.Context()); err != nil {
			t.Fatal(err)
		}
		return asked - before
	}
	if n := changed(pleg.StateRunning); n != 0 {
		t.Errorf("without a reader: %d calls", n)
	}
	r, err := gen.ExitReader(pleg.ExitOptions[string]{})
	if err != nil {
		t.Fatal(err)
	}
	if n := changed(pleg.StateExited); n != 1 {
		t.Errorf("with a reader: %d calls", n)
	}
	r.Close()
	if n := changed(pleg.StateRunning); n != 0 {
		t.Errorf("with a closed reader: %d calls", n)
	}
}
