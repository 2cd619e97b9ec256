package pleg

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A pod listed twice is one pod, with the containers of both, in the place of the first.
func TestRepeatedPodsAreJoined(t *testing.T) {
	c := func(id string) Container { return Container{ID: id, State: StateRunning} }
	got := joined([]Pod[string]{{"a", []Container{c("1")}}, {"b", []Container{c("2")}}, {"a", []Container{c("3")}}, {"c", nil}})
	want := []Pod[string]{{"a", []Container{c("1"), c("3")}}, {"b", []Container{c("2")}}, {"c", nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The cache refuses what a list shows of a pod, because another writer was later. Its
// container, which the next look does not show, is remembered until the next list.
func TestContainerOfARefusedListOutlivesIt(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	b.now, b.listNow = b.now.Add(time.Second), true
	p := Container{ID: "p", State: StateRunning}
	b.lists(b.asks("Pods")[0], p, Container{ID: "new", State: StateExited})
	refused := b.asks("Status p")[0]
	b.now = b.now.Add(time.Second)
	b.cache.Set("p", shown{p}, nil, b.now)
	b.status(refused, nil, p)
	b.now = b.now.Add(time.Second)
	b.lists(b.asks("Pod p")[0], p)
	b.status(b.asks("Status p")[0], nil, p)
	b.settled()
	if b.pods["p"].containers["new"] == nil {
		t.Error("it is forgotten with its own list")
	}
	b.relisted("p")
	if b.pods["p"].containers["new"] != nil {
		t.Error("it is still remembered")
	}
}
