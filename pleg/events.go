package pleg

import "github.com/restartkit/restart/pleg/internal/queue"

// slotEvents is how many events of one pod a loop over Events may be behind
// before they become one PodSync.
const slotEvents = 8

// A subscriber is the state of one loop over Events: what it has yet to yield.
type subscriber[K comparable] struct {
	pending queue.Queue[K, podEvents[K]]
	dropped bool          // pods came and went that are not in pending
	wake    chan struct{} // holds one token if there may be something to yield
}

// podEvents are events of one pod, in order.
type podEvents[K comparable] struct {
	list   []Event[K]
	merged bool // list is one PodSync, which stands for later events too
}

// put adds events of one pod and returns how many events it made part of a PodSync.
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

// dropGone drops the events of pods that are not present, in favour of one PodSync
// without a pod, and returns how many these were.
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

// take removes what the loop is to yield next.
func (s *subscriber[K]) take() ([]Event[K], bool) {
	if s.dropped {
		s.dropped = false
		return []Event[K]{{Type: PodSync}}, true
	}
	_, p, ok := s.pending.Take()
	return p.list, ok
}
