package statuscache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// SetObservedTime refuses absent keys, older times, and times that Set would refuse.
func TestSetObservedTimeMakesEntryNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t0 := time.Now()
		at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
		time.Sleep(10 * time.Second)
		c := statuscache.New[string](statuscache.Options[string]{Merge: func(old, new string) string { return old + "+" + new }})
		same(t, "of an unknown key", c.Writer().SetObservedTime("p", at(1)), false)
		c.Set("p", "a", nil, at(1))
		watched := 0
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range c.Watch(ctx) {
				watched++
			}
		}()
		waited := make(chan statuscache.Entry[string], 2)
		go func() {
			e, _ := c.GetNewerThan(ctx, "p", at(2))
			waited <- e
		}()
		go func() {
			e, _ := c.WaitFor(ctx, "p", func(e statuscache.Entry[string]) bool { return e.Modified.Equal(at(3)) })
			waited <- e
		}()
		synctest.Wait()
		for _, step := range []struct {
			at   time.Time
			want bool
		}{
			{at(1), false}, {t0, false}, {at(2), true}, {at(3), true}, {at(2), false}, {at(3), false},
			{at(10).Add(time.Minute + 1), false}, // ahead of the clock
		} {
			same(t, "Confirm at "+step.at.Sub(t0).String(), c.Writer().SetObservedTime("p", step.at), step.want)
		}
		for range 2 {
			if e := <-waited; e.Status != "a" || !e.Modified.Equal(at(3)) {
				t.Errorf("a wait returned %+v", e)
			}
		}
		synctest.Wait()
		same(t, "entries that were watched", watched, 1)
		same(t, "an older write", c.Set("p", "b", nil, at(2)), false)
		same(t, "a newer write", c.Set("p", "b", nil, at(4)), true)
		same(t, "merged", c.Get("p").Status, "a+b")
		c.Writer().UpdateTime(at(5))
		same(t, "what the global time knows", c.Writer().SetObservedTime("p", at(5)), false)
		c.Delete("p", at(6))
		same(t, "of a deleted key", c.Writer().SetObservedTime("p", at(7)), false)
		cancel()
		c.Set("p", "c", nil, at(8))
		c.Close()
		same(t, "after Close", c.Writer().SetObservedTime("p", at(9)), false)
	})
}

func same[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
