package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Successive calls of Relist, outside Run and within one reading of the clock, each see
// all earlier changes.
func TestRelistSeesEarlierChanges(t *testing.T) {
	{
		setup{}.run(t, func(w *world) {
			read := w.read(0)
			for _, step := range []struct {
				do     func()
				shows  string
				events string
			}{
				{func() {}, "gone", ""},
				{func() { w.rt.Create("p", "a") }, "a:created", "p:changed a"},
				{func() { w.rt.Start("p", "a") }, "a:running", "p:started a"},
				{func() {}, "a:running", ""},
				{func() { w.up("b") }, "a:running b:running", "p:started b"},
				{func() { w.rt.Exit("p", "a"); w.rt.Exit("p", "b") }, "a:exited b:exited", "p:died a p:died b"},
				{func() { w.rt.Remove("p", "a") }, "b:exited", "p:removed a"},
				{func() { w.up("c"); w.rt.Exit("p", "c") }, "b:exited c:exited", "p:died c"},
				{func() { w.up("d") }, "b:exited c:exited d:running", "p:started d"},
				{func() { w.rt.Remove("p", "d"); w.rt.Remove("p", "c") }, "b:exited", "p:removed c p:died d p:removed d"},
				{func() { w.rt.Remove("p", "b") }, "gone", "p:removed b"},
				{func() {}, "gone", ""},
				{func() { w.up("e") }, "e:running", "p:started e"},
			} {
				before := read()
				step.do()
				if err := w.gen.Relist(w.ctx); err != nil {
					t.Fatal(err)
				}
				w.shows(step.shows)
				equal(t, "events", strings.TrimSpace(strings.TrimPrefix(read(), before)), step.events)
			}
			equal(t, "Relists", w.gen.Stats().Relists, 13)
		})
	}
}

// A relist inspects only changed pods and lists no single pod.
func TestRelistInspectsOnlyWhatChanged(t *testing.T) {
	setup{}.run(t, func(w *world) {
		for i := range 10 {
			w.rt.Create(fmt.Sprint("p", i), "a")
		}
		for i, want := range []int{10, 10, 11, 11} {
			if i == 2 {
				w.rt.Start("p3", "a")
			}
			w.gen.Relist(w.ctx)
			lists, others := w.calls()
			equal(t, "lists", lists, i+1)
			equal(t, "inspections", others, want)
		}
	})
}

// A failed list changes nothing, and Relist returns its error.
func TestFailedListChangesNothing(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.gen.Relist(w.ctx)
		w.all.Go(func() { w.rt.Restart(10 * time.Second) })
		w.pass(time.Second)
		if err := w.gen.Relist(w.ctx); !errors.Is(err, plegtest.ErrDown) {
			t.Errorf("Relist of a runtime that is down: %v", err)
		}
		w.shows("a:running")
		if at := w.cache.Get("p").Modified; !at.Before(time.Now()) {
			t.Errorf("a failed list made the pod known as of %v", at)
		}
		w.rt.Exit("p", "a")
		w.pass(10 * time.Second)
		equal(t, "error", w.gen.Relist(w.ctx), nil)
		w.shows("a:exited")
	})
}

// Relist ends with its context and leaves the Generator usable. It begins after the
// call, even if another relist is in progress.
func TestRelistEndsWithItsContext(t *testing.T) {
	setup{faults: plegtest.Faults{Slow: 1, SlowBy: time.Minute}}.run(t, func(w *world) {
		w.up("a")
		ctx, cancel := context.WithTimeout(w.ctx, time.Millisecond)
		defer cancel()
		equal(t, "error", w.gen.Relist(ctx), context.DeadlineExceeded)
		equal(t, "calls left", w.rt.Busy(), 0)
		w.start()
		w.pass(time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- w.gen.Relist(w.ctx) }()
		w.pass(0)
		lists := w.count("Pods")
		w.rt.SetFaults(plegtest.Faults{})
		equal(t, "error", <-done, nil)
		if w.count("Pods") <= lists {
			t.Error("Relist took a relist that began before it for its own")
		}
		w.stop()
		equal(t, "error", w.gen.Relist(w.ctx), context.Canceled)
	})
}

// Entries of pods that no list shows are deleted unless newer than the relist,
// including entries of other writers.
func TestPodThatNoListShowsIsDeleted(t *testing.T) {
	setup{cache: statuscache.Options[*plegtest.Status]{MaxSkew: time.Hour}}.run(t, func(w *world) {
		now := time.Now()
		time.Sleep(time.Second)
		w.cache.Set("stray", nil, nil, now)
		w.cache.Set("newer", nil, nil, time.Now().Add(time.Minute))
		w.gen.Relist(w.ctx)
		equal(t, "stray", w.cache.Get("stray").Present, false)
		equal(t, "newer", w.cache.Get("newer").Present, true)
		time.Sleep(2 * time.Minute)
		w.gen.Relist(w.ctx)
		equal(t, "newer", w.cache.Get("newer").Present, false)
	})
}

// An entry stamped ahead of the clock blocks the Generator until that time, after which
// no event is lost.
func TestEntryStampedAheadBlocksOnlyUntilItsTime(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.start()
		read := w.read(0)
		w.cache.Set("p", nil, nil, time.Now().Add(30*time.Second))
		w.rt.Exit("p", "a")
		w.pass(2 * time.Second)
		equal(t, "events", read(), "p:sync")
		w.pass(40 * time.Second)
		w.shows("a:exited")
		equal(t, "events", read(), "p:sync p:died a")
	})
}

