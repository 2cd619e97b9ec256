package pleg

import (
	"math/bits"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// takeEvents takes what came in, and reports whether events did: each asks for a
// look at its pod.
func (r *relister[K, S]) takeEvents(q *eventQueue[K, S]) (received bool) {
	pods, everything, received := q.drain(maxOrphans + 2*r.present)
	r.listNow = r.listNow || everything
	for {
		key, e, ok := pods.Take()
		if !ok {
			return received
		}
		r.noteEvents(key, e.reported)
		r.noteExits(key, e.exits)
	}
}

// requestSync makes the next look at key end with a PodSync, and asks for one that
// begins now if soon is set. If key is not worth remembering, the next full relist
// ends with a PodSync of all.
func (r *relister[K, S]) requestSync(key K, soon bool) {
	if r.pods[key] == nil && r.crowded() {
		r.syncAll = r.next()
		r.listForPods = r.listForPods || soon
		return
	}
	r.record(key).sync = r.next()
	if soon {
		r.request(key, false)
	}
}

// syncEverything emits a PodSync without a pod, if one was asked for. A request of
// after the start of l gets another.
func (r *relister[K, S]) syncEverything(l *relist) {
	if r.syncAll == 0 {
		return
	}
	if r.syncAll < l.serial {
		r.syncAll = 0
	}
	for s := range r.subscribers {
		s.dropped = true
		queue.Signal(s.wake)
	}
}

// noteEvents notes how far events reported a pod's containers to be, and asks for
// a look at the pod.
func (r *relister[K, S]) noteEvents(key K, reported map[string]rank) {
	r.request(key, false)
	p := r.pods[key]
	if p == nil {
		return
	}
	for id, rank := range reported {
		c := p.containers[id]
		if c == nil {
			if r.crowded() {
				r.listForPods = true
				continue
			}
			c = r.trackOrphan(p, id)
		}
		c.since = r.serial
		if rank > c.reported || rank >= exited && c.is.live() {
			c.synced = false
		}
		c.reported = max(c.reported, rank)
		if late := c.unreported & (1<<(rank+1) - 1); late != 0 {
			c.unreported &^= late
			r.stats.ReportedEvents += uint64(bits.OnesCount8(late))
		}
	}
}

// unreportedSteps are steps of a container that a relist found and an event may
// still report; tracked.unreported says which.
type unreportedSteps struct {
	container *tracked
	found     time.Time
}

// attribute counts a step that a relist found while a stream should have reported
// it: an event has, or it was missed (G11). A relist of a single pod may be faster
// than the event, so its steps wait for one.
func (r *relister[K, S]) attribute(c *tracked, to rank, o *observation) {
	if !r.expectEvents || r.stats.Relists == 0 {
		return
	}
	r.stats.Transitions++
	switch {
	case c.reported >= to:
		r.stats.ReportedEvents++
	case o.lenient:
		if c.unreported == 0 {
			r.unreported = append(r.unreported, unreportedSteps{c, o.start})
		}
		c.unreported |= 1 << to
	default:
		r.stats.MissedEvents++
	}
}

// countMissed counts the steps as missed that were found a RelistPeriod or more
// before the relist l, which has ended, and that no event has reported.
func (r *relister[K, S]) countMissed(l *relist) {
	r.unreported = slices.DeleteFunc(r.unreported, func(x unreportedSteps) bool {
		if x.found.Add(r.o.RelistPeriod).After(l.start) {
			return false
		}
		r.stats.MissedEvents += uint64(bits.OnesCount8(x.container.unreported))
		x.container.unreported = 0
		return true
	})
}
