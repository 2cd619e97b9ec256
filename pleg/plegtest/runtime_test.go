package plegtest_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

func TestImpossibleChangesAreRejected(t *testing.T) {
	rt := plegtest.New[string](1, plegtest.Faults{})
	for _, step := range []struct {
		do             func(pod, container string) bool
		pod, container string
		want           bool
		truth          string
	}{
		{rt.Start, "p", "a", false, "gone"}, // not there
		{rt.Create, "p", "a", true, "v1 a:created"},
		{rt.Create, "p", "a", false, "v1 a:created"}, // there
		{rt.Exit, "p", "a", true, "v2 a:exited"},
		{rt.Start, "p", "a", false, "v2 a:exited"}, // over
		{rt.Create, "p", "b", true, "v3 a:exited b:created"},
		{rt.Remove, "p", "a", true, "v4 b:created"},
		{rt.Create, "p", "a", false, "v4 b:created"}, // ids are used once
		{rt.Create, "q", "c", true, "v1 c:created"},
		{rt.Remove, "q", "c", true, "gone"},
		{rt.Remove, "q", "c", false, "gone"},
	} {
		if ok, truth := step.do(step.pod, step.container), rt.Truth()[step.pod].String(); ok != step.want || truth != step.truth {
			t.Errorf("container %s: %v, and pod %s is %s, want %v, %s", step.container, ok, step.pod, truth, step.want, step.truth)
		}
	}
	pods, err := rt.Pods(t.Context())
	if err != nil || len(pods) != 1 || pods[0].ID != "p" || len(pods[0].Containers) != 1 {
		t.Errorf("Pods() = %v, %v", pods, err)
	}
	for _, id := range []string{"q", "nobody"} {
		if _, s, err := rt.Pod(t.Context(), id); !errors.Is(err, pleg.ErrNotFound) || s != nil {
			t.Errorf("Pod(%s): %v, %v", id, s, err)
		}
	}
	if calls := fmt.Sprint(rt.Calls()); calls != "map[Events:0 Pod:2 Pods:1]" || rt.Busy() != 0 {
		t.Errorf("calls %v, %d under way", calls, rt.Busy())
	}
}

// The same seed and script give the same faults, another seed different ones.
func TestSameSeedSameFaults(t *testing.T) {
	script := func(seed uint64) string {
		var trace strings.Builder
		var mu sync.Mutex
		note := func(what ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(&trace, what...)
		}
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			rt := plegtest.New[string](seed, plegtest.Faults{Drop: 0.3, Duplicate: 0.3, Late: 0.3, Lag: 0.3, Error: 0.3, Skew: 0.4})
			go rt.Events(t.Context(), func(e pleg.RuntimeEvent[string]) {
				note(time.Since(begin), e.Container, e.Type, e.At, e.Exit)
			})
			synctest.Wait()
			for c := range strings.SplitSeq("abcdefghij", "") {
				rt.Create("p", c)
				rt.Start("p", c)
				synctest.Wait()
				_, s, err := rt.Pod(t.Context(), "p")
				note(time.Since(begin), s, err)
				time.Sleep(time.Second)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			note(rt.Injected())
		})
		return trace.String()
	}
	first := script(7)
	if again := script(7); again != first {
		t.Errorf("seed 7 gives\n%s\nand then\n%s", first, again)
	}
	if other := script(8); other == first {
		t.Errorf("seeds 7 and 8 both give\n%s", first)
	}
}

// After SetFaults with none, the runtime has no faults.
func TestSetFaultsEndsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := plegtest.New[string](1, plegtest.Faults{
			Drop: 1, Error: 0.5, Hang: 0.5, Slow: 0.5, Skew: 0.5, Empty: 1, Lag: 1, EndAtOnce: 1, Disconnect: 1,
		})
		rt.Create("p", "a")
		rt.SetFaults(plegtest.Faults{})
		injected := rt.Injected()
		events := 0
		go rt.Events(t.Context(), func(e pleg.RuntimeEvent[string]) {
			if events++; !e.At.Equal(time.Now()) {
				t.Errorf("event %+v", e)
			}
		})
		synctest.Wait()
		rt.Start("p", "a")
		synctest.Wait()
		for range 20 {
			p, s, err := rt.Pod(t.Context(), "p")
			if s.String() != "v2 a:running" || p.ID != "p" || len(p.Containers) != 1 || err != nil {
				t.Fatal(p, s, err)
			}
		}
		if events != 1 || !maps.Equal(rt.Injected(), injected) {
			t.Errorf("%d events; injected %v, and before %v", events, rt.Injected(), injected)
		}
	})
}
