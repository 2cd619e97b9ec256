package pleg

import (
	"slices"
	"time"
)

// subscribe adds a subscriber to whom a PodSync of every present pod is due.
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

// subscribeExits adds a reader of exits. It gets the ends of the containers that have
// ended and are listed, if it wants the exits of before, and of those that are gone the
// ones that its position knew.
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
		l.take(r.newsOf(p, l, now), r.exitLimit())
	}
}

// newsOf returns what is known of the containers of p, as news for l. It notes in l
// which ends are no news.
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
			n.ends = append(n.ends, end[K]{exit: exitOf(ref, c.exit, c.reported >= exited, &observation{seen: []Container{{id, StateExited}}, exits: shown})})
		case c.is == exited:
			l.end(ref)
		case c.is.live():
			n.begun = append(n.begun, ref)
		case c.is == unseen && !c.synced: // its end is yet to be reported
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
