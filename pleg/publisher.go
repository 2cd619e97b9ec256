package pleg

import (
	"slices"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// A publisher passes the steps of pods on to subscribers of events and readers of exits.
type publisher[K comparable] struct {
	subscribers map[*subscriber[K]]struct{}
	logs        map[*exitLog[K]]struct{}
	merged      uint64 // events merged because a subscriber was behind
}

func newPublisher[K comparable]() publisher[K] {
	return publisher[K]{subscribers: map[*subscriber[K]]struct{}{}, logs: map[*exitLog[K]]struct{}{}}
}

// events passes the events of one pod's steps on, with a PodSync after them if sync is
// set. pods is the number of present pods, and present reports whether a pod is one.
func (p *publisher[K]) events(key K, steps []step[K], sync bool, pods int, present func(K) bool) {
	var events []Event[K]
	for _, s := range steps {
		if s.event != "" {
			events = append(events, Event[K]{key, s.event, s.container})
		}
	}
	if sync {
		events = append(events, Event[K]{Pod: key, Type: PodSync})
	}
	if len(events) == 0 {
		return
	}
	for s := range p.subscribers {
		p.merged += uint64(s.put(key, events))
		if s.pending.Len() > mostAbsent+pods {
			p.merged += uint64(s.dropAbsent(present))
		}
		queue.Signal(s.wake)
	}
}

// exits passes the ends among steps on. containers is the number of known ones.
func (p *publisher[K]) exits(steps []step[K], containers int) {
	var ends []end[K]
	for _, s := range steps {
		if s.end != nil {
			ends = append(ends, *s.end)
		}
	}
	slices.SortFunc(ends, end[K].compare)
	for l := range p.logs {
		for _, e := range ends {
			l.take(e, containers)
		}
	}
}

// forget makes the readers of exits forget a container that the Generator has forgotten.
func (p *publisher[K]) forget(c ref[K]) {
	for l := range p.logs {
		delete(l.reported, c)
	}
}

// retained returns the number of pending events, and of exits and their containers.
func (p *publisher[K]) retained() (n int) {
	for s := range p.subscribers {
		n += s.pending.Len()
	}
	for l := range p.logs {
		n += len(l.due)
	}
	return n
}

// mostAbsent is how many pods that are not present may have pending events or requests,
// beyond the present ones.
const mostAbsent = 1024

// slotEvents is how many events of one pod a loop over Events may be behind before they
// are merged into one PodSync.
const slotEvents = 8

// A subscriber is the state of one loop over Events, with its pending events.
type subscriber[K comparable] struct {
	pending queue.Queue[K, podEvents[K]]
	dropped bool          // a PodSync of all pods is due in place of dropped events
	wake    chan struct{} // holds one token if an event may be pending
}

// podEvents are events of one pod, in order.
type podEvents[K comparable] struct {
	list   []Event[K]
	merged bool // list is one PodSync, which also stands for later events
}

// put adds events of one pod and returns the number merged into a PodSync.
func (s *subscriber[K]) put(key K, events []Event[K]) (merged int) {
	switch p := s.pending.Put(key); {
	case p.merged:
		merged = len(events)
	case len(p.list)+len(events) > slotEvents:
		merged = len(p.list) + len(events)
		*p = podEvents[K]{[]Event[K]{{Pod: key, Type: PodSync}}, true}
	default:
		p.list = append(p.list, events...)
		p.merged = len(p.list) == 1 && p.list[0].Type == PodSync
	}
	return merged
}

// dropAbsent replaces the events of absent pods by one PodSync of all pods, and returns
// the number of replaced events.
func (s *subscriber[K]) dropAbsent(present func(K) bool) (merged int) {
	for key := range s.pending.Keys() {
		if !present(key) {
			merged += len(s.pending.Get(key).list)
			s.pending.Drop(key)
		}
	}
	s.dropped = true
	return merged
}

// take removes and returns the next events to yield.
func (s *subscriber[K]) take() ([]Event[K], bool) {
	if s.dropped {
		s.dropped = false
		return []Event[K]{{Type: PodSync}}, true
	}
	_, p, ok := s.pending.Take()
	return p.list, ok
}
