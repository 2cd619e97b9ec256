package pleg

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// oldest is the age beyond which a runtime's stamp is not believed.
const oldest = 10 * time.Minute

// reinspection is the delay before a pod whose inspection failed is looked at
// again.
func (r *relister[K, S]) reinspection() backoff.Policy {
	return backoff.Policy{Initial: r.o.RelistPeriod, Max: 10 * r.o.RelistPeriod}
}

// local translates a runtime's stamp into local time by its age, and reports
// whether it is to be believed: a missing one counts as now, one from the
// future as now, one too old as the oldest.
func local(now, stamp time.Time) (at time.Time, clean bool) {
	if stamp.IsZero() {
		return now, false
	}
	age := now.Sub(stamp)
	at = now.Add(-min(max(age, 0), oldest))
	return at, age >= 0 && age <= oldest
}

// answered takes the answer of a call.
func (r *relister[K, S]) answered(a answer[K, S], now time.Time) {
	if a.call.kind == callPods {
		r.answeredPods(a.pods, a.err, now)
		return
	}
	r.flying--
	p := r.pods[a.call.pod]
	o := p.flight
	p.flight, p.until, p.ended = nil, now, r.next()
	switch {
	case errors.Is(a.err, ErrNotFound):
		o.absent = true
		r.glimpse(p, o, o.seen)
		r.gone(p, o, now)
		r.settle(p, o)
	case a.call.kind == callPod && a.err != nil:
		r.fail(p, now)
		if p.relist != nil {
			r.failed(a.err, now)
		}
	case a.call.kind == callPod:
		o.seen = normal(a.pods[0].Containers)
		r.list(p, o)
	case a.err != nil:
		r.cache.write(p.key, r.beside(p, o, a.status), a.err, o.start, true)
		r.glimpse(p, o, o.seen)
		r.fail(p, now)
		p.wanted = r.next()
		r.settle(p, o)
	default:
		r.inspected(p, o, a, now)
	}
	if p.listed != nil || p.wanted > 0 {
		r.ready.put(p.key)
	} else {
		r.tidy(p)
	}
}

// beside returns the status to store beside an error: what came with it, or the
// last one if that is nothing or shows a step back.
func (r *relister[K, S]) beside(p *podRecord[K], o *observation, status S) S {
	if reflect.ValueOf(&status).Elem().IsZero() {
		return r.cache.Get(p.key).Status
	}
	if s, ok := any(status).(ContainerLister); ok {
		seen := normal(s.Containers())
		r.glimpse(p, o, seen)
		if v, _ := p.containers.compare(seen, p.live, r.next()); v >= older {
			return r.cache.Get(p.key).Status
		}
	}
	return status
}

// shows reports whether o shows c.
func (o *observation) shows(c Container) bool {
	_, ok := slices.BinarySearchFunc(o.seen, c.ID, func(d Container, id string) int { return strings.Compare(d.ID, id) })
	return ok
}

// list sets what is to be inspected next, unless something newer is.
func (r *relister[K, S]) list(p *podRecord[K], o *observation) {
	if p.listed == nil {
		p.listed = o
		return
	}
	if p.listed.serial < o.serial {
		p.listed, o = o, p.listed
	}
	r.glimpse(p, o, o.seen)
}

// inspected takes the status of a pod.
func (r *relister[K, S]) inspected(p *podRecord[K], o *observation, a answer[K, S], now time.Time) {
	if s, ok := any(a.status).(ContainerLister); ok {
		listed := o.seen
		o.seen = normal(s.Containers())
		r.glimpse(p, o, slices.DeleteFunc(listed, o.shows))
	}
	switch v, _ := p.containers.compare(o.seen, p.live, r.next()); {
	case v >= older && p.told > o.serial: // what an event added meanwhile is the newer one
		r.stepBack(p, v, o)
		r.settle(p, o)
		return
	case v >= older && !p.doubted:
		r.stepBack(p, v, o)
		r.doubt(p, o)
		return
	}
	at := o.start
	if stamped, clean := local(now, lenientStamp(a.stamp)); clean && !o.blind && stamped.Before(at) {
		at = stamped
	}
	if r.cache.write(p.key, a.status, nil, at, true) {
		r.apply(p, o, p.containers.diff(o.seen))
		r.recorded(p, o)
		p.at = at
	} else if at.Equal(o.start) {
		r.refuse(p, o, now)
	}
	if at.Before(o.start) {
		// The runtime says that this is older than the question: it stands as
		// that old, and is asked for once more.
		o.blind = true
		r.list(p, o)
		return
	}
	r.settle(p, o)
}

