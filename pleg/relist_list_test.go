package pleg

import (
	"testing"

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

// A container reported while a list was under way is remembered until a later one.
func TestContainerOfAnEventOutlivesAnEarlierList(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	b.now, b.listNow = b.now.Add(1), true
	list := b.asks("Pods")[0]
	b.noteEvents("p", map[string]rank{"new": exited})
	b.lists(b.asks("Pod p")[0], Container{ID: "p", State: StateRunning}) // it has come and gone
	for _, c := range b.calls(b.now, b.running, b.period) {
		b.status(c, nil, Container{ID: "p", State: StateRunning})
	}
	b.lists(list, Container{ID: "p", State: StateRunning})
	b.settled()
	if b.pods["p"].containers["new"] == nil {
		t.Error("it is forgotten with the list that began before")
	}
	b.relisted("p")
	if b.pods["p"].containers["new"] != nil {
		t.Error("it is still remembered")
	}
}