// An entry stamped ahead by another writer is corrected by the next list after that
// time, without a backoff.
func TestBlockedEntryIsCorrectedByNextList(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.cache.Set("p", nil, nil, time.Now().Add(29*time.Second))
		w.rt.Exit("p", "a")
		w.pass(30*time.Second + time.Millisecond)
		w.shows("a:exited")
	})
}

// The cache that a Generator fills has the results of Merge.
func TestGeneratorUsesMerge(t *testing.T) {
	keep := func(old, new *plegtest.Status) *plegtest.Status {
		return &plegtest.Status{Version: new.Version, Listed: new.Listed}
	}
	setup{cache: statuscache.Options[*plegtest.Status]{Merge: keep}}.run(t, func(w *world) {
		w.up("a")
		w.gen.Relist(w.ctx)
		first := w.cache.Get("p").Status
		w.rt.Exit("p", "a")
		w.gen.Relist(w.ctx)
		w.shows("a:exited")
		if second := w.cache.Get("p").Status; second == first || second == w.rt.Truth()["p"] {
			t.Error("Merge was not asked")
		}
	})
}

// A Relist outside Run opens no stream and makes one list, however long it takes.
func TestRelistOutsideRunOpensNoStream(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Slow: 1, SlowBy: 8 * time.Second}}.run(t, func(w *world) {
		w.up("a")
		if err := w.gen.Relist(w.ctx); err != nil {
			t.Fatal(err)
		}
		lists, others := w.calls()
		equal(t, "lists", lists, 1)
		equal(t, "inspections", others, 1)
		equal(t, "connections", w.count("Events"), 0)
	})
}

// A requested PodSync arrives whether the inspection finds nothing new, something new, no
// pod, or the limit of pods reached. While the inspection fails, it waits.
func TestRequestSyncEndsWithAPodSync(t *testing.T) {
	for _, streams := range []bool{false, true} {
		setup{stream: true}.run(t, func(w *world) {
			rt := &fickle{recorder: w.rt}
			w.replace(rt, streams)
			w.up("a")
			w.start()
			w.pass(10 * time.Second)
			read := w.read(0)
			heard := read()
			expect := func(what, want string) {
				t.Helper()
				w.pass(time.Second)
				equal(t, what, strings.TrimSpace(strings.TrimPrefix(read(), heard)), want)
				heard = read()
			}
			w.gen.RequestSync("p")
			expect("events of an unchanged pod", "p:sync")
			expect("events later", "")
			w.gen.RequestSync("p")
			w.gen.RequestSync("p")
			w.gen.RequestRelist("p")
			expect("events of three requests", "p:sync")
			w.gen.RequestRelist("p")
			expect("events of a mere relist", "")
			w.gen.RequestSync("p")
			w.rt.Exit("p", "a")
			w.pass(time.Second) // the event may ask for an inspection of its own
			if got := strings.Fields(strings.TrimPrefix(read(), heard)); !slices.Contains(got, "p:died") || !slices.Contains(got, "p:sync") {
				t.Errorf("events of a changed pod: %s", got)
			}
			heard = read()
			w.gen.RequestSync("nobody")
			expect("events of no pod", "nobody:sync")
			rt.fail(errors.New("no status today"))
			w.gen.RequestSync("p")
			expect("events of a pod whose status fails", "")
			if w.cache.Get("p").Err == nil {
				t.Error("there is no error in the cache")
			}
			w.pass(10 * time.Second)
			rt.fail(nil)
			w.pass(10 * time.Second)
			expect("events once it succeeds", "p:sync")
			w.gen.RequestSync("p")
			w.rt.Remove("p", "a")
			w.pass(time.Second)
			if got := strings.TrimPrefix(read(), heard); !strings.HasSuffix(got, "p:sync") {
				t.Errorf("events of a removed pod: %s", got)
			}
			heard = read()
		})
	}
}

// Without a stream, RequestSync waits for the next full list, which inspects the pod.
// With a stream, and rare full lists, it does not wait.
func TestRequestSyncWaitsOnlyForARelistThatIsNear(t *testing.T) {
	for _, streams := range []bool{false, true} {
		setup{stream: streams}.run(t, func(w *world) {
			w.up("a")
			w.start()
			w.pass(10*time.Second + 500*time.Millisecond)
			read := w.read(0)
			lists, inspections := w.calls()
			step := func(what string, d time.Duration, sync bool, list, inspection int) {
				t.Helper()
				w.pass(d)
				equal(t, what+": PodSync", strings.Count(read(), "p:sync") == 2, sync) // beside the reader's first
				equal(t, what+": Pods", w.count("Pods"), lists+list)
				equal(t, what+": Pod", w.count("Pod"), inspections+inspection)
			}
			w.gen.RequestSync("p")
			if streams {
				step("at once", 0, true, 0, 1)
				step("later", 10*time.Second, true, 0, 1)
			} else {
				step("before the list", 499*time.Millisecond, false, 0, 0)
				step("with the list", 2*time.Millisecond, true, 1, 1)
				step("later", 10*time.Second, true, 11, 1)
			}
		})
	}
}

// A request during an inspection does not replace the earlier one. Otherwise frequent requests
// would never be answered.
func TestRequestSyncDuringAnInspectionHasItsOwnPodSync(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.replace(&slow{w.rt}, true)
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		read := w.read(0)
		heard := read()
		w.gen.RequestSync("p")
		w.pass(10 * time.Millisecond)
		w.gen.RequestSync("p")
		w.pass(time.Second)
		equal(t, "events", strings.TrimSpace(strings.TrimPrefix(read(), heard)), "p:sync p:sync")
	})
}

// slow takes 20ms for each status.
type slow struct{ *recorder }

func (s *slow) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	time.Sleep(20 * time.Millisecond)
	return s.recorder.Pod(ctx, id)
}
