package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// TestRelist drives single relists, outside of Run and within one reading of
// the clock: each sees what changed before it.
func TestRelist(t *testing.T) {
	for _, listless := range []bool{false, true} {
		setup{listless: listless}.run(t, func(w *world) {
			read := w.read("reader", 0)
			w.rt.Compare(w.cache, 4)
			for _, step := range []struct {
				do    func()
				shows string
				tells string
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
				equal(t, "events", strings.TrimSpace(strings.TrimPrefix(read(), before)), step.tells)
				w.rt.Compare(w.cache, 4)
			}
			equal(t, "Relists", w.gen.Stats().Relists, 13)
		})
	}
}

// TestRelistCalls: only what changed is inspected, and no pod is listed alone.
func TestRelistCalls(t *testing.T) {
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

// TestRelistFails: a failed list changes nothing and is Relist's error.
func TestRelistFails(t *testing.T) {
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

// TestRelistContext: Relist ends with its context and leaves the generator
// usable; and it begins behind the call, even if one is under way.
func TestRelistContext(t *testing.T) {
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

// TestPeriods is G13: an hour with a stream costs 13 lists, two of which are for
// its begin, without one 3600, and no inspection after the first.
func TestPeriods(t *testing.T) {
	for _, tt := range []struct {
		stream bool
		lists  int
	}{{true, 13}, {false, 3600}} {
		setup{stream: tt.stream}.run(t, func(w *world) {
			for i := range 1000 {
				w.rt.Create(fmt.Sprint("p", i), "a")
			}
			w.all.Go(func() { w.gen.Run(w.ctx) })
			time.Sleep(time.Hour - time.Millisecond)
			lists, others := w.calls()
			equal(t, "lists", lists, tt.lists)
			equal(t, "inspections", others, 1000)
			equal(t, "streaming", w.gen.Stats().Streaming, tt.stream)
		})
	}
}

// TestReconnect is the KEP's list: at once, then after 1, 2, 4, 8, 16, 32 and
// 60 seconds, and every 60 for ever; a stream that lived for a minute starts
// over. A stream that ends at once must not spin. (kubernetes#129827: five
// retries spent at once and never back)
func TestReconnect(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{EndAtOnce: 1}}.run(t, func(w *world) {
		begin := time.Now()
		w.start()
		w.pass(10 * time.Minute)
		var at []string
		for _, c := range w.rt.History().Connections {
			at = append(at, fmt.Sprint(c.Sub(begin).Seconds()))
		}
		equal(t, "connections after", strings.Join(at, " "), "0 0 1 3 7 15 31 63 123 183 243 303 363 423 483 543")
		lists, _ := w.calls()
		equal(t, "lists", lists, 601)
		equal(t, "errors", w.gen.Stats().ConnectionErrors, 16)
		equal(t, "connections", w.gen.Stats().Connections, 0)
		equal(t, "streaming", w.gen.Stats().Streaming, false)

		w.rt.SetFaults(plegtest.Faults{}) // the next one lives, for a minute
		w.pass(time.Minute)
		equal(t, "streaming", w.gen.Stats().Streaming, true)
		w.pass(time.Minute)
		w.rt.Disconnect()
		w.pass(0)
		n := len(w.rt.History().Connections)
		equal(t, "connections", n, 18) // at once
	})
}

// TestStreamLost: a lost stream falls back to the short period with a relist at
// once, and is not an illness; the long period is back when a list has begun
// behind the new one.
func TestStreamLost(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(250 * time.Second)
		equal(t, "healthy", w.gen.Healthy(), nil)
		lists, _ := w.calls()
		equal(t, "lists", lists, 2)
		w.gen.Relist(w.ctx)
		w.pass(time.Millisecond)
		w.rt.SetUnsupported(true)
		w.pass(0)
		lists, _ = w.calls()
		equal(t, "lists after the loss", lists, 4)
		equal(t, "streaming", w.gen.Stats().Streaming, false)
		w.pass(10*time.Second + time.Millisecond)
		lists, _ = w.calls()
		equal(t, "lists after 10s", lists, 14)
		w.rt.SetUnsupported(false)
		w.pass(55 * time.Second)
		equal(t, "streaming", w.gen.Stats().Streaming, true)
		lists, _ = w.calls()
		w.pass(200 * time.Second)
		later, _ := w.calls()
		equal(t, "lists in 200s", later-lists, 0)
	})
}

