package pleg_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// reusing is a runtime that uses ids again, as one of virtual machines does.
func reusing(f plegtest.Faults) plegtest.Faults {
	f.Reuse = 1
	return f
}

// An exited or removed container that is back is a new one, with its own events after
// one relist and no further calls.
func TestReusedIDIsAnotherContainer(t *testing.T) {
	for _, listless := range []bool{false, true} {
		setup{listless: listless, faults: reusing(plegtest.Faults{})}.run(t, func(w *world) {
			read := w.read("reader", 0)
			w.all.Go(func() { w.rt.Watch(w.ctx, "watcher", w.cache, 0) })
			w.up("b")
			for _, step := range []struct {
				do    func()
				shows string
				tells string
			}{
				{func() { w.up("a") }, "b:running a:running", "p:started a p:started b"},
				{func() { w.rt.Exit("p", "a") }, "b:running a:exited", "p:died a"},
				{func() { w.rt.Start("p", "a") }, "b:running a:running", "p:started a"},
				{func() { w.rt.Exit("p", "a"); w.rt.Exit("p", "b") }, "b:exited a:exited", "p:died a p:died b"},
				{func() { w.rt.Start("p", "a"); w.rt.Exit("p", "a") }, "b:exited a:exited", ""}, // nobody looked
				{func() { w.rt.Remove("p", "a") }, "b:exited", "p:removed a"},
				{func() { w.up("a") }, "b:exited a:running", "p:started a"},
				{func() { w.rt.Remove("p", "a"); w.rt.Create("p", "a") }, "b:exited a:created", "p:died a p:changed a"},
				{func() { w.rt.Remove("p", "a") }, "b:exited", "p:died a p:removed a"},
				{func() { w.rt.Create("p", "a"); w.rt.Remove("p", "b") }, "a:created", "p:changed a p:removed b"},
				{func() { w.rt.Remove("p", "a") }, "gone", "p:died a p:removed a"},
				{func() { w.up("a") }, "a:running", "p:started a"},
			} {
				before := read()
				step.do()
				if err := w.gen.Relist(w.ctx); err != nil {
					t.Fatal(err)
				}
				w.shows(step.shows)
				equal(t, "events", without(strings.TrimPrefix(read(), before), "p:sync"), step.tells)
				w.rt.Compare(w.cache, 4)
				if step.shows != "gone" {
					equal(t, "error", w.cache.Get("p").Err, nil)
				}
				w.pass(time.Second)
				equal(t, "Containers", w.gen.Stats().Containers, strings.Count(step.shows, ":"))
			}
			lists, others := w.calls()
			w.gen.Relist(w.ctx)
			more, later := w.calls()
			equal(t, "lists", more-lists, 1)
			equal(t, "inspections", later-others, 0)
		})
	}
}

// Events show the same at once, without full lists if single pods can be listed.
func TestReusedIDIsAnotherContainerOnAStream(t *testing.T) {
	setup{stream: true, faults: reusing(plegtest.Faults{})}.run(t, func(w *world) {
		w.up("a")
		w.start()
		read := w.read("reader", 0)
		w.pass(10 * time.Second)
		lists, _ := w.calls()
		for range 3 {
			w.rt.Exit("p", "a")
			w.shows("a:exited")
			w.pass(time.Second)
			w.rt.Start("p", "a")
			w.shows("a:running")
			w.pass(time.Second)
		}
		equal(t, "events", read(), "p:sync p:died a p:started a p:died a p:started a p:died a p:started a")
		later, _ := w.calls()
		equal(t, "lists", later-lists, 0)
		w.gen.Relist(w.ctx)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
	})
}

// If an event reports an exit and a look then shows the container running, a PodSync
// reports the unseen restart, each time.
func TestUnseenRestartCausesPodSync(t *testing.T) {
	setup{stream: true, faults: reusing(plegtest.Faults{})}.run(t, func(w *world) {
		w.replace(unhurried{w.rt}, true)
		w.up("a")
		w.start()
		w.pass(time.Second)
		read := w.read("reader", 0)
		w.pass(10 * time.Second)
		for range 3 {
			w.rt.Exit("p", "a")
			w.rt.Start("p", "a") // before anybody looks
			w.pass(time.Second)
			w.shows("a:running")
		}
		equal(t, "events", read(), "p:sync p:sync p:sync p:sync")
		w.gen.RequestRelist("p")
		w.pass(time.Second)
		equal(t, "events", read(), "p:sync p:sync p:sync p:sync")
	})
}

// An answer of any call that shows a step back is repeated. Only a second one is
// believed.
func TestOneStaleAnswerBringsNothingBack(t *testing.T) {
	running := pleg.Container{ID: "a", State: pleg.StateRunning}
	exited := pleg.Container{ID: "a", State: pleg.StateExited}
	for _, tt := range []struct {
		name         string
		list, status string // answers in turn: running, exited, gone
		events       string
		stale, risen uint64
	}{
		{"a list", "rere", "reee", "p:started a p:died a", 1, 0},
		{"a list of what is gone", "rgrgg", "r", "p:started a p:died a p:removed a", 1, 1},
		{"a status", "rbbb", "rerb", "p:started a p:died a p:started b", 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			listed(t, func(w *world, l *listing) {
				rt := &inTurn{answers: map[byte][]pleg.Container{
					'r': {running}, 'e': {exited}, 'b': {exited, {ID: "b", State: pleg.StateRunning}}, 'g': {},
				}, list: tt.list, status: tt.status}
				w.replace(rt, false)
				read := w.read("reader", 0)
				for range 3 {
					if err := w.gen.Relist(w.ctx); err != nil {
						t.Fatal(err)
					}
					w.pass(time.Second)
				}
				equal(t, "events", without(read(), "p:sync"), tt.events)
				s := w.gen.Stats()
				equal(t, "StaleWrites", s.StaleWrites, tt.stale)
				equal(t, "Resurrections", s.Resurrections, tt.risen)
			})
		})
	}
}

