package pleg

import "github.com/restartkit/restart/pleg/internal/queue"

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

// dropGone replaces the events of absent pods by one PodSync of all pods, and returns
// the number of replaced events.
func (s *subscriber[K]) dropGone(present func(K) bool) (merged int) {
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
