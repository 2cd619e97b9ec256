package pleg

import (
	"time"

	"github.com/restartkit/restart/backoff"
)

// request asks for an observation of key that begins from now on. An urgent one
// does not wait for the end of a backoff.
func (r *relister[K, S]) request(key K, urgent bool) {
	if r.pods[key] == nil && r.crowded() {
		r.listForPods = true
		return
	}
	p := r.record(key)
	p.wanted = r.next()
	p.urgent = p.urgent || urgent
	r.ready.Put(key)
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

// reinspection is the delay before a pod whose inspection failed is looked at
// again.
func (r *relister[K, S]) reinspection() backoff.Policy {
	return backoff.Policy{Initial: r.o.RelistPeriod, Max: 10 * r.o.RelistPeriod}
}

// fail sets when to look at p again.
func (r *relister[K, S]) fail(p *podRecord[K], now time.Time) {
	p.failures++
	p.retryAt = now.Add(r.reinspection().Delay(p.failures))
	r.failing.Put(p.key)
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

// lookAgain asks for another look at p instead of taking what a list says of it,
// and makes the relist wait for one if p is not known as of its start.
func (r *relister[K, S]) lookAgain(p *podRecord[K], l *relist) {
	r.request(p.key, true)
	if !p.newer(l.serial, l.start) {
		p.await(l)
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
