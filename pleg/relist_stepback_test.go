package pleg

import (
	"fmt"
	"testing"
)

// exitedPod is a bench that knows of one container, which has exited.
func exitedPod(t *testing.T) *bench {
	exited := Container{ID: "p", State: StateExited}
	b := newBench(t, true)
	b.listNow = true
	b.lists(b.asks("Pods")[0], exited)
	b.status(b.asks("Status p")[0], nil, exited)
	b.settled()
	b.reader = b.subscribe()
	b.reader.take()
	b.now, b.listNow = t1, true
	return b
}

// The entries of a pod listed twice are merged. A smaller one is no step back.
func TestPodListedTwiceIsNoStepBack(t *testing.T) {
	b := exitedPod(t)
	b.handleResult(result[string, shown]{call: b.asks("Pods")[0], pods: []Pod[string]{
		{"p", []Container{{ID: "p", State: StateRunning}}},
		{"p", []Container{{ID: "p", State: StateExited}}},
	}}, b.now)
	b.asks("")
	b.settled()
	if n := b.relister.stats.StaleWrites; n != 0 {
		t.Errorf("%d refused", n)
	}
}

// Containers of a dropped list are remembered within the limit, and pods without any
// are not.
func TestDroppedListIsRememberedUpToABound(t *testing.T) {
	b := exitedPod(t)
	pods := []Pod[string]{{"p", []Container{{ID: "p", State: StateRunning}}}}
	for i := range 5 * maxOrphans {
		id := fmt.Sprint("other", i)
		pods = append(pods, Pod[string]{id, []Container{{ID: id, State: StateRunning}}})
	}
	b.handleResult(result[string, shown]{call: b.asks("Pods")[0], pods: pods}, b.now)
	b.holds()
	if n := len(b.orphans); n < maxOrphans/2 || n > maxOrphans {
		t.Errorf("%d containers are remembered, want between %d and %d", n, maxOrphans/2, maxOrphans)
	}
	if n := len(b.pods); n > maxOrphans {
		t.Errorf("%d pods are remembered, want at most %d", n, maxOrphans)
	}
}

// A status that shows a step back is asked for again. With lists of single pods, one of
// the pod is asked for instead.
func TestStatusThatStepsBackIsAskedForAgain(t *testing.T) {
	running, exited := Container{ID: "p", State: StateRunning}, Container{ID: "p", State: StateExited}
	other := Container{ID: "other", State: StateRunning}
	for single, again := range map[bool]string{true: "Pod p", false: "Status p"} {
		b := exitedPod(t)
		b.single = single
		b.lists(b.asks("Pods")[0], exited, other)
		b.status(b.asks("Status p")[0], nil, running, other)
		if !b.pods["p"].steppedBack {
			t.Errorf("single %v: no step back", single)
		}
		calls := b.asks(again)
		if single {
			b.lists(calls[0], exited, other)
			calls = b.asks("Status p")
		}
		b.status(calls[0], nil, exited, other)
		b.settled()
		if b.pods["p"].steppedBack {
			t.Errorf("single %v: the step back lasts", single)
		}
	}
}