// lenientStamp is the latest time that a stamp may stand for: one of whole
// seconds, the end of its second.
func lenientStamp(stamp time.Time) time.Time {
	if !stamp.IsZero() && stamp.Nanosecond() == 0 {
		return stamp.Add(time.Second - 1)
	}
	return stamp
}

// refuse drops an observation that something newer has overtaken, or that the
// cache refused, and asks for another.
func (r *relister[K, S]) refuse(p *podRecord[K], o *observation, now time.Time) {
	r.glimpse(p, o, o.seen)
	// Nothing is wrong if something newer came in between; but a record of the
	// future, from before the clock was set back, has to be waited for.
	if !p.newer(o.serial, o.start) || p.at.After(now) {
		r.fail(p, now)
	}
	p.wanted = r.next()
}

// fail sets when to look at p again.
func (r *relister[K, S]) fail(p *podRecord[K], now time.Time) {
	p.failures++
	p.retryAt = now.Add(r.reinspection().Delay(p.failures))
	r.failing.put(p.key)
}

// backsOff reports whether p is not to be looked at yet, because that failed.
func (p *podRecord[K]) backsOff(now time.Time) bool { return p.failures > 0 && p.retryAt.After(now) }

// settle tells a full relist that waits for p and is not later than o that it
// need not wait any longer.
func (r *relister[K, S]) settle(p *podRecord[K], o *observation) {
	if p.relist != nil && o.serial >= p.relist.serial {
		p.relist.open--
		p.relist = nil
	}
}

// gone records that p is not there.
func (r *relister[K, S]) gone(p *podRecord[K], o *observation, now time.Time) {
	if p.newer(o.serial, o.start) || !r.cache.Delete(p.key, o.start) {
		r.refuse(p, o, now)
		return
	}
	r.apply(p, o, p.containers.diff(nil))
	r.recorded(p, o)
	r.tidy(p)
}

// answeredPods takes a full list.
func (r *relister[K, S]) answeredPods(pods []Pod[K], err error, now time.Time) {
	l := r.relist
	if err != nil {
		r.failed(err, now)
		return
	}
	if !l.repeats && r.stepsBack(pods, l) {
		r.relist, r.listFailed, r.listNow, r.repeats = nil, false, true, true
		return
	}
	l.listed = true
	mark := r.next()
	for _, pod := range pods {
		p := r.record(pod.ID)
		if p.mark == mark {
			pods = joined(pods)
			mark = r.next()
			break
		}
		p.mark = mark
	}
	for _, pod := range pods {
		p := r.record(pod.ID)
		p.mark = mark
		r.show(p, pod.Containers, l, now)
	}
	r.missing(l, mark, now)
}

// joined returns pods with those that are listed several times made one.
func joined[K comparable](pods []Pod[K]) []Pod[K] {
	var list []Pod[K]
	place := map[K]int{}
	for _, pod := range pods {
		i, ok := place[pod.ID]
		if !ok {
			i = len(list)
			place[pod.ID] = i
			list = append(list, Pod[K]{ID: pod.ID})
		}
		list[i].Containers = append(list[i].Containers, pod.Containers...)
	}
	return list
}

