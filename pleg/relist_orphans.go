package pleg

import "slices"

// An orphan is a container that is remembered although it is not there: it was
// removed, or only an event or an unrecorded observation showed it.
type orphan[K comparable] struct {
	pod       *podRecord[K]
	container string
}

// maxOrphans is how many orphans, absent pods and tombstones may be remembered
// beyond twice the pods and containers that are there. With more, a full relist
// is made, which forgets them (G7).
const maxOrphans = 1024

// crowded reports whether as much is remembered as may be.
func (r *relister[K, S]) crowded() bool {
	return r.remembered() > maxOrphans+2*(r.present+r.live)
}

// remembered counts what is remembered although it is not there.
func (r *relister[K, S]) remembered() int {
	return len(r.orphans) + len(r.pods) - r.present + r.store.Counts().Tombstones
}

// backlog counts what is remembered besides the pods that are there.
func (r *relister[K, S]) backlog() int {
	n := r.remembered()
	for s := range r.subscribers {
		n += s.pending.Len()
	}
	for q := range r.exitQueues {
		n += q.backlog(r.live)
	}
	return n
}

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
		if len(r.exitQueues) == 0 {
			continue
		}
		r.showExits(p.key, []Container{s})
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
	for q := range r.exitQueues {
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
		for q := range r.exitQueues {
			q.leave(containerRef[K]{x.pod.key, x.container}, l.start)
		}
		r.forgetIfEmpty(x.pod)
		return true
	})
	for q := range r.exitQueues {
		q.evict(r.exitLimit(), r.tracks)
	}
}
