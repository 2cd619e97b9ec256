package pleg

import "time"

// handleList takes a full list.
func (r *relister[K, S]) handleList(pods []Pod[K], err error, now time.Time) {
	l := r.relist
	if err != nil {
		r.failed(err, now)
		return
	}
	mark := r.next()
	list, ok := r.judgeAll(pods, mark)
	if !ok {
		mark = r.next()
		list, _ = r.judgeAll(joined(pods), mark)
	}
	if !l.repeats && r.stepsBack(list, l) {
		r.relist, r.listFailed, r.listNow, r.repeats = nil, false, true, true
		return
	}
	l.listed = true
	for _, s := range list {
		r.show(s, l, now)
	}
	r.missing(l, mark, now)
}

// A shownPod is what a full list shows of one pod, and how that stands to what is
// known.
type shownPod[K comparable] struct {
	p       *podRecord[K]
	seen    []Container
	verdict verdict
}

// judgeAll compares every pod of a full list with what is known of it and marks
// its record. It reports false if the list names a pod twice.
func (r *relister[K, S]) judgeAll(pods []Pod[K], mark uint64) (list []shownPod[K], ok bool) {
	list = make([]shownPod[K], 0, len(pods))
	for _, pod := range pods {
		p := r.record(pod.ID)
		if p.mark == mark {
			return nil, false
		}
		p.mark = mark
		list = append(list, shownPod[K]{p, pod.Containers, r.judge(p, pod.Containers)})
	}
	return list, true
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
func (r *relister[K, S]) show(s shownPod[K], l *relist, now time.Time) {
	p, v := s.p, s.verdict
	p.steppedBack = p.steppedBack && v >= older
	wanted := p.wanted > 0 && p.wanted < l.serial || p.sync > 0 && p.sync < l.serial
	if v == same && p.present && !wanted && !p.unjudged && (p.inFlight == nil || p.inFlight.serial > l.serial) {
		return
	}
	o := &observation{start: l.start, serial: l.serial, seen: normal(s.seen), lenient: l.lenient}
	switch {
	case p.newer(o.serial, o.start), p.overlaps(l):
		o.serial = r.next() // an observation that began before now may not conclude from it
		r.noteUnrecorded(p, o, o.seen)
		r.lookAgain(p, l)
	case p.backsOff(now) && !l.explicit && !p.urgent && r.store.Get(p.key).Err != nil:
		r.noteUnrecorded(p, o, o.seen) // its entry says that its state is not known
	default:
		p.urgent, p.steppedBack = false, v >= older
		r.inspectNext(p, o)
		r.await(p, l)
		r.ready.Put(p.key)
	}
}

// lookAgain asks for another look at p instead of taking what a list says of it,
// and makes the relist wait for one if p is not known as of its start.
func (r *relister[K, S]) lookAgain(p *podRecord[K], l *relist) {
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
			if p.present || p.inFlight != nil {
				r.lookAgain(p, l)
			}
		default:
			gone = append(gone, p)
		}
	}
	for _, p := range gone {
		r.gone(p, &observation{start: l.start, serial: l.serial, absent: true, lenient: l.lenient}, now)
	}
	for key := range r.store.Keys() { // others may have written to the cache
		if r.pods[key] == nil {
			r.store.Delete(key, l.start)
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
	r.notifyWaiters(l.serial, err)
}

// done returns the start of the full relist under way if it waits for nothing.
// That becomes the global time before finish is called.
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
	r.settleExits(l, now)
	r.forgetOrphans(l)
	r.countMissed(l)
	r.syncEverything(l)
	r.stats.RelistDuration.observe(now.Sub(l.start))
	if r.stats.Relists > 0 {
		r.stats.RelistInterval.observe(l.start.Sub(r.lastStart))
	}
	r.stats.Relists++
	r.relist, r.listFailed, r.listed, r.listEnd, r.lastStart = nil, false, true, now, l.start
	r.stats.LastSeen = l.start
	r.notifyWaiters(l.serial, nil)
}
