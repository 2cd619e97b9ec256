package pleg

import (
	"slices"
)

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
	for q := range r.exits {
		q.await(containerRef[K]{p.key, id}, r.serial)
	}
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
		for q := range r.exits {
			q.leave(containerRef[K]{x.pod.key, x.container}, l.start)
		}
		r.forgetIfEmpty(x.pod)
		return true
	})
	for q := range r.exits {
		q.evict(r.exitLimit(), r.tracks)
	}
}