// show takes what a full list shows of one pod.
func (r *relister[K, S]) show(p *podRecord[K], seen []Container, l *relist, now time.Time) {
	v, seen := r.judge(p, seen)
	p.doubted = p.doubted && v >= older
	wanted := p.wanted > 0 && p.wanted < l.serial
	if v == same && p.present && !wanted && (p.flight == nil || p.flight.serial > l.serial) {
		return
	}
	o := &observation{start: l.start, serial: l.serial, seen: normal(seen), lenient: l.lenient}
	switch {
	case p.newer(o.serial, o.start), p.overlaps(l):
		o.serial = r.next() // an observation that began before now may not conclude from it
		r.glimpse(p, o, o.seen)
		r.again(p, l)
	case p.backsOff(now) && !l.explicit && !p.urgent && r.cache.Get(p.key).Err != nil:
		r.glimpse(p, o, o.seen) // its entry says that it is not known
	case v >= older && p.told > l.serial:
		r.stepBack(p, v, o)
	default:
		p.urgent, p.doubted = false, v >= older
		r.list(p, o)
		r.await(p, l)
		r.ready.put(p.key)
	}
}

// overlaps reports whether the list was under way together with an observation
// of p: then neither tells which of the two is the newer.
func (p *podRecord[K]) overlaps(l *relist) bool { return p.flight != nil || p.ended > l.serial }

// again asks for another look at p instead of taking what a list says of it,
// and makes the relist wait for one where p is not known as of its start.
func (r *relister[K, S]) again(p *podRecord[K], l *relist) {
	r.request(p.key, true)
	if !p.newer(l.serial, l.start) {
		r.await(p, l)
	}
}

// await makes a full relist wait for an observation of p that began with it or
// later.
func (r *relister[K, S]) await(p *podRecord[K], l *relist) {
	p.relist = l
	l.open++
}

// missing takes what a full list does not show.
func (r *relister[K, S]) missing(l *relist, mark uint64, now time.Time) {
	var gone []*podRecord[K]
	for _, p := range r.order {
		switch {
		case p.mark == mark:
		case p.newer(l.serial, l.start), p.overlaps(l):
			if p.present || p.flight != nil {
				r.again(p, l)
			}
		default:
			gone = append(gone, p)
		}
	}
	for _, p := range gone {
		r.gone(p, &observation{start: l.start, serial: l.serial, absent: true, lenient: l.lenient}, now)
	}
	for n := range r.cache.nodes.all() {
		if r.pods[n.key] == nil && n.last.Load().entry.Present {
			r.cache.Delete(n.key, l.start)
		}
	}
}

// failed ends the full relist under way without a result.
func (r *relister[K, S]) failed(err error, now time.Time) {
	l := r.relist
	r.relist, r.listFailed, r.listed, r.listEnd = nil, true, true, now
	for _, p := range r.order {
		p.relist = nil
	}
	r.hand(l.serial, err)
}

// done returns the start of the full relist under way if nothing of it is open.
// The cache is to be told before finish.
func (r *relister[K, S]) done() (start time.Time, ok bool) {
	l := r.relist
	if l == nil || !l.listed || l.open > 0 {
		return start, false
	}
	return l.start, true
}

// finish ends the full relist under way.
func (r *relister[K, S]) finish(now time.Time) {
	l := r.relist
	r.forget(l)
	r.stats.RelistDuration.observe(now.Sub(l.start))
	if r.stats.Relists > 0 {
		r.stats.RelistInterval.observe(l.start.Sub(r.lastStart))
	}
	r.stats.Relists++
	r.relist, r.listFailed, r.listed, r.listEnd, r.lastStart = nil, false, true, now, l.start
	r.stats.LastSeen = l.start
	r.hand(l.serial, nil)
}

// hand gives the tickets older than a relist its outcome.
func (r *relister[K, S]) hand(serial uint64, err error) {
	kept := r.tickets[:0]
	for _, t := range r.tickets {
		if t.serial < serial {
			t.done <- err
		} else {
			kept = append(kept, t)
		}
	}
	clear(r.tickets[len(kept):])
	r.tickets = kept
}
