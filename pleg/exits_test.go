package pleg_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// follow makes a reader of exits. The function that it returns takes what is due,
// as in "a:event 3 b:inferred c:relist ?", where ? is an unknown code.
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

// taken takes and prints what is due.
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

// Each step is at an instant of its own, t0 the first. Exits are what a reader has
// that exists from before t0 on, and was never behind.
func TestExitsAreToldOnce(t *testing.T) {
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
		{"over when the Generator looked first", []step{
			{func(w *world) { w.up("a"); w.rt.Exit("p", "a"); w.up("b"); relist(w) }, ""},
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

// What an event says of an exit is believed with and without TrustEvents, and
// doubled or replayed events tell no exit again.
func TestExitsAreToldByEvents(t *testing.T) {
	for _, trust := range []bool{false, true} {
		setup{stream: true, faults: plegtest.Faults{Replay: 1, Duplicate: 1}, options: pleg.GeneratorOptions{TrustEvents: trust}}.run(t, func(w *world) {
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
}

// A container that only events told of is told to have ended when a look that
// began later does not show it, with what the events carried.
func TestExitsOfContainersNobodySaw(t *testing.T) {
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
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeCreated, nil)}
		}, "z:inferred"},
		{"stopped", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeStopped, nil)}
		}, "z:event ?"},
		{"stopped, and carries how", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeStopped, over)}
		}, "x:event ? z:event 7"},
		{"deleted first, then how it stopped", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{at(w, "z", pleg.RuntimeDeleted, nil), at(w, "z", pleg.RuntimeStopped, over)}
		}, "x:event ? z:event 7"},
		{"without a stamp", func(w *world) []pleg.RuntimeEvent[string, *plegtest.Status] {
			return []pleg.RuntimeEvent[string, *plegtest.Status]{event("z", pleg.RuntimeStopped, time.Time{}, over)}
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

// The details are the runtime's, also where they make no sense.
func TestExitDetailsAreTheRuntimes(t *testing.T) {
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

// Earlier tells of those that have ended before, whether the reader was there
// before the first look or comes late.
func TestEarlierExitsAreToldOnDemand(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.rt.ExitCode("p", "a", 3)
		w.pass(time.Second)
		w.up("b")
		w.rt.ExitCode("p", "b", 4)
		w.up("c")
		_, first := w.follow(pleg.ExitOptions[string]{Earlier: true})
		_, none := w.follow(pleg.ExitOptions[string]{})
		w.gen.Relist(w.ctx)
		_, late := w.follow(pleg.ExitOptions[string]{Earlier: true})
		equal(t, "exits", first(), "a:relist 3 b:relist 4")
		equal(t, "exits from then on", none(), "")
		equal(t, "exits of a late reader", late(), "a:relist 3 b:relist 4")
		w.rt.ExitCode("p", "c", 5)
		w.gen.Relist(w.ctx)
		for _, exits := range []func() string{first, none, late} {
			equal(t, "exits", exits(), "c:relist 5")
		}
	})
}

// A program that starts again with its position is told what it was not told
// before, and nothing twice, whatever happened meanwhile.
func TestExitsGoOnBehindARestart(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		for _, c := range []string{"taken", "pending", "running", "crashes", "vanishes", "goes-with-its-pod"} {
			pod := "p"
			if c == "goes-with-its-pod" {
				pod = "q"
			}
			w.rt.Create(pod, c)
			w.rt.Start(pod, c)
		}
		r, exits := w.follow(pleg.ExitOptions[string]{Earlier: true})
		w.start()
		w.pass(5 * time.Second)
		w.rt.ExitCode("p", "taken", 1)
		w.pass(time.Second)
		equal(t, "exits", exits(), "taken:event 1")
		w.rt.ExitCode("p", "pending", 2)
		w.pass(time.Second)
		place := stored(t, r.Position())
		w.stop()
		w.cache.Close()
		w.all.Wait()

		w.pass(time.Hour)
		w.rt.ExitCode("p", "crashes", 3)
		w.up("came")
		w.rt.ExitCode("p", "came", 4)
		w.rt.Exit("p", "vanishes")
		w.rt.Remove("p", "vanishes")
		w.rt.Remove("q", "goes-with-its-pod")

		*w = *w.again()
		r, exits = w.follow(pleg.ExitOptions[string]{After: place})
		equal(t, "exits before the first look", exits(), "pending:event 2")
		w.start()
		w.pass(time.Second)
		equal(t, "exits", exits(), "came:relist 4 crashes:relist 3 goes-with-its-pod:inferred vanishes:inferred")
		w.rt.ExitCode("p", "running", 5)
		w.pass(time.Second)
		equal(t, "exits", exits(), "running:event 5")
		w.pass(time.Minute)
		equal(t, "exits", exits(), "")

		place = stored(t, r.Position())
		r.Close()
		_, exits = w.follow(pleg.ExitOptions[string]{After: place})
		w.gen.Relist(w.ctx)
		w.pass(time.Minute)
		equal(t, "exits in a second restart", exits(), "")
	})
}

// again is w after a restart of the program: the runtime is the same.
func (w *world) again() *world {
	n := &world{T: w.T, rt: w.rt, cache: pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{})}
	gen, err := pleg.NewGenerator[string, *plegtest.Status](n.rt, n.rt, n.cache, pleg.GeneratorOptions{})
	if err != nil {
		w.Fatal(err)
	}
	n.gen = gen
	n.ctx, n.stop = context.WithCancel(w.Context())
	n.rt.Note(func(h *history) { h.RunEnded = time.Time{} })
	return n
}

