package pleg_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// A runtime loses all of its containers and shows them again. However many they are, each
// has one exit, and a reader that was busy meanwhile loses none.
func TestOutageRepeatsAndLosesNoExit(t *testing.T) {
	const pods, each = 200, 50 // many more than 4096
	setup{}.run(t, func(w *world) {
		all := map[string][]pleg.Container{}
		set := func(state pleg.State) {
			for i := range pods {
				var list []pleg.Container
				for j := range each {
					list = append(list, pleg.Container{ID: fmt.Sprint(i, "-", j), State: state})
				}
				all[fmt.Sprint(i)] = list
			}
		}
		rt := &scene{recorder: w.rt}
		rt.pods = func() (list []pleg.Pod[string], err error) {
			for id, containers := range all {
				list = append(list, pod(id, containers...))
			}
			return list, nil
		}
		rt.pod = func(id string) (pleg.Pod[string], *plegtest.Status, error) {
			if all[id] == nil {
				return pod(id), nil, pleg.ErrNotFound
			}
			return pod(id, all[id]...), &plegtest.Status{Listed: all[id]}, nil
		}
		w.replace(rt, false)
		r, _ := w.follow(pleg.ExitOptions[string]{})
		set(pleg.StateRunning)
		w.relist()
		w.pass(time.Second)
		clear(all)
		w.relist()
		w.pass(time.Second)
		w.relist()
		w.pass(time.Second)
		set(pleg.StateRunning)
		w.relist()
		w.pass(time.Second)
		set(pleg.StateExited)
		w.relist()
		exits := map[string]int{}
		for e, ok := r.TryNext(); ok; e, ok = r.TryNext() {
			if exits[e.Container]++; exits[e.Container] > 1 || e.Lost > 0 {
				t.Fatalf("exit %d of %s, %d lost", exits[e.Container], e.Container, e.Lost)
			}
		}
		equal(t, "containers with an exit", len(exits), pods*each)
	})
}

// A removed container is remembered for 4096 more removals and twice the containers that
// there were.
func TestMemoryOfRemovedContainersIsBounded(t *testing.T) {
	setup{}.run(t, func(w *world) {
		l := newListing(w)
		most := 0
		for i := range 3000 {
			l.list = []pleg.Pod[string]{pod("p", pleg.Container{ID: fmt.Sprint(2 * i)}, pleg.Container{ID: fmt.Sprint(2*i + 1)})}
			w.relist()
			w.pass(time.Second)
			most = max(most, w.gen.Stats().Retained)
		}
		if most < 4096 || most > 4096+2*4 {
			t.Errorf("up to %d removed containers are remembered", most)
		}
	})
}

// A reader that resumes with many pending exits keeps them.
func TestResumedExitsAreKept(t *testing.T) {
	setup{}.run(t, func(w *world) {
		const due = 6000
		p := pleg.ExitPosition[string]{Baseline: true}
		for i := range due {
			p.Due = append(p.Due, pleg.Exit[string]{Pod: "p", Container: fmt.Sprint(i), Source: pleg.ExitInferred})
		}
		r, _ := w.follow(pleg.ExitOptions[string]{Resume: &p})
		w.up("a")
		w.relist()
		w.rt.Exit("p", "a")
		w.pass(time.Second)
		w.relist()
		e, _ := r.TryNext()
		equal(t, "lost", e.Lost, 1) // for the exit of a
		equal(t, "left", len(r.Position().Due), due-1)
	})
}
