package pleg_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Events are merged by pod for a slow reader, and no exit is lost.
func TestSlowReaderLosesNoExit(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.start()
		read := w.read(time.Minute)
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

func TestReaderBeginsWithOneSyncPerPod(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.rt.Create("q", "b")
		w.rt.Create("gone", "c")
		w.gen.Relist(w.ctx)
		w.rt.Remove("gone", "c")
		w.gen.Relist(w.ctx)
		read := w.read(0)
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

// Up to eight events of a pod wait for a reader. With one more, they become a single
// PodSync and all count as merged.
func TestReaderBehindGetsOneSync(t *testing.T) {
	for _, tt := range []struct {
		steps  int
		events string
		merged uint64
	}{
		{7, "p:changed a p:started a p:died a p:removed a p:changed b p:started b p:died b", 0},
		{8, "p:changed a p:started a p:died a p:removed a p:changed b p:started b p:died b p:removed b", 0},
		{9, "p:sync", 9},
		{12, "p:sync", 12},
	} {
		setup{}.run(t, func(w *world) {
			w.rt.Create("p", "keep")
			w.rt.Create("q", "one")
			w.gen.Relist(w.ctx)
			read := w.read(time.Minute)
			w.rt.Remove("q", "one") // the reader sleeps over its first event
			w.pass(time.Minute + time.Second)
			w.gen.Relist(w.ctx)
			w.pass(3*time.Minute - 2*time.Second)
			already := len(read())
			w.rt.Create("s", "last")
			w.gen.Relist(w.ctx)
			w.pass(time.Second)
			for i := range tt.steps {
				id := string(rune('a' + i/4))
				[]func(string, string) bool{w.rt.Create, w.rt.Start, w.rt.Exit, w.rt.Remove}[i%4]("p", id)
				w.gen.Relist(w.ctx)
				w.pass(time.Second)
			}
			merged := w.gen.Stats().MergedEvents
			w.pass(30 * time.Minute)
			_, got, _ := strings.Cut(read()[already:], "s:changed last ")
			equal(t, "events", got, tt.events)
			equal(t, "merged", merged, tt.merged)
		})
	}
}

// A loop ends with its context even if events are pending.
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
		w.rt.Exit("p0", "a")
		w.relist()
		equal(t, "left behind", w.gen.Stats().Retained, 0)
	})
}

// Once Watch has yielded a deletion, a key that comes and goes unseen again is not
// yielded.
func TestWatchForgetsYieldedDeletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := statuscache.New[string](statuscache.Options[string]{MaxSkew: -1})
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

// Pods without containers count as present. Their pending events are neither dropped nor
// replaced by a PodSync of all pods.
func TestPendingEventsOfPodsWithoutContainers(t *testing.T) {
	setup{}.run(t, func(w *world) {
		l := newListing(w)
		const pods = 3000
		for i := range pods {
			l.list = append(l.list, pod(fmt.Sprint(i)))
		}
		w.relist()
		w.pass(time.Second)
		gate, seen := make(chan struct{}), map[string]int{}
		w.all.Go(func() {
			for e := range w.gen.Events(w.ctx) {
				seen[e.Pod]++
				<-gate
			}
		})
		w.pass(time.Second)
		l.list[7].Containers = []pleg.Container{{ID: "a"}}
		w.relist()
		close(gate)
		w.pass(time.Second)
		equal(t, "PodSyncs of all pods", seen[""], 0)
		equal(t, "pods with events", len(seen), pods)
	})
}

// While pods come and go and readers sleep, memory stays bounded, and readers still get events.
func TestChurnHoldsNoMoreThanThePods(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
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
		for i := range 6000 {
			id := fmt.Sprint("churn", i)
			w.rt.Create(id, "c")
			w.rt.Exit(id, "c")
			synctest.Wait()
			w.rt.Remove(id, "c")
			synctest.Wait()
			if i%500 == 0 {
				time.Sleep(time.Second)
			}
			if n := w.gen.Stats().Retained; n > 4096+3*1024+100 {
				t.Fatalf("%d things are held", n)
			}
		}
		close(gate)
		w.pass(time.Second)
		if last == (pleg.Event[string]{}) {
			t.Error("the reader got nothing")
		}
		equal(t, "pods", w.cache.Len(), 1)
	})
}
