package pleg_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/restartkit/restart/pleg"
)

// Next returns for an exit, its context, and Close of the reader or the cache, pending
// exits first. Each of several callers is served.
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
		waiting, _ := w.follow(pleg.ExitOptions[string]{})
		closed := make(chan error, 1)
		go func() {
			_, err := waiting.Next(w.ctx)
			closed <- err
		}()
		synctest.Wait()
		waiting.Close()
		equal(t, "error after Close while waiting", <-closed, pleg.ErrClosed)
		other, _ := w.follow(pleg.ExitOptions[string]{})
		w.all.Go(func() {
			_, err := other.Next(w.ctx)
			equal(t, "error after the Close of the cache", err, pleg.ErrClosed)
		})
		synctest.Wait()
		w.cache.Close()
	})
}