// inTurn answers as it is told, the last answer for ever.
type inTurn struct {
	answers      map[byte][]pleg.Container
	list, status string
}

func (r *inTurn) next(turn *string) []pleg.Container {
	a := r.answers[(*turn)[0]]
	if len(*turn) > 1 {
		*turn = (*turn)[1:]
	}
	return a
}

func (r *inTurn) Pods(context.Context) ([]pleg.Pod[string], error) {
	if list := r.next(&r.list); len(list) > 0 {
		return []pleg.Pod[string]{pod("p", list...)}, nil
	}
	return nil, nil
}

func (r *inTurn) Status(context.Context, string) (*plegtest.Status, time.Time, error) {
	return &plegtest.Status{Listed: r.next(&r.status)}, time.Time{}, nil
}

// A runtime whose answers contradict each other costs two lists per relist.
func TestInconsistentListsDoNotSpin(t *testing.T) {
	listed(t, func(w *world, l *listing) {
		rt := &inTurn{answers: map[byte][]pleg.Container{
			'r': {{ID: "a", State: pleg.StateRunning}}, 'e': {{ID: "a", State: pleg.StateExited}},
		}, list: strings.Repeat("er", 500), status: strings.Repeat("er", 500)}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](rt, nil, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if err := gen.Relist(w.ctx); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
		}
		if n := 1000 - len(rt.list); n > 40 {
			t.Errorf("%d lists for 20 relists", n)
		}
		if n := 1000 - len(rt.status); n > 60 {
			t.Errorf("%d inspections for 20 relists", n)
		}
	})
}

// A container shown only by a repeated list has come and gone, and a PodSync reports
// it.
func TestDroppedListCausesPodSync(t *testing.T) {
	listed(t, func(w *world, l *listing) {
		exited := pod("p", pleg.Container{ID: "a", State: pleg.StateExited})
		l.pods = []pleg.Pod[string]{exited}
		rt := &changing{listing: l, then: [][]pleg.Pod[string]{
			{pod("p", pleg.Container{ID: "a", State: pleg.StateRunning}), pod("q", pleg.Container{ID: "z"})}, {exited},
		}}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](rt, nil, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		gen.Relist(w.ctx)
		rt.armed = true
		w.gen = gen
		read := w.read("reader", 0)
		gen.Relist(w.ctx)
		equal(t, "events", read(), "p:sync q:sync")
	})
}

// changing lists other pods from call to call, once it is armed.
type changing struct {
	*listing
	armed bool
	then  [][]pleg.Pod[string]
}

func (c *changing) Pods(context.Context) ([]pleg.Pod[string], error) {
	if c.armed && len(c.then) > 0 {
		c.pods, c.then = c.then[0], c.then[1:]
	}
	return c.pods, nil
}

// A container with a reused id has its own exit, whether or not the first one's was
// seen, also for a resumed reader.
func TestReusedIDEndsAgain(t *testing.T) {
	setup{faults: reusing(plegtest.Faults{})}.run(t, func(w *world) {
		r, exits := w.follow(pleg.ExitOptions[string]{})
		for i, step := range []struct {
			do    func()
			exits string
		}{
			{func() { w.up("a") }, ""},
			{func() { w.rt.ExitCode("p", "a", 1) }, "a:relist 1"},
			{func() { w.rt.Start("p", "a") }, ""},
			{func() { w.rt.ExitCode("p", "a", 2) }, "a:relist 2"},
			{func() { w.rt.Remove("p", "a") }, ""},
			{func() { w.up("a") }, ""},
			{func() { w.rt.Remove("p", "a"); w.rt.Create("p", "a") }, "a:inferred"}, // from running to created
			{func() { w.rt.ExitCode("p", "a", 3) }, "a:relist 3"},
			{func() {
				place := stored(t, r.Position())
				r.Close()
				w.rt.Start("p", "a")
				w.gen.Relist(w.ctx)
				r, exits = w.follow(pleg.ExitOptions[string]{Resume: place})
			}, ""},
			{func() { w.rt.ExitCode("p", "a", 4) }, "a:relist 4"},
			{func() { w.rt.Remove("p", "a"); w.gen.Relist(w.ctx); w.gen.Relist(w.ctx) }, ""}, // it is forgotten
			{func() { w.up("a") }, ""},
			{func() { w.rt.ExitCode("p", "a", 5) }, "a:relist 5"},
		} {
			step.do()
			w.pass(time.Second)
			if err := w.gen.Relist(w.ctx); err != nil {
				t.Fatal(err)
			}
			equal(t, fmt.Sprint("exits after step ", i), exits(), step.exits)
		}
	})
}
