package pleg_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg/plegtest"
)

// KEP-3386, "recover the latest state of a container after a restart": our
// process stops while a container runs, the container exits, we start again.
// The first relist caches the exit, and it is reported exactly once.
func TestScenarioOwnRestartReportsTheExitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &recorder{Runtime: plegtest.New[string](1, plegtest.Faults{})}
		second := setup{stream: true}.world(t)
		first := setup{stream: true}.world(t)
		first.rt, second.rt = rt, rt
		for _, w := range []*world{first, second} {
			w.replace(rt, true)
		}
		first.up("a")
		first.start()
		first.shows("a:running")
		first.end()

		rt.Exit("p", "a")
		second.pass(20 * time.Second)
		read := second.read(0)
		second.start()
		second.shows("a:exited")
		second.pass(10 * time.Minute)
		equal(t, "events", read(), "p:died a")
		second.end()
	})
}

// KEP-3386, stress: containers are created in one pod until an event takes a
// second to arrive, then all of them finish and are removed. Four events per
// container are received, nothing is lost or missed, and the cache equals the
// list.
func TestScenarioStressLosesNothing(t *testing.T) {
	// Every event takes up to two seconds.
	f := plegtest.Faults{Late: 1, Delay: 2 * time.Second}
	setup{stream: true, faults: f}.run(t, func(w *world) {
		w.start()
		read := w.read(0)
		var ids []string
		slow := func() bool { // a latency of a second or more was observed
			counts := w.gen.Stats().EventLatency.Counts
			return counts[11]+counts[12]+counts[13]+counts[14] > 0
		}
		for !slow() || len(ids) < 300 {
			id := fmt.Sprintf("c%04d", len(ids))
			ids = append(ids, id)
			w.up(id)
			w.pass(10 * time.Millisecond)
		}
		for _, id := range ids {
			w.rt.Exit("p", id)
			w.pass(time.Millisecond)
		}
		w.pass(5 * time.Second)
		if got := len(w.cache.Get("p").Status.Listed); got != len(ids) {
			t.Errorf("the cache shows %d containers of %d", got, len(ids))
		}
		for _, id := range ids[1:] {
			w.rt.Remove("p", id)
		}
		w.pass(5 * time.Second)
		w.shows(ids[0] + ":exited")
		w.gen.Relist(w.ctx)
		s := w.gen.Stats()
		equal(t, "events received", s.EventsReceived, uint64(4*len(ids)-1))
		equal(t, "missed events", s.MissedEvents, 0)
		if read() == "" {
			t.Error("nothing was reported")
		}
	})
}

// KEP-3386, scenario 1: we are upgraded, the runtime is not. Relisting goes on
// as ever, at the cost of one attempt a minute; then the runtime is upgraded,
// and the stream is used; then downgraded.
func TestScenarioUpgradesKeepRelisting(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.rt.SetUnsupported(true)
		w.up("a")
		w.start()
		w.pass(5*time.Minute - time.Millisecond)
		w.shows("a:running")
		lists, _ := w.calls()
		equal(t, "lists without a stream", lists, 300)
		equal(t, "attempts to open one", w.count("Events"), 5)
		equal(t, "streaming", w.gen.Stats().Streaming, false)
		equal(t, "missed events", w.gen.Stats().MissedEvents, 0)

		w.rt.SetUnsupported(false)
		w.pass(70 * time.Second)
		equal(t, "streaming", w.gen.Stats().Streaming, true)
		lists, _ = w.calls()
		w.rt.Exit("p", "a")
		w.shows("a:exited")
		w.pass(3 * time.Minute)
		later, _ := w.calls()
		equal(t, "lists with a stream", later-lists, 0)

		w.rt.SetUnsupported(true)
		w.pass(time.Minute)
		equal(t, "streaming", w.gen.Stats().Streaming, false)
		again, _ := w.calls()
		equal(t, "lists after the downgrade", again-later, 61)
		w.up("b")
		w.pass(time.Second)
		w.shows("a:exited b:running")
		equal(t, "healthy", w.gen.Healthy(), nil)
	})
}
