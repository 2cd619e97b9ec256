package pleg

import "time"

// A podRecord is what is known of one pod and what is to be done about it.
type podRecord[K comparable] struct {
	key         K
	index       int // in relister.order
	containers  containers
	live        int       // containers that are there
	present     bool      // the last observation showed the pod
	serial      uint64    // of the last observation of ours that was recorded; 0: none was
	at          time.Time // that observation's
	steppedBack bool      // the last observation of ours showed a step back
	unjudged    bool      // containers were shown or reported that no recorded observation has judged
	ended       uint64    // when the last observation ended
	mark        uint64    // of the last full list that showed it

	wanted   uint64       // an observation later than this one is wanted; 0: none
	urgent   bool         // even while backing off: somebody waits
	sync     uint64       // an observation later than this one, at the latest that of the next full relist, ends with a PodSync; 0: none
	listed   *observation // from a list, to be inspected
	inFlight *observation // whose call is in flight
	relist   *relist      // that waits for this pod
	failures int          // in a row
	retryAt  time.Time    // if failures > 0
}

// newer reports whether p was recorded later than what began at start, with
// that serial.
func (p *podRecord[K]) newer(serial uint64, start time.Time) bool {
	return p.serial > serial || p.serial > 0 && p.at.After(start)
}

// overlaps reports whether the list was under way together with an observation
// of p: then nothing says which of the two is newer.
func (p *podRecord[K]) overlaps(l *relist) bool { return p.inFlight != nil || p.ended > l.serial }

// backsOff reports whether p is not to be looked at yet, because that failed.
func (p *podRecord[K]) backsOff(now time.Time) bool { return p.failures > 0 && p.retryAt.After(now) }

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

// forgetIfEmpty forgets p if there is nothing to remember of it.
func (r *relister[K, S]) forgetIfEmpty(p *podRecord[K]) {
	if r.pods[p.key] != p || p.present || len(p.containers) > 0 || p.wanted > 0 || p.sync > 0 || p.failures > 0 || p.listed != nil || p.inFlight != nil {
		return
	}
	last := r.order[len(r.order)-1]
	r.order[p.index], last.index = last, p.index
	r.order[len(r.order)-1] = nil
	r.order = r.order[:len(r.order)-1]
	delete(r.pods, p.key)
	r.ready.Drop(p.key)
}

// recorded notes that o was written to the cache and to p.
func (r *relister[K, S]) recorded(p *podRecord[K], o *observation) {
	p.at, p.serial, p.steppedBack = o.start, o.serial, false
	if p.wanted < o.serial {
		p.wanted = 0
	}
	p.failures = 0
	r.failing.Drop(p.key)
}

// apply records the steps of an observation, which ended at now, and emits their
// events.
func (r *relister[K, S]) apply(p *podRecord[K], o *observation, list []step, now time.Time) {
	events := make([]Event[K], 0, len(list)+1)
	follow := len(r.exitQueues) > 0
	var exits exitNews[K]
	for _, s := range list {
		if follow {
			r.addStep(&exits, p, s, o)
		}
		if s.again {
			r.renew(p, s)
		}
		r.step(p, s)
		r.attribute(p.containers[s.container], s.to, o)
		events = append(events, Event[K]{p.key, s.event, s.container})
	}
	// A container that an event reported and nothing shows has come and gone. A
	// container that runs although an event reported its end has begun again.
	asked := p.sync > 0
	if p.sync < o.serial {
		p.sync = 0 // else it was asked for meanwhile, and the next look has one, too
	}
	sync := asked || len(list) == 0 && (p.present == o.absent || p.failures > 0 && !o.absent)
	p.unjudged = false
	for id, c := range p.containers {
		if (c.is == unseen || c.is < exited && c.reported >= exited) && !c.synced && c.since <= o.serial {
			c.synced, sync = true, true
			if follow && c.is == unseen {
				r.addOrphan(&exits, p, id, c, o)
			}
		}
		p.unjudged = p.unjudged || c.is == unseen && !c.synced
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
	r.reportExits(p.key, exits, o.start, now)
}

// renew begins a container anew whose id is used again. An event may have
// reported steps of either of the two; they count for both.
func (r *relister[K, S]) renew(p *podRecord[K], s step) {
	old := p.containers[s.container]
	if old.is.live() {
		p.live--
		r.live--
	}
	p.containers[s.container] = &tracked{again: true, reported: min(old.reported, s.to)}
}

// step records one step.
func (r *relister[K, S]) step(p *podRecord[K], s step) {
	c := p.containers[s.container]
	switch {
	case c == nil:
		c = &tracked{}
		p.containers[s.container] = c
		fallthrough
	case c.is == unseen:
		p.live++
		r.live++
	case s.to == removed:
		p.live--
		r.live--
		r.orphans = append(r.orphans, orphan[K]{p, s.container})
		c.since = r.serial
	}
	if c.is = s.to; c.is >= exited {
		c.exit = nil
	}
}
