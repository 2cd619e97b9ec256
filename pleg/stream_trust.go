package pleg

import "time"

// recordEvent records what an event shows, if that is proven to be newer than what
// we saw of the pod ourselves: it shows a container further than we did, and
// containers go one way. A stamp does not prove it, as runtimes stamp after
// collecting, replay, repeat, reorder and have clocks of their own. But a stamp can
// show that something is wrong, and then the event only asks for a look. So does
// every creation and deletion: contents from before a container was there look
// like contents from after.
//
// Nothing says how much newer it is. So the entry keeps the time of our
// observation: what an event shows answers only a GetNewerThan that a repetition
// of that observation would answer. The others wait for the look that the event
// asks for (G2, G3, G9).
func (r *relister[K, S]) recordEvent(e *RuntimeEvent[K, S], now time.Time) {
	at, clean := localTime(now, e.At)
	p := r.pods[e.Pod]
	if !clean || p == nil || p.failures > 0 || e.Seen.Pod.ID != e.Pod || r.stats.Relists > 0 && !at.After(r.lastStart) {
		return
	}
	seen := normal(e.Seen.Pod.Containers)
	if !at.After(p.until) || !p.containers.follow(seen, e.Container) {
		r.stats.StaleWrites++
		return
	}
	if r.store.SetInOrder(e.Pod, e.Seen.Status, nil, p.at) {
		r.apply(p, &observation{seen: seen, exits: r.exitsIn(e.Seen.Status), fromEvent: true}, p.containers.diff(seen), now)
		p.eventSerial = r.next()
	}
}

// follow reports whether seen, which came with an event of the container own, can
// only be newer than what is known and reported: it shows own further than known,
// and no other container behind what is known or reported, left out or new.
func (cs containers) follow(seen []Container, own string) bool {
	there := make(map[string]bool, len(seen))
	for _, s := range seen {
		there[s.ID] = true
		c, r := cs[s.ID], rankOf(s.State)
		switch {
		case c == nil, !c.is.live(), r != unknown && r < max(c.is, c.reported):
			return false
		case s.ID == own && (c.again || c.is == unknown || r <= c.is):
			return false
		}
	}
	for id, c := range cs {
		if c.is.live() && !there[id] {
			return false
		}
	}
	return there[own]
}
