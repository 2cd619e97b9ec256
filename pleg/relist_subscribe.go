package pleg

import (
	"slices"
	"time"
)

// subscribe adds a subscriber with a pending PodSync of every present pod.
func (r *relister[K, S]) subscribe() *subscriber[K] {
	s := &subscriber[K]{wake: make(chan struct{}, 1)}
	for _, p := range r.order {
		if p.present {
			s.pending.Put(p.key).list = []Event[K]{{Pod: p.key, Type: PodSync}}
		}
	}
	r.subscribers[s] = struct{}{}
	return s
}

// subscribeExits adds a reader of exits. It receives the exits of gone containers that
// its position expects and, if it wants past exits, those of listed containers.
func (r *relister[K, S]) subscribeExits(l *exitLog[K], now time.Time) {
	r.exits[l] = struct{}{}
	for c := range l.awaited.Keys() {
		l.awaited.Put(c).since = r.serial
	}
	for _, p := range r.order {
		for _, o := range []*observation{p.listed, p.inFlight} {
			if o != nil {
				r.exits.show(p.key, o.seen, r.serial)
			}
		}
		news := r.newsOf(p, l, now)
		for _, e := range news.ends { // await those with names, too, before their exits are made
			l.await(e.ref(), r.serial)
		}
		for _, c := range news.begun {
			l.begin(c, r.serial)
		}
		if status := r.store.Get(p.key).Status; !isZero(status) {
			l.setNames(p.key, status)
		}
		l.take(news, r.exitLimit())
	}
}

// newsOf returns the known state of p's containers as news for l, and records in l the
// ends that are not news.
func (r *relister[K, S]) newsOf(p *podRecord[K], l *exitLog[K], now time.Time) exitNews[K] {
	n := exitNews[K]{start: now, end: now, serial: r.serial}
	var shown map[string]ExitDetails
	for id, c := range p.containers {
		ref := containerRef[K]{p.key, id}
		if c.gone() {
			n.gone = append(n.gone, ref)
		}
		switch {
		case c.is == exited && l.past:
			if n.ends == nil {
				shown = exitsIn(r.store.Get(p.key).Status)
			}
			n.ends = append(n.ends, end[K]{exit: exitOf(ref, c.exit, c.reported >= exited, &observation{seen: []Container{{ID: id, State: StateExited}}, exits: shown})})
		case c.is == exited:
			l.end(ref)
		case c.is.live():
			n.begun = append(n.begun, ref)
		case c.is == unseen && !c.synced: // its end is not reported yet
			l.await(ref, r.serial)
		case l.of(ref).expected:
			n.ends = append(n.ends, end[K]{exit: exitOf(ref, c.exit, c.reported >= exited, &observation{absent: true})})
		default:
			l.end(ref)
		}
	}
	slices.SortFunc(n.ends, end[K].compare)
	return n
}
