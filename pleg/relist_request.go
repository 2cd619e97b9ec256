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

// lookAgain asks for another look at p instead of taking what a list says of it,
// and makes the relist wait for one if p is not known as of its start.
func (r *relister[K, S]) lookAgain(p *podRecord[K], l *relist) {
	r.request(p.key, true)
	if !p.newer(l.serial, l.start) {
		p.await(l)
	}
}
