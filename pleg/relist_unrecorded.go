package pleg

import (
	"slices"
	"time"
)

// An observation is not recorded if a newer one has overtaken it, the cache refuses it,
// it shows a step back, or its status fails. Its containers have existed nevertheless,
// so they are remembered, and the pod is looked at again.

// noteUnrecorded remembers the containers seen in an observation of p that will not be
// recorded. If the next observation does not show them, a PodSync reports the change
// (G6).
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

// trackOrphan adds a record for a container of p not shown by a recorded observation.
func (r *relister[K, S]) trackOrphan(p *podRecord[K], id string) *tracked {
	c := &tracked{}
	p.containers[id] = c
	p.unjudged = true
	r.orphans = append(r.orphans, orphan[K]{p, id})
	r.exits.await(containerRef[K]{p.key, id}, r.serial)
	return c
}

// forgetOrphans forgets orphans from before the relist l, which has ended. Later
// answers about them began before l and are refused.
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

// refuse drops an observation that was overtaken or that the cache refused, and
// requests another.
func (r *relister[K, S]) refuse(p *podRecord[K], o *observation, now time.Time) {
	r.noteUnrecorded(p, o, o.seen)
	// Being overtaken by a newer observation is normal. But if the record is from the
	// future, because the clock was set back, p backs off until the clock has caught
	// up.
	if !p.newer(o.serial, o.start) || p.at.After(now) {
		r.fail(p, now)
	}
	p.wanted = r.next()
}

// inspectNext makes o the next observation of p to inspect, unless a newer one is
// already waiting.
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

// A step back is an observation that shows an exited container running, or a removed
// one present. It is stale, or the id was reused. Stale answers are rare and do not
// repeat, so the call is repeated at once. If the second answer shows a step back too,
// the id belongs to a new container.

// refuseStepBack drops an observation that shows a step back.
func (r *relister[K, S]) refuseStepBack(p *podRecord[K], v verdict, o *observation) {
	r.noteUnrecorded(p, o, o.seen)
	r.stats.StaleWrites++
	if v == resurrected {
		r.stats.Resurrections++
	}
}

// repeatLook repeats o, which shows a step back. A full relist waiting for p keeps
// waiting.
func (r *relister[K, S]) repeatLook(p *podRecord[K], o *observation) {
	p.steppedBack = true
	if r.single {
		p.wanted, p.urgent = r.next(), true
	} else {
		r.inspectNext(p, o) // only the status, because the next list cannot begin before this one ends
	}
}

// abandon drops the calls in flight, whose results will not arrive, and requests new
// observations instead.
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
