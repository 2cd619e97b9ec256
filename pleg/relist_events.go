package pleg

import "math/bits"

// takeEvents takes the pending events and requests, and asks for a look at each of
// their pods. It reports whether any events arrived.
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

// noteEvents records the ranks that events reported for a pod's containers, and
// requests a look at the pod.
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

// noteExits records evidence from events about the ends of a pod's containers.
func (r *relister[K, S]) noteExits(key K, notes map[string]exitNote) {
	p := r.pods[key]
	if p == nil {
		return
	}
	for id, n := range notes {
		ref := containerRef[K]{key, id}
		c := p.containers[id]
		if c == nil {
			if n.source == "" || !r.exits.awaited(ref) || r.crowded() {
				continue
			}
			c = r.trackOrphan(p, id)
			c.since = r.serial
		}
		c.noteExit(n)
		r.exits.tell(ref, n.told)
	}
}
