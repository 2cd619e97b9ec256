package pleg

import (
	"errors"
	"slices"
	"time"
)

// handleAnswer handles the result of a call about one pod.
func (r *relister[K, S]) handleAnswer(a result[K, S], now time.Time) {
	r.callsInFlight--
	p := r.pods[a.call.pod]
	o := p.inFlight
	p.inFlight, p.ended = nil, r.next()
	r.handleLook(p, o, a, now)
	if p.listed != nil || p.wanted > 0 {
		r.ready.Put(p.key)
	} else {
		r.forgetIfEmpty(p)
	}
}

// handleLook handles a, the result of an observation o of p.
func (r *relister[K, S]) handleLook(p *podRecord[K], o *observation, a result[K, S], now time.Time) {
	switch {
	case errors.Is(a.err, ErrNotFound):
		o.absent = true
		r.noteUnrecorded(p, o, o.seen)
		r.gone(p, o, now)
		p.settle(o)
	case a.err != nil && (a.call.kind == callPod || o.alone && !r.store.Get(p.key).Present): // no evidence that p exists
		r.fail(p, now)
		if p.relist != nil {
			r.failed(a.err, now)
		}
	case a.call.kind == callPod:
		o.seen = normal(a.pods[0].Containers)
		r.inspectNext(p, o)
	case a.err != nil:
		r.store.SetInOrder(p.key, r.statusBesideError(p, o, a.status), a.err, o.start)
		r.noteUnrecorded(p, o, o.seen)
		r.fail(p, now)
		p.wanted = r.next()
		p.settle(o)
	default:
		r.handleStatus(p, o, a, now)
	}
}

// statusBesideError returns the status to store with an error. It is the one returned
// with the error, or the last one if that is zero or shows a step back.
func (r *relister[K, S]) statusBesideError(p *podRecord[K], o *observation, status S) S {
	if isZero(status) {
		return r.store.Get(p.key).Status
	}
	if s, ok := any(status).(ContainerLister); ok {
		seen := normal(s.Containers())
		o.exits = r.exitsIn(status)
		r.noteUnrecorded(p, o, seen)
		if v, _ := p.containers.compare(seen, p.live, r.next()); v >= older {
			return r.store.Get(p.key).Status
		}
	}
	return status
}

// handleStatus handles the status of a pod.
func (r *relister[K, S]) handleStatus(p *podRecord[K], o *observation, a result[K, S], now time.Time) {
	o.exits = r.exitsIn(a.status)
	if s, ok := any(a.status).(ContainerLister); ok {
		listed := o.seen
		o.seen = normal(s.Containers())
		r.noteUnrecorded(p, o, slices.DeleteFunc(listed, o.shows))
	}
	if v, _ := p.containers.compare(o.seen, p.live, r.next()); v >= older && !p.steppedBack {
		r.refuseStepBack(p, v, o)
		r.repeatLook(p, o)
		return
	}
	at := o.time(a.stamp, now)
	if r.store.SetInOrder(p.key, a.status, nil, at) {
		r.commit(p, o, at, now)
	} else if at.Equal(o.start) {
		r.refuse(p, o, now)
	}
	if at.Before(o.start) {
		// The runtime dates the status before the look. Keep it with that time, and ask
		// once more.
		o.blind = true
		r.inspectNext(p, o)
		return
	}
	p.settle(o)
}

// exitsIn returns the exits in a status, or nil without readers of exits or if the
// status is not an ExitLister.
func (r *relister[K, S]) exitsIn(status S) map[string]ExitDetails {
	if len(r.exits) == 0 {
		return nil
	}
	return exitsIn(status)
}