// TestHealthy judges relisting only: never done, too old, stuck, and by the
// period in force.
func TestHealthy(t *testing.T) {
	healthy := func(w *world, want string) {
		w.Helper()
		err := w.gen.Healthy()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			w.Errorf("at %v Healthy() = %v, want %q", time.Now(), err, want)
		}
	}
	t.Run("without a stream", func(t *testing.T) {
		setup{}.run(t, func(w *world) {
			healthy(w, "no relist has ended yet")
			w.start()
			healthy(w, "")
			w.all.Go(func() { w.rt.Restart(time.Hour) })
			w.pass(179 * time.Second)
			healthy(w, "")
			w.pass(time.Second)
			healthy(w, "")
			w.pass(time.Second)
			healthy(w, "the last relist is 3m1s old; the limit is 3m0s")
			w.pass(time.Hour)
			healthy(w, "")
		})
	})
	t.Run("with one", func(t *testing.T) {
		setup{stream: true}.run(t, func(w *world) {
			w.start()
			w.pass(290 * time.Second)
			healthy(w, "")
			w.all.Go(func() { w.rt.Restart(time.Hour) })
			w.pass(170 * time.Second)
			healthy(w, "") // counts from the change of period
			w.pass(20 * time.Second)
			healthy(w, "the last relist is 3m10s old")
		})
	})
	t.Run("stuck", func(t *testing.T) {
		setup{faults: plegtest.Faults{Hang: 1}, options: pleg.GeneratorOptions{RelistThreshold: 30 * time.Second}}.run(t, func(w *world) {
			w.start()
			w.pass(10 * time.Second)
			healthy(w, "no relist has ended yet")
			w.rt.SetFaults(plegtest.Faults{})
			w.pass(22 * time.Second)
			healthy(w, "") // the list was cancelled at its deadline
		})
	})
}

// TestStatusFails caches the error with the last status, tries again with
// backoff, and tells when it is over.
func TestStatusFails(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt, err: errors.New("no status today")}
		gen, err := pleg.NewGenerator(rt, pleg.Streamer[string, *plegtest.Status](w.rt), w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.gen = gen
		w.up("a")
		rt.fail.Store(true)
		w.start()
		read := w.read("reader", 0)
		w.shows("nothing no status today")
		if e := w.cache.Get("p"); !e.Present || e.Status != nil {
			t.Errorf("a pod whose status was never read: %+v", e)
		}
		equal(t, "events", read(), "")
		w.pass(25 * time.Second)
		equal(t, "inspections in 25s", w.count("Status"), 0) // all failed before the runtime
		equal(t, "attempts in 25s", rt.failed.Load(), 6)     // at 0 1 3 7 15 25
		rt.fail.Store(false)
		w.pass(10 * time.Second)
		w.shows("a:running")
		equal(t, "events", read(), "p:started a")
		rt.fail.Store(true)
		w.gen.RequestRelist("p")
		w.shows("a:running no status today")
		rt.fail.Store(false)
		w.pass(time.Second)
		w.shows("a:running")
		equal(t, "events", read(), "p:started a p:sync")
	})
}

// fickle fails on demand.
type fickle struct {
	*recorder
	fail   atomic.Bool
	failed atomic.Int64
	err    error
}

func (f *fickle) Status(ctx context.Context, id string) (*plegtest.Status, time.Time, error) {
	if f.fail.Load() {
		f.failed.Add(1)
		return nil, time.Time{}, f.err
	}
	return f.recorder.Status(ctx, id)
}

// TestStatusHangs: a call is given up after its timeout, others go on meanwhile.
func TestStatusHangs(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &hanging{recorder: w.rt, pod: "q"}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](rt, nil, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.gen = gen
		w.rt.Create("q", "b")
		w.up("a")
		w.start()
		w.shows("a:running")
		w.gen.RequestRelist("p") // is served while q hangs
		w.rt.Exit("p", "a")
		w.shows("a:exited")
		w.pass(10*time.Second + time.Millisecond)
		if e := w.cache.Get("q"); !errors.Is(e.Err, context.DeadlineExceeded) || !strings.Contains(e.Err.Error(), "Status(q)") {
			t.Errorf("after the timeout: %+v", e)
		}
	})
}

// hanging never answers for one pod.
type hanging struct {
	*recorder
	pod string
}

