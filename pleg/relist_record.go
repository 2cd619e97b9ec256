package pleg

import (
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// gone records that p is absent.
func (r *relister[K, S]) gone(p *podRecord[K], o *observation, now time.Time) {
	if p.newer(o.serial, o.start) || !r.store.Delete(p.key, o.start) {
		r.refuse(p, o, now)
		return
	}
	r.commit(p, o, o.start, now)
	r.forgetIfEmpty(p)
}

// commit records o, which is in the cache as of at, in p and informs the readers. now
// is the end of o.
func (r *relister[K, S]) commit(p *podRecord[K], o *observation, at, now time.Time) {
	c := p.apply(o, at, r.serial)
	asked, failed := p.recorded(o)
	r.failing.Drop(p.key)
	r.live += c.live
	r.present += c.present
	events := make([]Event[K], 0, len(c.steps)+1)
	for _, s := range c.steps {
		if s.to == removed {
			r.orphans = append(r.orphans, orphan[K]{p, s.container})
		}
		r.attribute(s.tracked, s.to, o)
		events = append(events, Event[K]{p.key, s.event(), s.container})
	}
	if asked || c.synced || len(c.steps) == 0 && (c.present != 0 || failed && !o.absent) {
		events = append(events, Event[K]{Pod: p.key, Type: PodSync})
	}
	r.emit(p.key, events)
	if len(r.exits) > 0 {
		n := exitNews[K]{start: o.start, end: now, serial: r.serial}
		n.add(p.key, c, p.containers, o, r.stats.Relists > 0)
		r.exits.take(n, r.exitLimit())
		r.exits.evict(r.exitLimit(), r.tracks)
	}
}

// attribute counts a step that a relist found while a stream should have reported it,
// either as reported by an event or as missed (G11). A relist of a single pod may
// precede the event, so its steps wait for one.
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

// emit passes events of one pod to the subscribers.
func (r *relister[K, S]) emit(key K, events []Event[K]) {
	if len(events) == 0 {
		return
	}
	for s := range r.subscribers {
		r.stats.MergedEvents += uint64(s.put(key, events))
		if s.pending.Len() > maxOrphans+2*r.present {
			r.stats.MergedEvents += uint64(s.dropGone(func(key K) bool { p := r.pods[key]; return p != nil && p.present }))
		}
		queue.Signal(s.wake)
	}
}
