package pleg

import (
	"time"

	"github.com/restartkit/restart/backoff"
)

// request requests an observation of key that begins after the request. An urgent one
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

// requestSync makes the next look at key end with a PodSync, and with soon requests a
// look that begins now. If key has no record and too much is remembered already, the
// next full relist ends with a PodSync of all pods instead.
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

// reinspection returns the backoff of a pod whose inspection failed.
func (r *relister[K, S]) reinspection() backoff.Policy {
	return backoff.Policy{Initial: r.o.RelistPeriod, Max: 10 * r.o.RelistPeriod}
}

// fail starts a backoff of p.
func (r *relister[K, S]) fail(p *podRecord[K], now time.Time) {
	p.failures++
	p.retryAt = now.Add(r.reinspection().Delay(p.failures))
	r.failing.Put(p.key)
}

// lookAgain requests another look at p in place of the list's, and makes the relist
// wait for it if p's record is older than the start of l.
func (r *relister[K, S]) lookAgain(p *podRecord[K], l *relist) {
	r.request(p.key, true)
	if !p.newer(l.serial, l.start) {
		p.await(l)
	}
}
