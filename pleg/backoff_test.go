package pleg_test

import (
	"errors"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// TestRelistOutsideRunOpensNoStream, and makes one list, however long it takes.
func TestRelistOutsideRunOpensNoStream(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Slow: 1, SlowBy: 8 * time.Second}}.run(t, func(w *world) {
		w.up("a")
		if err := w.gen.Relist(w.ctx); err != nil {
			t.Fatal(err)
		}
		lists, others := w.calls()
		equal(t, "lists", lists, 1)
		equal(t, "inspections", others, 1)
		equal(t, "connections", len(w.rt.History().Connections), 0)
	})
}

// TestListsLeaveAFailingPodItsBackoff: full lists by the second do not inspect a
// pod that is known to fail, until its backoff is over; Relist does.
func TestListsLeaveAFailingPodItsBackoff(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt, err: errors.New("no status today")}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](rt, nil, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.gen = gen
		w.up("a")
		rt.fail.Store(true)
		w.start()
		w.pass(24 * time.Second)
		n := rt.failed.Load()
		if n > 8 {
			t.Errorf("%d attempts in 24 s", n)
		}
		gen.Relist(w.ctx)
		equal(t, "attempts after Relist", rt.failed.Load(), n+1)
		w.pass(5 * time.Second)
		equal(t, "attempts 5s later", rt.failed.Load(), n+1)
	})
}

// TestBlockedEntryIsRightSoon: an entry that somebody else stamped ahead is right
// within a list of that time: nothing says that it is wrong, so no backoff holds
// it.
func TestBlockedEntryIsRightSoon(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.cache.Set("p", nil, nil, time.Now().Add(29*time.Second))
		w.rt.Exit("p", "a")
		w.pass(30*time.Second + time.Millisecond)
		w.shows("a:exited")
	})
}
