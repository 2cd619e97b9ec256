package pleg_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
	clocktesting "k8s.io/utils/clock/testing"
)

// standing is a runtime of one pod with one container, and a
// stream that stays open without events. It counts.
type standing struct {
	lists, inspections int
	state              pleg.State
	err                error
}

func (s *standing) Pods(context.Context) ([]pleg.Pod[string], error) {
	s.lists++
	return []pleg.Pod[string]{{ID: "p", Containers: []pleg.Container{{ID: "c", State: s.state}}}}, s.err
}

func (s *standing) Pod(context.Context, string) (pleg.Pod[string], string, error) {
	s.inspections++
	return pleg.Pod[string]{ID: "p", Containers: []pleg.Container{{ID: "c", State: s.state}}}, s.state.String(), s.err
}

func (s *standing) Events(ctx context.Context, _ events) error {
	<-ctx.Done()
	return ctx.Err()
}

// pass advances a fake clock and lets all due work happen.
func pass(c *clocktesting.FakeClock, d time.Duration) {
	c.Step(d)
	synctest.Wait()
}

// A clock may show the zero time, as fake clocks do, or an earlier one. Neither is
// taken for "never".
func TestClockAtZeroTime(t *testing.T) {
	for name, begin := range map[string]time.Time{
		"zero": {}, "later": at(0), "earlier": time.Time{}.Add(-24 * time.Hour), "a second before": time.Time{}.Add(-time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, rt := clocktesting.NewFakeClock(begin), &standing{state: pleg.StateRunning}
				c := statuscache.New[string](statuscache.Options[string]{Clock: clock})
				g, err := pleg.NewGenerator(rt, c, pleg.GeneratorOptions[string]{Stream: rt})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Healthy(); err == nil {
					t.Error("healthy before the first relist")
				}
				if err := g.Relist(t.Context()); err != nil {
					t.Fatal(err)
				}
				if e := c.Get("p"); !e.Present || e.Status != "running" || !e.Modified.Equal(begin) {
					t.Errorf("after Relist the cache has %+v", e)
				}
				if err := g.Healthy(); err != nil {
					t.Error(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- g.Run(ctx) }()
				synctest.Wait()
				if rt.lists != 1 { // Relist's
					t.Errorf("%d lists while the clock stands", rt.lists)
				}
				rt.state = pleg.StateExited
				type answer struct {
					statuscache.Entry[string]
					err error
				}
				wait := make(chan answer, 1)
				go func() {
					e, err := c.GetNewerThan(ctx, "p", begin)
					wait <- answer{e, err}
				}()
				synctest.Wait()
				for range 10 {
					pass(clock, 200*time.Millisecond)
				}
				if got := <-wait; got.err != nil || got.Status != "exited" || !got.Modified.After(begin) {
					t.Errorf("the wait returned %+v", got)
				}
				s := g.Stats()
				if s.RelistInterval.Count() != s.Relists-1 || !s.Streaming {
					t.Errorf("%d intervals of %d relists, streaming %v", s.RelistInterval.Count(), s.Relists, s.Streaming)
				}
				lists := rt.lists
				for range 100 {
					pass(clock, time.Second)
				}
				if rt.lists != lists {
					t.Errorf("%d lists in 100 quiet seconds with a stream", rt.lists-lists)
				}
				cancel()
				<-ended
			})
		})
	}
}

// A list or an inspection that fails at the zero time has the usual backoff.
func TestFailureAtTheZeroTimeBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		clock, rt := clocktesting.NewFakeClock(time.Time{}), &standing{state: pleg.StateRunning, err: down}
		c := statuscache.New[string](statuscache.Options[string]{Clock: clock})
		g, err := pleg.NewGenerator(rt, c, pleg.GeneratorOptions[string]{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		synctest.Wait()
		if rt.lists != 1 || g.Healthy() == nil {
			t.Errorf("%d lists while the clock stands, healthy: %v", rt.lists, g.Healthy())
		}
		for range 10 {
			pass(clock, 500*time.Millisecond)
		}
		if rt.lists != 6 {
			t.Errorf("%d failing lists in 5 s, want 6", rt.lists)
		}
		cancel()
		<-ended
	})
}
