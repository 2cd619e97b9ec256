package pleg

import (
	"math/bits"
	"time"
)

// podRecord is what is known of one pod and what is to be done about it.
type podRecord[K comparable] struct {
	key        K
	index      int // in relister.order
	containers containers
	live       int       // containers that are there
	unseen     int       // containers that only events told of
	present    bool      // the last observation showed the pod
	serial     uint64    // of the last observation of ours that was recorded; 0: none was
	at         time.Time // that observation's; what events added to it makes it no newer
	told       uint64    // when an event added to it; 0: none did
	doubted    bool      // the last observation of ours showed a step back
	until      time.Time // when the last observation of ours ended
	ended      uint64    // likewise
	mark       uint64    // of the last full list that showed it

	wanted   uint64       // an observation later than this one is wanted; 0: none
	urgent   bool         // even while backing off: somebody waits
	listed   *observation // from a full list, to be inspected
	flight   *observation // the one under way
	relist   *relist      // that waits for this pod
	failures int          // in a row
	retryAt  time.Time    // if failures > 0
}

// A ghost is a container that is not there: removed, or only told of.
type ghost[K comparable] struct {
	pod       *podRecord[K]
	container string
}

// owing is a container with steps that no event has told of.
type owing struct {
	container *tracked
	found     time.Time
}

// strangers is how many pods and containers that are not there may be
// remembered beside as many as are, before a full relist is made to forget
// them (G7).
const strangers = 1024

// record returns the record of key, a new one if there is none.
func (r *relister[K, S]) record(key K) *podRecord[K] {
	p := r.pods[key]
	if p == nil {
		p = &podRecord[K]{key: key, index: len(r.order), containers: containers{}}
		r.pods[key] = p
		r.order = append(r.order, p)
	}
	return p
}

// tidy forgets p if there is nothing to remember.
func (r *relister[K, S]) tidy(p *podRecord[K]) {
	if r.pods[p.key] != p || p.present || len(p.containers) > 0 || p.wanted > 0 || p.failures > 0 || p.listed != nil || p.flight != nil {
		return
	}
	last := r.order[len(r.order)-1]
	r.order[p.index], last.index = last, p.index
	r.order[len(r.order)-1] = nil
	r.order = r.order[:len(r.order)-1]
	delete(r.pods, p.key)
	r.ready.drop(p.key)
}

// crowded reports whether more is remembered of what is not there than of what
// is.
func (r *relister[K, S]) crowded() bool {
	return r.held() > strangers+2*(r.present+r.live)
}

// held is how much is remembered of what is not there.
func (r *relister[K, S]) held() int {
	return len(r.ghosts) + len(r.pods) - r.present + r.cache.tombstones()
}

// backlog is how much is remembered besides the pods that are there.
func (r *relister[K, S]) backlog() int {
	n := r.held()
	for rd := range r.readers {
		n += rd.due.len()
	}
	return n
}

// tell notes what events told of a pod's containers and asks for a look at it.
func (r *relister[K, S]) tell(key K, told map[string]rank) {
	r.request(key, false)
	p := r.pods[key]
	if p == nil {
		return
	}
	for id, rank := range told {
		c := p.containers[id]
		if c == nil {
			if r.crowded() {
				r.listHint = true
				continue
			}
			c = r.haunt(p, id)
		}
		c.since = r.serial
		if rank > c.told || rank >= exited && c.is.live() {
			c.shown = false
		}
		c.told = max(c.told, rank)
		if paid := c.owed & (1<<(rank+1) - 1); paid != 0 {
			c.owed &^= paid
			r.stats.ReportedEvents += uint64(bits.OnesCount8(paid))
		}
	}
}

// glimpse remembers containers that an observation showed which is not going to
// be recorded: should the next one not show them, that is told. (G6)
func (r *relister[K, S]) glimpse(p *podRecord[K], o *observation, seen []Container) {
	for _, s := range seen {
		if p.containers[s.ID] == nil && !r.crowded() {
			r.haunt(p, s.ID).since = o.serial
		}
	}
}

// haunt tracks a container of p that no observation of record has shown.
func (r *relister[K, S]) haunt(p *podRecord[K], id string) *tracked {
	c := &tracked{}
	p.containers[id] = c
	p.unseen++
	r.ghosts = append(r.ghosts, ghost[K]{p, id})
	return c
}

