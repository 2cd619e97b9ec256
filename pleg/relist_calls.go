package pleg

import (
	"time"
)

// calls returns the calls to make now. Outside Run, running is false, and the only full
// lists are those for Relist.
func (r *relister[K, S]) calls(now time.Time, running bool, period time.Duration) []call[K] {
	var list []call[K]
	for r.callsInFlight < r.o.MaxConcurrent {
		key, _, ok := r.ready.Take()
		if !ok {
			break
		}
		if c, ok := r.begin(r.pods[key], now); ok {
			r.callsInFlight++
			list = append(list, c)
		}
	}
	if due, lenient := r.due(now, running, period); due {
		r.listForPods, r.listNow = false, false
		r.relist = &relist{start: now, serial: r.next(), explicit: len(r.waiters) > 0, lenient: lenient || r.streamYoung, repeats: r.repeats}
		r.repeats = false
		list = append(list, call[K]{kind: callPods, start: now, deadline: now.Add(r.o.RelistThreshold)})
	}
	return list
}

// begin starts the next observation of p, if any, and returns its next call.
func (r *relister[K, S]) begin(p *podRecord[K], now time.Time) (call[K], bool) {
	if p.inFlight != nil {
		return call[K]{}, false // its result makes p ready again
	}
	if o := p.listed; o != nil {
		p.listed = nil
		if !p.newer(o.serial, o.start) {
			p.inFlight = o
			return call[K]{callStatus, p.key, now, now.Add(r.o.StatusTimeout)}, true
		}
		r.refuse(p, o, now)
		p.settle(o)
	}
	switch {
	case p.wanted == 0, p.backsOff(now) && !p.urgent:
	case !r.single:
		r.listForPods = true
	default:
		p.urgent = false
		p.inFlight = &observation{start: now, serial: r.next(), lenient: true, alone: r.alone}
		kind := callPod
		if r.alone {
			kind = callStatus
		}
		return call[K]{kind, p.key, now, now.Add(r.o.StatusTimeout)}, true
	}
	r.forgetIfEmpty(p)
	return call[K]{}, false
}

// due reports whether a full relist must begin, and whether it is only on behalf of
// single pods.
func (r *relister[K, S]) due(now time.Time, running bool, period time.Duration) (due, lenient bool) {
	switch {
	case r.relist != nil:
		return false, false
	case len(r.waiters) > 0:
		return true, false
	case !running:
		return false, false
	case !r.listed, !now.Before(r.listAt(period)):
		return true, false
	case r.listFailed:
		return false, false
	case r.listNow:
		return true, false
	}
	return r.listForPods && !now.Before(r.listForPodsAt()), true
}

// listAt returns the due time of the next periodic relist, if one has ended.
func (r *relister[K, S]) listAt(period time.Duration) time.Time {
	if r.listFailed {
		period = r.o.RelistPeriod
	}
	return r.listEnd.Add(period)
}

// listForPodsAt returns the earliest time of a full list on behalf of single pods. If
// pods can be listed singly, its only use is to forget orphans, which is not urgent.
func (r *relister[K, S]) listForPodsAt() time.Time {
	if r.single {
		return r.listEnd.Add(r.o.RelistPeriod)
	}
	return r.listEnd
}

// wake returns when a full relist is due, or never while one is in progress.
func (r *relister[K, S]) wake(period time.Duration) wakeup {
	if r.relist != nil {
		return wakeup{}
	}
	next := wakeAt(r.listAt(period))
	if r.listForPods && !r.listFailed {
		next = next.or(wakeAt(r.listForPodsAt()))
	}
	return next
}

// retries readies the pods whose backoff has ended and returns the end of the next
// backoff.
func (r *relister[K, S]) retries(now time.Time) (next wakeup) {
	for key := range r.failing.Keys() {
		if p := r.pods[key]; p.backsOff(now) {
			next = next.or(wakeAt(p.retryAt))
			continue
		}
		r.failing.Drop(key)
		r.ready.Put(key)
	}
	return next
}
