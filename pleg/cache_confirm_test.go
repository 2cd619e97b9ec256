package pleg_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
)

// Confirm makes an entry newer and nothing else: no absent key, no older time, none
// that Set would refuse.
func TestConfirmMakesAnEntryNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t0 := time.Now()
		at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
		time.Sleep(10 * time.Second)
		c := pleg.NewCache[string](pleg.CacheOptions[string]{Merge: func(old, new string) string { return old + "+" + new }})
		equal(t, "of an unknown key", c.Confirm("p", at(1)), false)
		c.Set("p", "a", nil, at(1))
		watched := 0
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range c.Watch(ctx) {
				watched++
			}
		}()
		waited := make(chan pleg.Entry[string], 2)
		go func() {
			e, _ := c.GetNewerThan(ctx, "p", at(2))
			waited <- e
		}()
		go func() {
			e, _ := c.WaitFor(ctx, "p", func(e pleg.Entry[string]) bool { return e.Modified.Equal(at(3)) })
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
			equal(t, "Confirm at "+step.at.Sub(t0).String(), c.Confirm("p", step.at), step.want)
		}
		for range 2 {
			if e := <-waited; e.Status != "a" || !e.Modified.Equal(at(3)) {
				t.Errorf("a wait returned %+v", e)
			}
		}
		synctest.Wait()
		equal(t, "entries that were watched", watched, 1)
		equal(t, "an older write", c.Set("p", "b", nil, at(2)), false)
		equal(t, "a newer write", c.Set("p", "b", nil, at(4)), true)
		equal(t, "merged", c.Get("p").Status, "a+b")
		c.UpdateTime(at(5))
		equal(t, "what the global time knows", c.Confirm("p", at(5)), false)
		c.Delete("p", at(6))
		equal(t, "of a deleted key", c.Confirm("p", at(7)), false)
		cancel()
		c.Set("p", "c", nil, at(8))
		c.Close()
		equal(t, "after Close", c.Confirm("p", at(9)), false)
	})
}