// A position is taken before the runtime has answered once, too: nothing of the
// one before is lost.
func TestPositionBeforeTheFirstLookKeepsTheLast(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.up("b")
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.gen.Relist(w.ctx)
		w.rt.ExitCode("p", "a", 1)
		w.gen.Relist(w.ctx)
		first := stored(t, r.Position())
		r.Close()
		r, _ = w.follow(pleg.ExitOptions[string]{After: first})
		if diff := cmp.Diff(*first, r.Position()); diff != "" {
			t.Errorf("the position of a reader that has done nothing:\n%s", diff)
		}
		*w = *w.again()
		w.rt.Remove("p", "b")
		r, exits := w.follow(pleg.ExitOptions[string]{After: first})
		if diff := cmp.Diff(*first, r.Position()); diff != "" {
			t.Errorf("the position of a reader whose generator has not looked:\n%s", diff)
		}
		equal(t, "exits", exits(), "a:relist 1")
		w.gen.Relist(w.ctx)
		equal(t, "exits", exits(), "b:inferred")
	})
}

// The end of a container is not inferred while its pod cannot be looked at.
func TestFailingPodInfersNoExit(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt, err: errors.New("no status today")}
		w.replace(rt, false)
		w.up("a")
		w.up("b")
		rt.fail.Store(true)
		_, exits := w.follow(pleg.ExitOptions[string]{After: position(t, `{"pods": [{"pod": "p", "live": ["a", "gone"]}]}`)})
		w.start()
		w.pass(10 * time.Second)
		equal(t, "exits while nothing is known", exits(), "")
		rt.fail.Store(false)
		w.pass(30 * time.Second)
		equal(t, "exits", exits(), "gone:inferred")
	})
}

// A position that is not one is refused with all that is wrong.
func TestPositionIsValidated(t *testing.T) {
	const text = `{
		"lost": -1,
		"due": [{"pod": "p", "container": "", "source": "event"}, {"pod": "p", "container": "b", "source": "rumour", "lost": -2}],
		"pods": [
			{"pod": "p", "live": ["a", "a", ""], "ended": ["a"]},
			{"pod": "p"}
		]
	}`
	setup{}.run(t, func(w *world) {
		_, err := w.gen.ExitReader(pleg.ExitOptions[string]{After: position(t, text)})
		want := `pleg: ExitReader: lost: invalid value -1: must be >= 0; due[0].container: required; ` +
			`due[1].source: unsupported value "rumour": must be event, relist or inferred; due[1].lost: invalid value -2: must be >= 0; ` +
			`pods[0].live[1]: duplicate value "a"; pods[0].live[2]: required; pods[0].ended[0]: duplicate value "a"; pods[1].pod: duplicate value "p"`
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant\n%s", err, want)
		}
	})
}

// Next waits for an exit, its context, the reader or the cache; what is due comes
// first. Of several that wait each is served.
func TestNextEnds(t *testing.T) {
	setup{}.run(t, func(w *world) {
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.up("a")
		w.up("b")
		w.up("c")
		w.gen.Relist(w.ctx)
		got := make(chan string, 2)
		for range 2 {
			go func() {
				e, err := r.Next(w.ctx)
				got <- fmt.Sprint(e.Container, err)
			}()
		}
		synctest.Wait()
		w.rt.Exit("p", "a")
		w.rt.Exit("p", "b")
		w.gen.Relist(w.ctx)
		if one, other := <-got, <-got; one+other != "a<nil>b<nil>" && one+other != "b<nil>a<nil>" {
			t.Errorf("%s and %s", one, other)
		}
		done, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err := r.Next(done)
		equal(t, "error without an exit", err, context.Canceled)
		w.rt.Exit("p", "c")
		w.gen.Relist(w.ctx)
		e, err := r.Next(done)
		equal(t, "exit", e.Container, "c")
		equal(t, "error with one", err, nil)
		w.rt.Create("p", "d")
		w.gen.Relist(w.ctx)
		w.rt.Remove("p", "d")
		w.gen.Relist(w.ctx)
		r.Close()
		r.Close()
		e, err = r.Next(w.ctx)
		equal(t, "exit after Close", e.Container, "d")
		equal(t, "error", err, nil)
		_, err = r.Next(w.ctx)
		equal(t, "error", err, pleg.ErrClosed)
		other, _ := w.follow(pleg.ExitOptions[string]{})
		w.all.Go(func() {
			_, err := other.Next(w.ctx)
			equal(t, "error after the Close of the cache", err, pleg.ErrClosed)
		})
		synctest.Wait()
		w.cache.Close()
	})
}

// A loop over Exits ends with its context and with its body, and leaves nothing
// behind.
func TestExitsLoopLeavesNothing(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.start()
		for _, breaks := range []bool{true, false} {
			w.rt.Create("p", "a")
			w.rt.Create("p", "b")
			w.pass(2 * time.Second)
			ctx, cancel := context.WithCancel(w.ctx)
			var got []string
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for e := range w.gen.Exits(ctx) {
					if got = append(got, e.Container); breaks {
						break
					}
				}
			}()
			synctest.Wait()
			w.rt.Exit("p", "a")
			w.rt.Exit("p", "b")
			w.pass(2 * time.Second)
			cancel()
			<-ended
			equal(t, "exits", fmt.Sprint(got), map[bool]string{true: "[a]", false: "[a b]"}[breaks])
			w.rt.Remove("p", "a")
			w.rt.Remove("p", "b")
			w.pass(10 * time.Second)
			equal(t, "what is left", w.gen.Stats().Backlog, 0)
			w.rt.SetFaults(reusing(plegtest.Faults{}))
		}
	})
}
