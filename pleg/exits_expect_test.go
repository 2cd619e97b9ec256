package pleg_test

import (
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
)

// An expected container yields its exit once, from any evidence.
func TestExpectedExitIsYielded(t *testing.T) {
	relist := func(w *world) { w.gen.Relist(w.ctx) }
	for _, tt := range []struct {
		name  string
		do    func(w *world, r *pleg.ExitReader[string])
		exits string
	}{
		{"it is removed before any answer", func(w *world, r *pleg.ExitReader[string]) {
			w.up("a")
			r.Expect("p", pleg.Container{ID: "a"})
			w.rt.Exit("p", "a")
			w.rt.Remove("p", "a")
			relist(w)
		}, "a:inferred"},
		{"it ends during an inspection", func(w *world, r *pleg.ExitReader[string]) {
			w.up("a")
			r.Expect("p", pleg.Container{ID: "a"})
			relist(w)
			w.rt.ExitCode("p", "a", 3)
			relist(w)
		}, "a:shown 3"},
		{"it is expected late", func(w *world, r *pleg.ExitReader[string]) {
			w.up("a")
			relist(w)
			r.Expect("p", pleg.Container{ID: "a"})
			w.rt.Remove("p", "a")
			relist(w)
		}, "a:inferred"},
		{"it is expected twice", func(w *world, r *pleg.ExitReader[string]) {
			r.Expect("p", pleg.Container{ID: "a"})
			r.Expect("p", pleg.Container{ID: "a"})
			relist(w)
		}, "a:inferred"},
		{"its exit is due", func(w *world, r *pleg.ExitReader[string]) {
			w.up("a")
			relist(w)
			w.rt.ExitCode("p", "a", 3)
			relist(w)
			r.Expect("p", pleg.Container{ID: "a"})
			relist(w)
			w.rt.Remove("p", "a")
			relist(w)
			r.Expect("p", pleg.Container{ID: "a"})
		}, "a:shown 3"},
		{"it is there, and the reader waits", func(w *world, r *pleg.ExitReader[string]) {
			w.up("a")
			r.Expect("p", pleg.Container{ID: "a"})
			relist(w)
		}, ""},
		{"it ended before the reader was made", func(w *world, r *pleg.ExitReader[string]) {
			w.up("a")
			r.Expect("p", pleg.Container{ID: "a"})
			w.rt.ExitWith("p", "a", pleg.ExitDetails{Code: 3, Finished: time.Now().Add(-time.Hour)})
			relist(w)
		}, "a:shown 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				r, exits := w.follow(pleg.ExitOptions[string]{})
				tt.do(w, r)
				for range 3 {
					w.pass(time.Second)
					relist(w)
				}
				equal(t, "exits", exits(), tt.exits)
			})
		})
	}
}

// A list that was in progress when a container was created does not end it.
func TestEarlierListInfersNoExpectedExit(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.replace(&slowLists{w.rt}, false)
		r, exits := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.pass(time.Second) // the first list has been read, and is on its way
		w.up("a")
		r.Expect("p", pleg.Container{ID: "a"})
		w.pass(time.Minute)
		equal(t, "exits", exits(), "")
		w.rt.ExitCode("p", "a", 3)
		w.pass(3 * time.Minute)
		equal(t, "exits", exits(), "a:shown 3")
	})
}

// A program that saves its position after creating a container learns its exit, or that
// it is removed, even if killed before any inspection showed it. A container created after the
// last position and removed since has no exit.
func TestExpectedContainersSurviveACrash(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.gen.Relist(w.ctx)
		r, _ := w.follow(pleg.ExitOptions[string]{})
		for _, id := range []string{"ends", "goes", "stays"} {
			w.up(id)
			r.Expect("p", pleg.Container{ID: id})
		}
		place := stored(t, r.Position())
		w.up("unknown")
		w.gen.Relist(w.ctx)
		w.rt.ExitCode("p", "ends", 3)
		w.rt.Remove("p", "goes")
		w.rt.Remove("p", "unknown")

		*w = *w.again()
		r, exits := w.follow(pleg.ExitOptions[string]{Resume: place})
		w.gen.Relist(w.ctx)
		equal(t, "exits", exits(), "goes:inferred ends:shown 3")
		place = stored(t, r.Position())
		w.rt.ExitCode("p", "stays", 4)

		*w = *w.again()
		_, exits = w.follow(pleg.ExitOptions[string]{Resume: place})
		w.gen.Relist(w.ctx)
		equal(t, "exits", exits(), "stays:shown 4")
	})
}

// Events alone end no container, but one that was only named can be expected later.
func TestExpectAfterItsEvents(t *testing.T) {
	for _, stamped := range []bool{true, false} {
		scripted(t, func(w *world, s *script) {
			r, exits := w.follow(pleg.ExitOptions[string]{Resume: position(t, `{"baseline": true}`)})
			for _, kind := range []pleg.RuntimeEventType{pleg.RuntimeEventCreated, pleg.RuntimeEventDeleted} {
				e := event("c", kind)
				if !stamped {
					e.At = time.Time{}
				}
				s.handle(e)
			}
			w.pass(100 * time.Millisecond)
			equal(t, "exits", exits(), "")
			r.Expect("p", pleg.Container{ID: "c", Name: "main", Attempt: 3})
			w.pass(10 * time.Minute)
			equal(t, "exits", exits(), "c:inferred")
		})
	}
}

// An inspection that began before a container was expected says nothing about it.
func TestInspectionBeforeExpectInfersNoExit(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("d")
		w.relist()
		r, exits := w.follow(pleg.ExitOptions[string]{Resume: position(t, `{"baseline": true}`)})
		s.handle(event("c", pleg.RuntimeEventCreated))
		w.pass(10 * time.Millisecond) // an inspection has answered without c
		w.up("c")
		r.Expect("p", pleg.Container{ID: "c", Name: "main", Attempt: 3})
		place := stored(t, r.Position())
		w.rt.ExitCode("p", "c", 7)
		w.pass(10 * time.Minute)
		equal(t, "exits", exits(), "c:shown 7")
		_, exits = w.follow(pleg.ExitOptions[string]{Resume: place})
		equal(t, "exits of the next reader", exits(), "c:shown 7")
	})
}