func (h *hanging) Status(ctx context.Context, id string) (*plegtest.Status, time.Time, error) {
	if id == h.pod {
		<-ctx.Done()
		return nil, time.Time{}, ctx.Err()
	}
	return h.recorder.Status(ctx, id)
}

// TestParallel: as many inspections at a time as the options say.
func TestParallel(t *testing.T) {
	setup{faults: plegtest.Faults{Slow: 1, SlowBy: 2 * time.Second}, options: pleg.GeneratorOptions{Parallel: 3}}.run(t, func(w *world) {
		for i := range 12 {
			w.rt.Create(fmt.Sprint("p", i), "a")
		}
		w.all.Go(func() { w.gen.Relist(w.ctx) })
		most := 0
		for range 300 {
			w.pass(100 * time.Millisecond)
			busy := 0
			for _, c := range w.rt.History().Calls {
				if c.Kind == "Status" && c.End.IsZero() {
					busy++
				}
			}
			most = max(most, busy)
		}
		equal(t, "inspections at a time", most, 3)
		equal(t, "pods", w.cache.Len(), 12)
	})
}

// TestDeleted: what no list shows is deleted, unless it is newer than the
// relist; also what others wrote.
func TestDeleted(t *testing.T) {
	setup{cache: pleg.CacheOptions[*plegtest.Status]{MaxSkew: time.Hour}}.run(t, func(w *world) {
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

// TestBlockedWrite: an entry that somebody stamped ahead of the clock blocks the
// generator no longer than that, and then nothing was lost.
func TestBlockedWrite(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.start()
		read := w.read("reader", 0)
		w.cache.Set("p", nil, nil, time.Now().Add(30*time.Second))
		w.rt.Exit("p", "a")
		w.pass(2 * time.Second)
		equal(t, "events", read(), "p:sync")
		w.pass(40 * time.Second)
		w.shows("a:exited")
		equal(t, "events", read(), "p:sync p:died a")
	})
}

// TestMerge: what Merge keeps is in the cache that the generator fills.
func TestMerge(t *testing.T) {
	keep := func(old, new *plegtest.Status) *plegtest.Status {
		return &plegtest.Status{Version: new.Version, Listed: new.Listed}
	}
	setup{cache: pleg.CacheOptions[*plegtest.Status]{Merge: keep}}.run(t, func(w *world) {
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

// TestEventHint: with hints an event makes its pod be looked at, and nothing
// else.
func TestEventHint(t *testing.T) {
	for _, trust := range []bool{false, true} {
		setup{stream: true, options: pleg.GeneratorOptions{TrustEvents: trust}}.run(t, func(w *world) {
			w.rt.Create("q", "b")
			w.start()
			read := w.read("reader", 0)
			w.pass(10 * time.Second)
			lists, _ := w.calls()
			w.up("a")
			w.shows("a:running")
			w.pass(time.Second)
			w.rt.Exit("p", "a")
			w.shows("a:exited")
			equal(t, "events", read(), "q:sync p:started a p:died a")
			later, _ := w.calls()
			equal(t, "lists", later, lists)
			s := w.gen.Stats()
			equal(t, "EventsReceived", s.EventsReceived, 3)
			equal(t, "Connections", s.Connections, 1)
			equal(t, "MissedEvents", s.MissedEvents, 0)
			equal(t, "EventLatency", s.EventLatency.Count(), 3)
		})
	}
}

// TestEventWithoutPod asks for a full relist.
func TestEventWithoutPod(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Nameless: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(10 * time.Second)
		lists, _ := w.calls()
		w.up("a")
		w.shows("a:running")
		if later, _ := w.calls(); later == lists {
			t.Error("no full relist")
		}
	})
}

// TestMissedEvents: a step that no event told of is counted once, when a full
// relist finds it, or after one if the relist of a pod did.
func TestMissedEvents(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		w.rt.Exit("p", "a")
		w.pass(time.Second)
		w.shows("a:running")
		w.gen.Relist(w.ctx)
		w.shows("a:exited")
		s := w.gen.Stats()
		equal(t, "Transitions", s.Transitions, 1)
		equal(t, "MissedEvents", s.MissedEvents, 1)
		w.rt.Remove("p", "a")
		w.up("b")
		w.gen.RequestRelist("p")
		w.shows("b:running")
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 1)
		w.pass(5 * time.Second)
		w.gen.Relist(w.ctx)
		s = w.gen.Stats()
		equal(t, "Transitions", s.Transitions, 3)
		equal(t, "MissedEvents", s.MissedEvents, 3)
	})
	setup{}.run(t, func(w *world) { // no stream: nothing to miss
		w.start()
		w.up("a")
		w.pass(5 * time.Second)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
	})
}

