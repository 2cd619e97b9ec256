package pleg_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Each pod that a look did not find leaves a tombstone. Beyond the limit, an early full
// list frees them.
func TestTombstonesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, c := &nobody{}, statuscache.New[int](statuscache.Options[int]{})
		g, err := pleg.NewGenerator[int, int](rt, rt, c, pleg.GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		lists, most := rt.lists, 0
		for i := range 5000 {
			g.RequestRelist(i)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			most = max(most, c.Counts().Tombstones)
			if n := g.Stats().Retained; n < c.Counts().Tombstones {
				t.Fatalf("%d things are remembered, of them %d tombstones", n, c.Counts().Tombstones)
			}
		}
		if most < pleg.MaxOrphans/2 || most > pleg.MaxOrphans+4 {
			t.Errorf("at most %d tombstones, want about %d", most, pleg.MaxOrphans)
		}
		if rt.lists == lists || rt.lists > lists+6 {
			t.Errorf("%d lists to forget", rt.lists-lists)
		}
		cancel()
		<-ended
	})
}

// nobody is a Runtime and PodLister without pods.
type nobody struct{ lists int }

func (n *nobody) Pods(context.Context) ([]pleg.Pod[int], error) { n.lists++; return nil, nil }

func (n *nobody) Pod(context.Context, int) (pleg.Pod[int], error) {
	return pleg.Pod[int]{}, pleg.ErrNotFound
}

func (n *nobody) Status(context.Context, int) (int, time.Time, error) {
	return 0, time.Time{}, pleg.ErrNotFound
}

func (n *nobody) Events(ctx context.Context, _ func(pleg.RuntimeEvent[int, int])) error {
	<-ctx.Done()
	return ctx.Err()
}
