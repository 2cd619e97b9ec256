package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// TestStreamThatTellsIsOne at once, not only when it has lived for a while.
func TestStreamThatTellsIsOne(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		w.pass(time.Millisecond)
		equal(t, "connections of a silent stream", w.gen.Stats().Connections, 0)
		w.up("a")
		w.pass(time.Millisecond)
		equal(t, "connections of one that told", w.gen.Stats().Connections, 1)
		w.pass(time.Minute)
		equal(t, "connections in the end", w.gen.Stats().Connections, 1)
	})
}

// TestNothingStreamsAfterRun: a Generator that does not run relies on no stream,
// misses no event and leaves no timer behind.
func TestNothingStreamsAfterRun(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(time.Minute)
		equal(t, "streaming", w.gen.Stats().Streaming, true)
		w.stop()
		w.all.Wait()
		equal(t, "streaming after Run", w.gen.Stats().Streaming, false)
		w.up("a")
		w.gen.Relist(w.Context())
		w.shows("a:running")
		equal(t, "Transitions", w.gen.Stats().Transitions, 0)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
		w.pass(170 * time.Second)
		equal(t, "healthy", w.gen.Healthy(), nil)
		w.pass(11 * time.Second)
		if w.gen.Healthy() == nil {
			t.Error("healthy by the limit of the long period")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
		c := pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{Clock: clock})
		gen, err := pleg.NewGenerator[string, *plegtest.Status](plegtest.New[string](1, plegtest.Faults{}), nil, c, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		gen.Relist(t.Context())
		if clock.HasWaiters() {
			t.Error("a timer is left behind")
		}
	})
}

// TestNothingIsMissedOfAnUnsupportedStream.
func TestNothingIsMissedOfAnUnsupportedStream(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.rt.SetUnsupported(true)
		w.start()
		w.pass(5 * time.Second)
		w.up("a")
		w.pass(5 * time.Second)
		w.shows("a:running")
		equal(t, "Transitions", w.gen.Stats().Transitions, 0)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 0)
	})
}

// TestYoungStreamMayTellLate: a step that a list finds before the stream is relied
// upon is missed only if the next full list still knows of no event.
func TestYoungStreamMayTellLate(t *testing.T) {
	setup{stream: true, faults: plegtest.Faults{Drop: 1}}.run(t, func(w *world) {
		w.start()
		w.pass(100 * time.Millisecond)
		w.up("a")
		w.gen.Relist(w.ctx)
		s := w.gen.Stats()
		equal(t, "Transitions", s.Transitions, 1)
		equal(t, "MissedEvents at once", s.MissedEvents, 0)
		w.pass(10 * time.Second)
		w.gen.Relist(w.ctx)
		equal(t, "MissedEvents", w.gen.Stats().MissedEvents, 1)
	})
}

// TestHungCallEndsAtItsDeadline outside of Run too, where nothing else wakes the
// generator.
func TestHungCallEndsAtItsDeadline(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &hanging{recorder: w.rt, pod: "p"}
		gen, err := pleg.NewGenerator[string, *plegtest.Status](rt, nil, w.cache, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.gen = gen
		w.up("a")
		begin := time.Now()
		equal(t, "error", gen.Relist(w.ctx), nil)
		equal(t, "lasted", time.Since(begin), 10*time.Second)
		if e := w.cache.Get("p"); !errors.Is(e.Err, context.DeadlineExceeded) {
			t.Errorf("%+v", e)
		}
	})
}

// TestUnknownEventTellsOfNothing but that the pod is worth a look.
func TestUnknownEventTellsOfNothing(t *testing.T) {
	scripted(t, func(w *world, s *script) {
		w.up("a")
		w.gen.Relist(w.ctx)
		read := w.read("reader", 0)
		_, before := w.calls()
		s.handle(event("z", 99, time.Now(), nil))
		w.pass(time.Second)
		equal(t, "events", read(), "p:sync")
		if _, calls := w.calls(); calls != before+2 {
			t.Errorf("%d calls, want one look", calls-before)
		}
	})
}

// TestEventAsOldAsTheRelistIsAHint: what a full relist knows is as new as its
// begin, so an event of that moment shows nothing newer, also of a pod that it
// did not have to inspect.
func TestEventAsOldAsTheRelistIsAHint(t *testing.T) {
	for _, late := range []time.Duration{0, 1} {
		slowCalls.scripted(t, func(w *world, s *script) {
			w.up("a")
			w.gen.Relist(w.ctx)
			w.pass(time.Minute)
			w.gen.Relist(w.ctx)
			listed := w.gen.Stats().LastSeen
			w.pass(time.Second)
			w.rt.Exit("p", "a")
			s.handle(event("a", pleg.RuntimeStopped, listed.Add(late), w.rt.Truth()["p"]))
			w.shows([]string{"a:running", "a:exited"}[late])
			w.pass(10 * time.Second)
			w.shows("a:exited")
		})
	}
}

// TestLoopEndsWithItsContextAtOnce, whatever is pending.
func TestLoopEndsWithItsContextAtOnce(t *testing.T) {
	setup{}.run(t, func(w *world) {
		for i := range 5 {
			w.rt.Create(fmt.Sprint("p", i), "a")
		}
		w.gen.Relist(w.ctx)
		for name, loop := range map[string]func(ctx context.Context, stop func()) int{
			"Events": func(ctx context.Context, stop func()) (n int) {
				for range w.gen.Events(ctx) {
					n++
					stop()
				}
				return n
			},
			"Watch": func(ctx context.Context, stop func()) (n int) {
				for range w.cache.Watch(ctx) {
					n++
					stop()
				}
				return n
			},
		} {
			ctx, cancel := context.WithCancel(w.ctx)
			if n := loop(ctx, cancel); n != 1 {
				t.Errorf("%s yields %d times, want 1", name, n)
			}
			if n := loop(ctx, cancel); n != 0 {
				t.Errorf("%s yields %d times after the end", name, n)
			}
		}
		equal(t, "left behind", w.gen.Stats().Backlog, 0)
		w.rt.Exit("p0", "a")
		w.gen.Relist(w.ctx)
		equal(t, "left behind", w.gen.Stats().Backlog, 0)
	})
}

// TestWatchForgetsWhatItShowedAsGone: the key is one that came and went unseen,
// when it does so again.
func TestWatchForgetsWhatItShowedAsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pleg.NewCache[string](pleg.CacheOptions[string]{MaxSkew: -1})
		now := time.Now()
		c.Set("a", "1", nil, now)
		next := make(chan string)
		go func() {
			defer close(next)
			for key, e := range c.Watch(t.Context()) {
				next <- fmt.Sprint(key, e.Present)
			}
		}()
		for i, want := range []string{"atrue", "afalse", "btrue"} {
			if got := <-next; got != want {
				t.Errorf("step %d: %s, want %s", i, got, want)
			}
			synctest.Wait()
			switch i {
			case 0:
				c.Delete("a", now.Add(time.Second))
			case 1:
				c.Set("b", "1", nil, now) // keeps the loop busy
				synctest.Wait()
				c.Set("a", "2", nil, now.Add(2*time.Second))
				c.Delete("a", now.Add(3*time.Second))
			}
		}
		c.Close()
		if got, open := <-next; open {
			t.Errorf("then %s", got)
		}
	})
}