// TestSlowReader merges what a reader does not keep up with, pod by pod, and
// loses no exit.
func TestSlowReader(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.start()
		read := w.read("reader", time.Minute)
		w.up("a")
		w.pass(time.Second)
		for i := range 20 {
			w.up(fmt.Sprint("b", i))
			w.pass(time.Second)
			w.rt.Exit("p", fmt.Sprint("b", i))
			w.pass(time.Second)
		}
		w.rt.Exit("p", "a")
		w.pass(10 * time.Minute)
		equal(t, "events", read(), "p:started a p:sync")
		if s := w.gen.Stats(); s.MergedEvents < 30 {
			t.Errorf("%d merged events", s.MergedEvents)
		}
	})
}

// TestReaderJoins: a loop begins with one PodSync per pod that is there.
func TestReaderJoins(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.rt.Create("q", "b")
		w.rt.Create("gone", "c")
		w.gen.Relist(w.ctx)
		w.rt.Remove("gone", "c")
		w.gen.Relist(w.ctx)
		read := w.read("reader", 0)
		equal(t, "events", read(), "p:sync q:sync")
		for range w.gen.Events(w.ctx) {
			break
		}
		w.rt.Exit("p", "a")
		w.gen.Relist(w.ctx)
		equal(t, "events", read(), "p:sync q:sync p:died a")
		w.cache.Close()
		w.all.Wait()
	})
}

// TestWaiters: a wait on a pod that nothing happens to is ended by a relist of
// that pod, with an answer for one that is not there, and costs no list where a
// single pod can be listed. (kubernetes#124704: a wait that no event ever ends)
func TestWaiters(t *testing.T) {
	for _, listless := range []bool{false, true} {
		setup{stream: true, listless: listless}.run(t, func(w *world) {
			w.up("a")
			w.start()
			w.pass(10 * time.Second)
			lists, _ := w.calls()
			for _, id := range []string{"p", "nobody"} {
				begin := time.Now()
				w.pass(time.Millisecond)
				e, err := w.rt.Wait(w.ctx, w.cache, id, 2*time.Second)
				if err != nil || !e.Modified.After(begin) || e.Present != (id == "p") {
					t.Errorf("a wait for %s: %+v, %v", id, e, err)
				}
				equal(t, "lasted", time.Since(begin), 2*time.Second+time.Millisecond)
			}
			later, _ := w.calls()
			equal(t, "lists", later-lists, map[bool]int{false: 0, true: 2}[listless])
		})
	}
}

// TestWaitForTheFuture asks for nothing before its time has come.
func TestWaitForTheFuture(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.up("a")
		w.start()
		w.pass(10 * time.Second)
		_, before := w.calls()
		begin := time.Now()
		min := begin.Add(20 * time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := w.cache.GetNewerThan(w.ctx, "p", min)
			done <- err
		}()
		w.pass(19 * time.Second)
		_, calls := w.calls()
		equal(t, "calls before", calls, before)
		equal(t, "error", <-done, nil)
		if lasted := time.Since(begin); lasted > 25*time.Second {
			t.Errorf("lasted %v", lasted)
		}
	})
}

// TestRun: one at a time; again after the end; not on a closed cache.
func TestRun(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		if err := w.gen.Run(w.ctx); err == nil || !strings.Contains(err.Error(), "already running") {
			t.Errorf("a second Run: %v", err)
		}
		w.stop()
		w.all.Wait()
		w.up("a")
		w.pass(time.Minute)
		w.shows("gone")
		ctx, cancel := context.WithCancel(w.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.gen.Run(ctx) }()
		w.pass(0)
		w.shows("a:running")
		cancel()
		equal(t, "error", <-ended, context.Canceled)
		go func() { ended <- w.gen.Run(w.Context()) }()
		w.pass(0)
		w.cache.Close()
		equal(t, "error", <-ended, pleg.ErrClosed)
		equal(t, "error", w.gen.Run(w.Context()), pleg.ErrClosed)
		equal(t, "error", w.gen.Relist(w.Context()), pleg.ErrClosed)
	})
}

