package pleg

import (
	"slices"
	"time"
)

// handleList handles the result of a full list.
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

// A shownPod is one pod of a full list with its verdict.
type shownPod[K comparable] struct {
	p       *podRecord[K]
	seen    []Container
	verdict verdict
}

// judgeAll compares every pod of a full list with its record and marks the record. It
// reports false if the list repeats a pod.
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

// joined returns pods with repeated pods merged.
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

// show handles one pod of a full list.
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
		o.serial = r.next() // earlier observations must not judge these containers
		r.noteUnrecorded(p, o, o.seen)
		r.lookAgain(p, l)
	case p.backsOff(now) && !l.explicit && !p.urgent && r.store.Get(p.key).Err != nil:
		r.noteUnrecorded(p, o, o.seen) // its entry already has an error
	default:
		p.urgent, p.steppedBack = false, v >= older
		r.inspectNext(p, o)
		p.await(l)
		r.ready.Put(p.key)
	}
}

// missing handles the pods not in a full list.
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
	for key := range r.store.Keys() { // other writers may have added keys
		if r.pods[key] == nil {
			r.store.Delete(key, l.start)
		}
	}
}

// stepsBack reports whether a full list shows a step back from the records at its
// start, so that it must be repeated.
func (r *relister[K, S]) stepsBack(list []shownPod[K], l *relist) bool {
	back := func(s shownPod[K]) bool {
		return s.verdict >= older && !s.p.newer(l.serial, l.start) && !s.p.overlaps(l)
	}
	if !slices.ContainsFunc(list, back) {
		return false
	}
	for _, s := range list { // the rest of the list may be gone by the next one
		o := &observation{start: l.start, serial: l.serial, seen: normal(s.seen)}
		if back(s) {
			r.refuseStepBack(s.p, s.verdict, o)
			continue
		}
		r.noteUnrecorded(s.p, o, o.seen)
		r.forgetIfEmpty(s.p)
	}
	return true
}

// judge compares a list of p's containers with its record.
func (r *relister[K, S]) judge(p *podRecord[K], seen []Container) verdict {
	v, duplicate := p.containers.compare(seen, p.live, r.next())
	if duplicate || v >= older {
		v, _ = p.containers.compare(normal(seen), p.live, r.next())
	}
	return v
}
