package pleg

import (
	"fmt"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// Events without a reader are merged and bounded.
func TestFloodOfEventsIsBounded(t *testing.T) {
	q := &eventQueue[string, int]{wake: make(chan struct{}, 1), limit: 100}
	for i := range 5000 {
		q.event(RuntimeEvent[string, int]{Pod: fmt.Sprint("p", i%500), Container: fmt.Sprint("c", i), Type: RuntimeEventType(i / 500 % 5), At: t0,
			Seen: &PodSnapshot[string, int]{Status: i}}, t1)
		q.request(fmt.Sprint("p", i%500))
	}
	if q.pods.Len() != 100 || !q.everything || q.received != 5000 || q.latency.Count() != 5000 {
		t.Errorf("%d slots, everything %v, %d received, %d latencies", q.pods.Len(), q.everything, q.received, q.latency.Count())
	}
	box, everything, told := q.drain(100)
	if box.Len() != 100 || !everything || !told || q.pods.Len() != 0 {
		t.Errorf("drained %d slots, everything %v, told %v", box.Len(), everything, told)
	}
	_, h, _ := box.Take()
	if len(h.reported) != 8 {
		t.Errorf("told %v", h.reported)
	}
}

// The limit of containers remembered per pod is that of orphans. Each keeps its
// furthest reported state.
func TestEventsOfOnePodAreBounded(t *testing.T) {
	q := &eventQueue[string, int]{wake: make(chan struct{}, 1), limit: 100}
	event := func(container int, kind RuntimeEventType) {
		q.event(RuntimeEvent[string, int]{Pod: "p", Container: fmt.Sprint(container), Type: kind}, t1)
	}
	for i := range 2 * maxOrphans {
		event(i, RuntimeEventStarted)
	}
	event(0, RuntimeEventStopped)
	event(1, RuntimeEventCreated)
	event(-1, 99)
	box, everything, told := q.drain(1)
	_, h, _ := box.Take()
	if len(h.reported) != maxOrphans || h.reported["0"] != exited || h.reported["1"] != running || everything || !told {
		t.Errorf("%d containers; %v and %v; everything %v, told %v", len(h.reported), h.reported["0"], h.reported["1"], everything, told)
	}
	event(0, 99)
	seen := &PodSnapshot[string, int]{Status: 1}
	q.event(RuntimeEvent[string, int]{Pod: "p", Type: RuntimeEventStarted, At: t1, Seen: seen}, t1)
	box, _, _ = q.drain(1)
	if _, h, ok := box.Take(); !ok || len(h.reported) != 0 {
		t.Errorf("events that tell of no container: %v", h.reported)
	}
	if _, everything, told = q.drain(1); everything || told || len(q.wake) != 1 {
		t.Error("what was taken comes again")
	}
	q.request("one")
	q.request("one")
	if q.everything {
		t.Error("two requests of a pod do not fit one slot")
	}
	if q.request("two"); !q.everything || q.pods.Len() != 1 {
		t.Errorf("beyond the limit: everything %v, %d slots", q.everything, q.pods.Len())
	}
}

// The queue's limit grows with the present pods, and requests do not count as events.
func TestQueueHasRoomForThePods(t *testing.T) {
	q := &eventQueue[string, int]{wake: make(chan struct{}, 1), limit: 100}
	r := newRelister[string, int](statuscache.New[string](statuscache.Options[int]{}), GeneratorOptions{}.withDefaults(), true)
	r.present = 600
	r.takeEvents(q)
	if q.limit != maxOrphans+2*600 {
		t.Errorf("room for %d pods", q.limit)
	}
	if q.request(""); r.takeEvents(q) || r.listNow {
		t.Error("a request is taken for an event, or for one of everything")
	}
}

// The limit of containers with evidence of exits per pod is that of orphans. Known ones
// still get later evidence.
func TestEvidenceOfExitsIsBounded(t *testing.T) {
	q := &eventQueue[string, int]{wake: make(chan struct{}, 1), limit: 100}
	q.followExits(true)
	stopped := func(container int, at time.Time) {
		q.event(RuntimeEvent[string, int]{Pod: "p", Container: fmt.Sprint(container), Type: RuntimeEventStopped, At: at}, t1)
	}
	for i := range 2 * maxOrphans {
		stopped(i, t0)
	}
	stopped(0, t1)
	box, _, _ := q.drain(1)
	if _, h, _ := box.Take(); len(h.exits) != maxOrphans || !h.exits["0"].told.Equal(t1) || !h.exits["1"].told.Equal(t0) {
		t.Errorf("%d containers, told at %v and %v", len(h.exits), h.exits["0"].told, h.exits["1"].told)
	}
}