// newer reports whether p was recorded later than what began at start, with
// that serial.
func (p *podRecord[K]) newer(serial uint64, start time.Time) bool {
	return p.serial > serial || p.serial > 0 && p.at.After(start)
}

// recorded notes that o was.
func (r *relister[K, S]) recorded(p *podRecord[K], o *observation) {
	p.at, p.serial, p.told, p.doubted = o.start, o.serial, 0, false
	if p.wanted < o.serial {
		p.wanted = 0
	}
	p.failures = 0
	r.failing.drop(p.key)
}

// apply records the steps of an observation and tells of them.
func (r *relister[K, S]) apply(p *podRecord[K], o *observation, list []step) {
	events := make([]Event[K], 0, len(list)+1)
	for _, s := range list {
		if s.again {
			r.renew(p, s)
		}
		r.step(p, s)
		r.attribute(p.containers[s.container], s.to, o)
		events = append(events, Event[K]{p.key, s.event, s.container})
	}
	// A container that an event told of and nothing shows has come and gone; one
	// that an event told the end of and that runs has ended and begun again.
	sync := len(list) == 0 && (p.present == o.absent || p.failures > 0 && !o.absent)
	for _, c := range p.containers {
		if (c.is == unseen || c.is < exited && c.told >= exited) && !c.shown && c.since <= o.serial {
			c.shown, sync = true, true
		}
	}
	if sync {
		events = append(events, Event[K]{Pod: p.key, Type: PodSync})
	}
	if p.present == o.absent {
		p.present = !o.absent
		if p.present {
			r.present++
		} else {
			r.present--
		}
	}
	r.emit(p.key, events)
}

// renew begins a container anew whose id is used again. What events tell has
// been told of the new one as far as of the old one.
func (r *relister[K, S]) renew(p *podRecord[K], s step) {
	old := p.containers[s.container]
	if old.is.live() {
		p.live--
		r.live--
	}
	p.containers[s.container] = &tracked{again: true, told: min(old.told, s.to)}
	p.unseen++
}

// step records one step.
func (r *relister[K, S]) step(p *podRecord[K], s step) {
	c := p.containers[s.container]
	switch {
	case c == nil:
		c = &tracked{}
		p.containers[s.container] = c
		p.live++
		r.live++
	case c.is == unseen:
		p.unseen--
		p.live++
		r.live++
	case s.to == removed:
		p.live--
		r.live--
		r.ghosts = append(r.ghosts, ghost[K]{p, s.container})
		c.since = r.serial
	}
	c.is = s.to
}

// attribute counts a step that a relist found: an event has told of it, or it
// was missed, or that is to be seen (G11).
func (r *relister[K, S]) attribute(c *tracked, to rank, o *observation) {
	if !r.expectTold || o.told || r.stats.Relists == 0 {
		return
	}
	r.stats.Transitions++
	switch {
	case c.told >= to:
		r.stats.ReportedEvents++
	case o.lenient:
		if c.owed == 0 {
			r.owing = append(r.owing, owing{c, o.start})
		}
		c.owed |= 1 << to
	default:
		r.stats.MissedEvents++
	}
}

// forget drops what was remembered for the sake of what comes late, as of
// before the relist.
func (r *relister[K, S]) forget(l *relist) {
	kept := r.ghosts[:0]
	for _, g := range r.ghosts {
		c := g.pod.containers[g.container]
		switch {
		case c == nil || c.is.live():
			continue
		case c.since >= l.serial, c.is == unseen && !c.shown:
			kept = append(kept, g)
			continue
		case c.is == unseen:
			g.pod.unseen--
		}
		delete(g.pod.containers, g.container)
		r.tidy(g.pod)
	}
	clear(r.ghosts[len(kept):])
	r.ghosts = kept
	owed := r.owing[:0]
	for _, x := range r.owing {
		if x.found.Add(r.o.RelistPeriod).After(l.start) {
			owed = append(owed, x)
			continue
		}
		r.stats.MissedEvents += uint64(bits.OnesCount8(x.container.owed))
		x.container.owed = 0
	}
	clear(r.owing[len(owed):])
	r.owing = owed
}
