package plegtest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A supervisor is the consumer under test. It records exited containers, which it reads
// from the cache after an event.
type supervisor struct {
	exited map[string]bool
}

func (s *supervisor) watch(ctx context.Context, gen *pleg.Generator[string, *plegtest.Status], cache *statuscache.Cache[string, *plegtest.Status]) {
	for e := range gen.Events(ctx) {
		entry := cache.Get(e.Pod)
		if !entry.Present || entry.Err != nil {
			continue
		}
		for _, c := range entry.Status.Listed {
			if c.State == pleg.StateExited {
				s.exited[c.ID] = true
			}
		}
	}
}

// A script without delays. Each Relist sees the earlier changes, and closing the cache
// ends the consumer.
func ExampleRuntime() {
	ctx := context.Background()
	rt := plegtest.New[string](1, plegtest.Faults{})
	cache := statuscache.New[string](statuscache.Options[*plegtest.Status]{})
	gen, err := pleg.NewGenerator(rt, cache, pleg.GeneratorOptions[string]{})
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
	cache.Close()
	<-done

	fmt.Println("exited:", s.exited)
	fmt.Println("in the cache:", cache.Get("pod").Status)
	fmt.Println("the truth:   ", rt.Truth()["pod"])
	fmt.Println("lists:", rt.Calls()["Pods"])
	// Output:
	// exited: map[b:true]
	// in the cache: v7 a:running b:exited c:running
	// the truth:    v7 a:running b:exited c:running
	// lists: 4
}

// The example's consumer in a bubble. The runtime drops a third of its events, delays
// another third, and restarts three times.
func TestSupervisorMissesNoExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rt := plegtest.New[string](1, plegtest.Faults{Drop: 0.3, Late: 0.3})
		cache := statuscache.New[string](statuscache.Options[*plegtest.Status]{})
		gen, err := pleg.NewGenerator(rt, cache, pleg.GeneratorOptions[string]{Stream: rt, EventedPeriod: 10 * time.Second})
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
		synctest.Wait()
		for _, c := range rt.Truth()["pod"].Listed {
			if c.State != pleg.StateExited || !s.exited[c.ID] {
				t.Errorf("container %s is %v, and the supervisor knows of %v", c.ID, c.State, s.exited)
			}
		}
		if rt.Injected()["Restart"] != 3 {
			t.Errorf("injected %v", rt.Injected())
		}
	})
}
