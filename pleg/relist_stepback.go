package pleg

// A step back is an observation of ours that shows a container exited and then
// running, or removed and then there. Either an event that we took meanwhile has
// overtaken the observation, or it is stale, or the id is used again. Stale
// answers are rare and do not repeat themselves. So the question is repeated at
// once, and a second answer of that kind is believed: then there is another
// container with that id.

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
func (r *relister[K, S]) stepsBack(pods []Pod[K], l *relist) (back bool) {
	for _, pod := range pods {
		p := r.pods[pod.ID]
		if p == nil || p.newer(l.serial, l.start) || p.overlaps(l) || p.eventSerial > l.serial {
			continue
		}
		if v, seen := r.judge(p, pod.Containers); v >= older {
			r.refuseStepBack(p, v, &observation{start: l.start, serial: l.serial, seen: seen})
			back = true
		}
	}
	if back { // what else it shows may be gone when the next one comes
		for _, pod := range pods {
			p := r.record(pod.ID)
			r.noteUnrecorded(p, &observation{start: l.start, serial: l.serial}, pod.Containers)
			r.forgetIfEmpty(p)
		}
	}
	return back
}

// judge compares what a list shows of p with what is known of it. It returns the
// containers with each named once, if that mattered.
func (r *relister[K, S]) judge(p *podRecord[K], seen []Container) (verdict, []Container) {
	v, duplicate := p.containers.compare(seen, p.live, r.next())
	if duplicate || v >= older {
		seen = normal(seen)
		v, _ = p.containers.compare(seen, p.live, r.next())
	}
	return v, seen
}
