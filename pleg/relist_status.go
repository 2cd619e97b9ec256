package pleg

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// reinspection is the delay before a pod whose inspection failed is looked at
// again.
func (r *relister[K, S]) reinspection() backoff.Policy {
	return backoff.Policy{Initial: r.o.RelistPeriod, Max: 10 * r.o.RelistPeriod}
}

// handleResult takes the result of a call.
func (r *relister[K, S]) handleResult(a result[K, S], now time.Time) {
	if a.call.kind == callPods {
		r.handleList(a.pods, a.err, now)
		return
	}
	r.callsInFlight--
	p := r.pods[a.call.pod]
	o := p.inFlight
	p.inFlight, p.ended = nil, r.next()
	switch {
	case errors.Is(a.err, ErrNotFound):
		o.absent = true
		r.noteUnrecorded(p, o, o.seen)
		r.gone(p, o, now)
		r.settle(p, o)
	case a.err != nil && (a.call.kind == callPod || o.alone && !r.store.Get(p.key).Present): // nothing says that p is there
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
		r.settle(p, o)
	default:
		r.handleStatus(p, o, a, now)
	}
	if p.listed != nil || p.wanted > 0 {
		r.ready.Put(p.key)
	} else {
		r.forgetIfEmpty(p)
	}
}

// statusBesideError returns the status to store beside an error: what came with
// the error, or the last status if nothing came or what came shows a step back.
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

// shows reports whether o shows c, in whatever state.
func (o *observation) shows(c Container) bool {
	_, ok := o.find(c.ID)
	return ok
}

// showsExited reports whether o shows a container of that id exited.
func (o *observation) showsExited(id string) bool {
	i, ok := o.find(id)
	return ok && !o.absent && o.seen[i].State == StateExited
}

// find returns the place of a container in what o shows.
func (o *observation) find(id string) (i int, ok bool) {
	return slices.BinarySearchFunc(o.seen, id, func(d Container, id string) int { return strings.Compare(d.ID, id) })
}

// inspectNext makes o the next observation of p to inspect, unless a newer one
// is.
func (r *relister[K, S]) inspectNext(p *podRecord[K], o *observation) {
	r.showExits(p.key, o.seen)
	if p.listed == nil {
		p.listed = o
		return
	}
	if p.listed.serial < o.serial {
		p.listed, o = o, p.listed
	}
	r.noteUnrecorded(p, o, o.seen)
}

// handleStatus takes the status of a pod.
func (r *relister[K, S]) handleStatus(p *podRecord[K], o *observation, a result[K, S], now time.Time) {
	o.exits = r.exitsIn(a.status)
	if s, ok := any(a.status).(ContainerLister); ok {
		listed := o.seen
		o.seen = normal(s.Containers())
		r.noteUnrecorded(p, o, slices.DeleteFunc(listed, o.shows))
	}
	switch v, _ := p.containers.compare(o.seen, p.live, r.next()); {
	case v >= older && !p.steppedBack:
		r.refuseStepBack(p, v, o)
		r.repeatLook(p, o)
		return
	}
	at := o.start
	if stamped, clean := localTime(now, lenientStamp(a.stamp)); clean && !o.blind && stamped.Before(at) {
		at = stamped
	}
	if r.store.SetInOrder(p.key, a.status, nil, at) {
		r.apply(p, o, p.containers.diff(o.seen), now)
		r.recorded(p, o)
		p.at = at
	} else if at.Equal(o.start) {
		r.refuse(p, o, now)
	}
	if at.Before(o.start) {
		// The runtime says that the status is older than the question. It stands as
		// that old, and the question is asked once more.
		o.blind = true
		r.inspectNext(p, o)
		return
	}
	r.settle(p, o)
}

// gone records that p is not there.
func (r *relister[K, S]) gone(p *podRecord[K], o *observation, now time.Time) {
	if p.newer(o.serial, o.start) || !r.store.Delete(p.key, o.start) {
		r.refuse(p, o, now)
		return
	}
	r.apply(p, o, p.containers.diff(nil), now)
	r.recorded(p, o)
	r.forgetIfEmpty(p)
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

// fail sets when to look at p again.
func (r *relister[K, S]) fail(p *podRecord[K], now time.Time) {
	p.failures++
	p.retryAt = now.Add(r.reinspection().Delay(p.failures))
	r.failing.Put(p.key)
}

// settle lets a full relist that waits for p go on, if o is not earlier than it.
func (r *relister[K, S]) settle(p *podRecord[K], o *observation) {
	if p.relist != nil && o.serial >= p.relist.serial {
		p.relist.open--
		p.relist = nil
	}
}
