package pleg

import (
	"fmt"
)

// MaxOrphans is maxOrphans, for the tests from outside.
const MaxOrphans = maxOrphans

// Valid checks the relister and the cache of g, for the tests from outside.
func (g *Generator[K, S]) Valid() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.core.valid()
}

// DistrustStatuses makes g list a pod before each Status, as if the type of the
// statuses did not promise to show its containers.
func (g *Generator[K, S]) DistrustStatuses() {
	g.core.alone, g.core.single = false, g.single != nil
}

// valid checks the counters against the state, and that only requested pods are
// awaited.
func (r *relister[K, S]) valid() error {
	present, live, inFlight, awaited := 0, 0, 0, 0
	orphans := map[orphan[K]]bool{}
	for _, g := range r.orphans {
		orphans[g] = true
	}
	for i, p := range r.order {
		if r.pods[p.key] != p || p.index != i {
			return fmt.Errorf("%v: at %d in order, its index is %d", p.key, i, p.index)
		}
		if r.ready.Get(p.key) == nil && !p.present && len(p.containers) == 0 && p.wanted == 0 && p.sync == 0 && p.failures == 0 && p.listed == nil && p.inFlight == nil {
			return fmt.Errorf("%v: nothing is known of it, and it will never be forgotten", p.key)
		}
		here := 0
		for id, c := range p.containers {
			switch {
			case c.is.live():
				here++
			case !orphans[orphan[K]{p, id}]:
				return fmt.Errorf("%v: %s is %v and will never be forgotten", p.key, id, c.is)
			}
		}
		if p.live != here || here > 0 && !p.present {
			return fmt.Errorf("%v: %d containers live, counted %d; present %v", p.key, here, p.live, p.present)
		}
		live += here
		if p.present {
			present++
		}
		if p.inFlight != nil {
			inFlight++
		}
		if p.relist != nil {
			awaited++
			if p.relist != r.relist || p.listed == nil && p.inFlight == nil && p.wanted == 0 {
				return fmt.Errorf("%v: a relist waits for it in vain", p.key)
			}
		}
	}
	if present != r.present || live != r.live || inFlight != r.callsInFlight || len(r.order) != len(r.pods) {
		return fmt.Errorf("%d pods present, counted %d; %d containers, counted %d; %d calls, counted %d; %d pods in order, %d by key",
			present, r.present, live, r.live, inFlight, r.callsInFlight, len(r.order), len(r.pods))
	}
	if r.relist != nil && r.relist.open != awaited {
		return fmt.Errorf("a relist waits for %d pods, counted %d", awaited, r.relist.open)
	}
	for q := range r.exits {
		if err := r.validExits(q); err != nil {
			return err
		}
	}
	for rd := range r.subscribers {
		if n := rd.pending.Len(); n > maxOrphans+2*r.present {
			return fmt.Errorf("%d pods are due to a reader", n)
		}
	}
	return nil
}

// validExits checks that a reader of exits awaits live containers and no ended ones.
func (r *relister[K, S]) validExits(q *exitLog[K]) error {
	for c := range q.awaited.Keys() {
		if q.has(c) {
			return fmt.Errorf("%v is awaited and has ended", c)
		}
	}
	for c := range q.listed.Keys() {
		if q.gone.Get(c) != nil {
			return fmt.Errorf("%v is listed and gone", c)
		}
	}
	for _, p := range r.order {
		for id, c := range p.containers {
			ref := containerRef[K]{p.key, id}
			switch awaited := q.awaited.Get(ref) != nil; {
			case c.is.live() && c.is < exited && !awaited:
				return fmt.Errorf("%v lives, and its end is not awaited", ref)
			case c.is == exited && q.listed.Get(ref) == nil:
				return fmt.Errorf("%v has ended, and the log does not list it", ref)
			case c.is == removed && q.gone.Get(ref) == nil:
				return fmt.Errorf("%v is gone, and the log does not say so", ref)
			}
		}
	}
	return nil
}
