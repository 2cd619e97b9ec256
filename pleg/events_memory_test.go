package pleg

import (
	"fmt"
	"slices"
	"testing"

	"github.com/restartkit/restart/pleg/statuscache"
)

// A sleeping reader's memory is proportional to the present pods, though thousands come
// and go, and it gets a PodSync of all pods.
func TestSleepingReaderHoldsNoMoreThanThePods(t *testing.T) {
	r := newRelister[int, int](statuscache.New[int](statuscache.Options[int]{}), GeneratorOptions{}.withDefaults(), true)
	p := r.record(-1)
	p.present, r.present = true, 1
	rd := r.subscribe()
	for i := range 10000 {
		r.emit(i, []Event[int]{{i, ContainerStarted, "c"}, {i, ContainerDied, "c"}})
		if rd.pending.Len() > maxOrphans+2 || rd.dropped != (i > maxOrphans) {
			t.Fatalf("%d slots after %d pods, lost %v", rd.pending.Len(), i, rd.dropped)
		}
	}
	if n := int(r.stats.MergedEvents) + 2*(rd.pending.Len()-1); n != 20000 {
		t.Errorf("%d events are due or counted as merged, want all", n)
	}
	events, _ := rd.take()
	if !slices.Equal(events, []Event[int]{{Type: PodSync}}) {
		t.Errorf("first %v", events)
	}
	if events, _ = rd.take(); !slices.Equal(events, []Event[int]{{-1, PodSync, ""}}) {
		t.Errorf("then %v", events)
	}
	for i := range 100 {
		r.emit(-1, []Event[int]{{-1, ContainerChanged, fmt.Sprint(i)}})
	}
	for events, ok := rd.take(); ok; events, ok = rd.take() {
		if len(events) > slotEvents || events[0].Pod == -1 && !slices.Equal(events, []Event[int]{{-1, PodSync, ""}}) {
			t.Errorf("at once %v", events)
		}
	}
}
