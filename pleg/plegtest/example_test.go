package plegtest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// A supervisor is a consumer to be tested: it notes which containers have
// exited. It takes events for hints and looks at the cache, so it may miss some.
type supervisor struct {
	exited map[string]bool
}

func (s *supervisor) watch(ctx context.Context, gen *pleg.Generator[string, *plegtest.Status], cache *pleg.Cache[string, *plegtest.Status]) {
	for e := range gen.Events(ctx) {
		entry := cache.Get(e.Pod)
		if !entry.Present || entry.Err != nil {
			continue
		}
		for _, c := range entry.Status.Containers() {
			if c.State == pleg.StateExited {
				s.exited[c.ID] = true
			}
		}
	}
}

// A script without time: each Relist sees what was done before it, and the
// consumer ends when the cache is closed.
func ExampleRuntime() {
	ctx := context.Background()
	rt := plegtest.New[string](1, plegtest.Faults{})
	cache := pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{})
	gen, err := pleg.NewGenerator(rt, nil, cache, pleg.GeneratorOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := &supervisor{exited: map[string]bool{}}
	done := make(chan struct{})
	go func() {
		s.watch(ctx, gen, cache)
		close(done)
	}()

	for _, c := range []string{"a", "b", "c"} {
		rt.Create("pod", c)
		rt.Start("pod", c)
		gen.Relist(ctx)
	}
	rt.Exit("pod", "b")
	gen.Relist(ctx)
	rt.Compare(cache, 4)
	cache.Close()
	<-done

	fmt.Println("exited:", s.exited)
	fmt.Println("in the cache:", cache.Get("pod").Status)
	fmt.Println("violations:", plegtest.Check(rt.History()))
	// Output:
	// exited: map[b:true]
	// in the cache: v7 a:running b:exited c:running
	// violations: []
}

// The same consumer in a bubble, with a runtime that drops a third of its
// events, is late with another, and is restarted: Run does the work, and the
// time that passes is the bubble's.
func TestSupervisor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rt := plegtest.New[string](1, plegtest.Faults{Drop: 0.3, Late: 0.3})
		cache := pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{})
		gen, err := pleg.NewGenerator(rt, rt, cache, pleg.GeneratorOptions{EventedPeriod: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s := &supervisor{exited: map[string]bool{}}
		go gen.Run(ctx)
		go s.watch(ctx, gen, cache)
		for _, c := range []string{"a", "b", "c"} {
			rt.Create("pod", c)
			rt.Start("pod", c)
			time.Sleep(time.Second)
			go rt.Restart(500 * time.Millisecond)
			time.Sleep(100 * time.Millisecond)
			rt.Exit("pod", c) // while it is down
		}
		time.Sleep(20 * time.Second)
		rt.Compare(cache, 4)
		synctest.Wait()
		if len(s.exited) != 3 {
			t.Errorf("exited: %v", s.exited)
		}
		if v := plegtest.Check(rt.History()); len(v) > 0 {
			t.Errorf("%v\n%v", v, rt.History())
		}
	})
}