// TestCloseDuringEverything ends all that runs and waits.
func TestCloseDuringEverything(t *testing.T) {
	for after := range 20 {
		f := plegtest.Faults{Slow: 0.5, Hang: 0.1, Error: 0.1, Late: 0.5, Disconnect: 0.1}
		setup{stream: true, faults: f, options: pleg.GeneratorOptions{TrustEvents: true}}.run(t, func(w *world) {
			w.start()
			w.all.Go(func() { w.rt.Watch(w.ctx, "watcher", w.cache, time.Second) })
			w.read("reader", time.Second)
			for range 5 {
				w.all.Go(func() { w.gen.Relist(w.ctx) })
				w.all.Go(func() { w.rt.Wait(w.ctx, w.cache, "q", 0) })
				w.all.Go(func() {
					w.cache.WaitFor(w.ctx, "q", func(entry) bool { return false })
				})
			}
			w.up("a")
			w.pass(time.Duration(after) * 333 * time.Millisecond)
			w.rt.Exit("p", "a")
			w.cache.Close()
			w.all.Wait()
		})
	}
}

// TestNewGenerator refuses what cannot work, and says what.
func TestNewGenerator(t *testing.T) {
	rt, c := plegtest.New[string](1, plegtest.Faults{}), pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{})
	for _, tt := range []struct {
		rt   pleg.Runtime[string, *plegtest.Status]
		c    *pleg.Cache[string, *plegtest.Status]
		o    pleg.GeneratorOptions
		want []string
	}{
		{nil, c, pleg.GeneratorOptions{}, []string{"pleg: NewGenerator: ", "runtime is nil"}},
		{rt, nil, pleg.GeneratorOptions{}, []string{"pleg: NewGenerator: ", "cache is nil"}},
		{rt, c, pleg.GeneratorOptions{RelistPeriod: -1, Parallel: -2, WaitLimit: -time.Second},
			[]string{"pleg: NewGenerator: RelistPeriod: ", "-1ns", "Parallel: invalid value -2", "WaitLimit: invalid value -1s", "0 means 2s"}},
		{rt, c, pleg.GeneratorOptions{}, nil},
	} {
		_, err := pleg.NewGenerator(tt.rt, nil, tt.c, tt.o)
		var fields backoff.FieldErrors
		if valid := tt.o.Validate(); (valid == nil) != (tt.o == pleg.GeneratorOptions{}) || valid != nil && (!errors.As(err, &fields) || fields.Error() != valid.Error()) {
			t.Errorf("error %v does not wrap %v", err, valid)
		}
		if (err == nil) != (tt.want == nil) {
			t.Errorf("error: %v, want %q", err, tt.want)
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q says nothing of %q", err, want)
			}
		}
	}
}

// TestStatsAllocates nothing.
func TestStatsAllocates(t *testing.T) {
	w := setup{}.world(t)
	if n := testing.AllocsPerRun(100, func() { w.gen.Stats() }); n != 0 {
		t.Errorf("Stats() allocates %v times", n)
	}
	w.stop()
}

// TestChurn: pods come and go while readers sleep; what is held stays in
// proportion to the pods that are there (G7), and no reader ends in silence.
func TestChurn(t *testing.T) {
	setup{stream: true, options: pleg.GeneratorOptions{TrustEvents: true}}.run(t, func(w *world) {
		w.start()
		gate := make(chan struct{})
		var last pleg.Event[string]
		w.all.Go(func() {
			for e := range w.gen.Events(w.ctx) {
				last = e
				<-gate
			}
		})
		w.all.Go(func() {
			for range w.cache.Watch(w.ctx) {
				<-gate
			}
		})
		w.up("a")
		for i := range 5000 {
			id := fmt.Sprint("churn", i)
			w.rt.Create(id, "c")
			w.rt.Exit(id, "c")
			synctest.Wait()
			w.rt.Remove(id, "c")
			synctest.Wait()
			if i%500 == 0 {
				time.Sleep(time.Second)
			}
			s := w.gen.Stats()
			w.rt.Note(func(h *history) {
				h.Samples = append(h.Samples, sample{At: time.Now(), Stats: s, Readers: 1})
			})
		}
		close(gate)
		w.pass(time.Second)
		if last == (pleg.Event[string]{}) {
			t.Error("the reader was told nothing")
		}
		equal(t, "pods", w.cache.Len(), 1)
	})
}
