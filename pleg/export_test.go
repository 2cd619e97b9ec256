package pleg

import "fmt"

// Forget plants the fault of an earlier version: an event's claim becomes an end, and the
// reader takes it for one from before it was made.
func (r *ExitReader[K]) Forget(pod K, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.forget(ref[K]{pod, id})
}

func (l *exitLog[K]) forget(c ref[K]) {
	if _, expected := l.expects[c]; expected {
		return
	}
	baseline := l.baseline
	l.baseline = notListed
	l.take(end[K]{exit: Exit[K]{Pod: c.pod, Container: c.container, Source: ExitToldByEvent}, seen: true}, 0)
	l.baseline = baseline
}

// Valid checks the invariants of the Generator's state.
func (g *Generator[K, S]) Valid() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.valid()
}

func (g *Generator[K, S]) valid() error {
	cached, live, claims, inFlight := 0, 0, 0, 0
	for key := range g.pods.Keys() {
		r := g.find(key)
		live += len(r.containers)
		claims += len(r.pod.claims)
		if r.cached {
			cached++
		}
		if err := r.valid(&g.former); err != nil {
			return fmt.Errorf("pod %v: %w", key, err)
		}
		if w := g.sched.pods[key]; w == nil && !r.cached && r.sync == 0 && r.idle() {
			return fmt.Errorf("pod %v: nothing is known of it, and it will never be forgotten", key)
		}
	}
	if l := g.sched.list; l != nil {
		for key := range l.needs {
			if g.sched.pods[key] == nil {
				return fmt.Errorf("pod %v: a full list waits for it, and no work is left", key)
			}
		}
	}
	for key, w := range g.sched.pods {
		if g.find(key) == nil {
			return fmt.Errorf("pod %v: work without a record", key)
		}
		if w.flight != nil {
			inFlight++
		}
		if g.sched.needed(key) && !w.wanted && (w.flight == nil || w.flight.began < g.sched.list.answered) {
			return fmt.Errorf("pod %v: a full list waits for it in vain", key)
		}
		if w.wanted && w.flight == nil && g.sched.delayed.Get(key) == nil && g.sched.ready.Get(key) == nil {
			return fmt.Errorf("pod %v: an inspection is wanted, and nothing begins it", key)
		}
	}
	switch {
	case cached != g.cached, live != g.containers, claims != g.claims:
		return fmt.Errorf("%d pods in the cache, %d containers, %d claims; counted %d, %d, %d", cached, live, claims, g.cached, g.containers, g.claims)
	case inFlight != g.sched.inspecting:
		return fmt.Errorf("%d inspections in flight, counted %d", inFlight, g.sched.inspecting)
	case g.former.known != live:
		return fmt.Errorf("%d containers, but removals are remembered as if there were %d", live, g.former.known)
	}
	if _, first := g.former.queue.First(); first != nil && first.until <= g.former.removals {
		return fmt.Errorf("%d removed containers are remembered, the first up to %d of %d removals", g.former.queue.Len(), first.until, g.former.removals)
	}
	return nil
}

// valid checks the numbered invariants of a pod.
func (p *pod[K]) valid(former *formerContainers[K]) error {
	for id, c := range p.containers {
		switch {
		case c.reported > c.is:
			return fmt.Errorf("1: %s is %d and reported as %d", id, c.is, c.reported)
		case c.is == removed || former.has(ref[K]{p.key, id}):
			return fmt.Errorf("2: %s is removed and has a record", id)
		case p.settled && c.reported != c.is:
			return fmt.Errorf("3: %s is %d and reported as %d in a settled pod", id, c.is, c.reported)
		}
	}
	if p.settled && len(p.claims) > 0 {
		return fmt.Errorf("3: a settled pod has %d claims", len(p.claims))
	}
	return nil
}
