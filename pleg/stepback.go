package pleg

// stepBack drops an observation of ours that shows a container a step back, from
// exited to running or from removed to there. Either an event that we took
// meanwhile has overtaken it, or it is stale, or the id is used again. Stale
// answers are rare and do not repeat themselves. So the question is repeated at
// once, and a second answer of that kind is believed: then there is another
// container with that id.
func (r *relister[K, S]) stepBack(p *podRecord[K], v verdict, o *observation) {
	r.glimpse(p, o, o.seen)
	r.stats.StaleWrites++
	if v == risen {
		r.stats.Resurrections++
	}
}

// doubt asks once more what o, which shows a step back of p, was to tell. A full
// relist that waits for p goes on waiting.
func (r *relister[K, S]) doubt(p *podRecord[K], o *observation) {
	p.doubted = true
	if r.single {
		p.wanted, p.urgent = r.next(), true
	} else {
		r.list(p, o) // the status only: another list begins when this one has ended
	}
}

// stepsBack reports whether a full list shows a step back of something that was
// known when it began. Then it is made once more.
func (r *relister[K, S]) stepsBack(pods []Pod[K], l *relist) (back bool) {
	for _, pod := range pods {
		p := r.pods[pod.ID]
		if p == nil || p.newer(l.serial, l.start) || p.overlaps(l) || p.told > l.serial {
			continue
		}
		if v, seen := r.judge(p, pod.Containers); v >= older {
			r.stepBack(p, v, &observation{serial: l.serial, seen: seen})
			back = true
		}
	}
	if back { // what else it shows may be gone when the next one comes
		for _, pod := range pods {
			p := r.record(pod.ID)
			r.glimpse(p, &observation{serial: l.serial}, pod.Containers)
			r.tidy(p)
		}
	}
	return back
}

// judge compares what a list shows of p with what is known of it.
func (r *relister[K, S]) judge(p *podRecord[K], seen []Container) (verdict, []Container) {
	v, duplicate := p.containers.compare(seen, p.live, r.next())
	if duplicate || v >= older {
		seen = normal(seen)
		v, _ = p.containers.compare(seen, p.live, r.next())
	}
	return v, seen
}
