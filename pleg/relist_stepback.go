package pleg

import "slices"

// A step back is an observation of ours that shows a container exited and then
// running, or removed and then there. It is stale, or the id is used again. Stale answers
// are rare and do not repeat themselves. So the question is repeated at once, and a
// second answer of that kind is believed: then there is another container with that id.

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

// stepsBack reports whether a full list shows a step back from what was known when
// the list began. Then the list is made once more.
func (r *relister[K, S]) stepsBack(list []shownPod[K], l *relist) bool {
	back := func(s shownPod[K]) bool {
		return s.verdict >= older && !s.p.newer(l.serial, l.start) && !s.p.overlaps(l)
	}
	if !slices.ContainsFunc(list, back) {
		return false
	}
	for _, s := range list { // what else it shows may be gone when the next one comes
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

// judge compares what a list shows of p with what is known of it.
func (r *relister[K, S]) judge(p *podRecord[K], seen []Container) verdict {
	v, duplicate := p.containers.compare(seen, p.live, r.next())
	if duplicate || v >= older {
		v, _ = p.containers.compare(normal(seen), p.live, r.next())
	}
	return v
}
