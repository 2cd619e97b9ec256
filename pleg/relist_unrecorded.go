package pleg

import (
	"slices"
	"time"
)

// Not every observation is recorded: a newer one has overtaken it, the cache refuses it, it
// shows a step back, or its status fails. The containers that it shows have been there all
// the same, so they are remembered, and the pod is looked at again.

// noteUnrecorded remembers containers that an observation showed which is not
// going to be recorded. If the next one does not show them, a PodSync says that
// there was something (G6).
func (r *relister[K, S]) noteUnrecorded(p *podRecord[K], o *observation, seen []Container) {
	for _, s := range seen {
		c := p.containers[s.ID]
		if c == nil {
			if r.crowded() {
				continue
			}
			c = r.trackOrphan(p, s.ID)
			c.since = o.serial
		}
		if len(r.exits) == 0 {
			continue
		}
		r.exits.show(p.key, []Container{s}, r.serial)
		if s.State == StateExited {
			n := exitNote{source: ExitSeenByRelist}
			n.details, n.known = o.exits[s.ID]
			c.noteExit(n)
		}
	}
}

// trackOrphan tracks a container of p that no recorded observation has shown.
func (r *relister[K, S]) trackOrphan(p *podRecord[K], id string) *tracked {
	c := &tracked{}
	p.containers[id] = c
	p.unjudged = true
	r.orphans = append(r.orphans, orphan[K]{p, id})
	r.exits.await(containerRef[K]{p.key, id}, r.serial)
	return c
}

// forgetOrphans forgets those of before the relist l, which has ended. What comes
// later about them began before l and is refused.
func (r *relister[K, S]) forgetOrphans(l *relist) {
	r.orphans = slices.DeleteFunc(r.orphans, func(x orphan[K]) bool {
		c := x.pod.containers[x.container]
		switch {
		case c == nil || c.is.live():
			return true
		case c.since >= l.serial, c.is == unseen && !c.synced:
			return false
		}
		delete(x.pod.containers, x.container)
		r.exits.leave(containerRef[K]{x.pod.key, x.container}, l.start)
		r.forgetIfEmpty(x.pod)
		return true
	})
	r.exits.evict(r.exitLimit(), r.tracks)
}

// refuse drops an observation that a newer one has overtaken, or that the cache
// refused, and asks for another.
func (r *relister[K, S]) refuse(p *podRecord[K], o *observation, now time.Time) {
	r.noteUnrecorded(p, o, o.seen)
	// Nothing is wrong if a newer one came in between. But if the record is of the
	// future, from before the clock was set back, p backs off until the clock has
	// caught up.
	if !p.newer(o.serial, o.start) || p.at.After(now) {
		r.fail(p, now)
	}
	p.wanted = r.next()
}

// inspectNext makes o the next observation of p to inspect, unless a newer one
// is.
func (r *relister[K, S]) inspectNext(p *podRecord[K], o *observation) {
	r.exits.show(p.key, o.seen, r.serial)
	if p.listed == nil {
		p.listed = o
		return
	}
	if p.listed.serial < o.serial {
		p.listed, o = o, p.listed
	}
	r.noteUnrecorded(p, o, o.seen)
}

// A step back is an observation that shows a container exited and then running, or removed
// and then there. It is stale, or the id is used again. Stale answers are rare and do not
// repeat themselves. So the question is repeated at once, and a second answer of that kind
// is believed: then there is another container with that id.

// refuseStepBack drops an observation that shows a step back.
func (r *relister[K, S]) refuseStepBack(p *podRecord[K], v verdict, o *observation) {
	r.noteUnrecorded(p, o, o.seen)
	r.stats.StaleWrites++
	if v == resurrected {
		r.stats.Resurrections++
	}
}

// repeatLook asks once more what o, which shows a step back, was to answer. A full
// relist that waits for p goes on waiting.
func (r *relister[K, S]) repeatLook(p *podRecord[K], o *observation) {
	p.steppedBack = true
	if r.single {
		p.wanted, p.urgent = r.next(), true
	} else {
		r.inspectNext(p, o) // the status only: the next list begins when this one has ended
	}
}

// abandon forgets the calls in flight, whose results will not come, and asks for
// what they were to bring.
func (r *relister[K, S]) abandon() {
	r.relist, r.callsInFlight = nil, 0
	for _, p := range r.order {
		for _, o := range []*observation{p.inFlight, p.listed} {
			if o != nil {
				r.noteUnrecorded(p, o, o.seen)
				p.wanted = r.next()
				r.ready.Put(p.key)
			}
		}
		p.relist, p.listed, p.inFlight = nil, nil, nil
	}
	r.listNow = true
}
