package pleg

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// An exitNote is what was shown of the end of a container that is not recorded as
// exited.
type exitNote struct {
	source  ExitSource // empty: the end itself was not shown
	told    time.Time  // the latest time that is believed of events of the container; zero: none
	known   bool
	details ExitDetails
}

// add adds a later note of the same container.
func (n *exitNote) add(later exitNote) {
	n.source = cmp.Or(n.source, later.source)
	if later.told.After(n.told) {
		n.told = later.told
	}
	if !n.known {
		n.known, n.details = later.known, later.details
	}
}

// noteExit keeps what was shown of the end of c, if c may yet end.
func (c *tracked) noteExit(n exitNote) {
	if c.is >= exited || n.source == "" {
		return
	}
	if c.exit == nil {
		c.exit = &exitNote{}
	}
	c.exit.add(n)
}

// An end is the end of a container, as an observation shows it.
type end[K comparable] struct {
	exit   Exit[K]
	first  bool // nothing has shown the container before, and no full list has ended
	again  bool // of another container of its id
	orphan bool // the container was never recorded
}

// exitNews is what one observation says of the lives of a pod's containers, for the
// readers of exits.
type exitNews[K comparable] struct {
	ends  []end[K]
	begun []string // they are alive
	gone  []string // they have ended, and are no longer listed
}

// compare orders the ends that one observation shows: by the time at which they
// finished, then by container, and of two of the same id the former first.
func (e end[K]) compare(f end[K]) int {
	if e.again != f.again {
		if f.again {
			return -1
		}
		return 1
	}
	return cmp.Or(e.exit.Details.Finished.Compare(f.exit.Details.Finished), strings.Compare(e.exit.Container, f.exit.Container))
}

// exitsIn returns how the containers that a status shows ended; nil if nobody
// wants to know, or the status does not say.
func (r *relister[K, S]) exitsIn(status S) map[string]ExitDetails {
	if len(r.exitQueues) == 0 {
		return nil
	}
	return exitsIn(status)
}

func exitsIn[S any](status S) map[string]ExitDetails {
	l, ok := any(status).(ExitLister)
	if !ok || isZero(status) {
		return nil
	}
	return maps.Collect(l.Exits())
}

// isZero reports whether a status is the zero S: none came.
func isZero[S any](status S) bool { return reflect.ValueOf(&status).Elem().IsZero() }

// addStep adds what the step s of a container of p, which o shows, says to the readers
// of exits. It is called before the step is recorded.
func (r *relister[K, S]) addStep(n *exitNews[K], p *podRecord[K], s step, o *observation) {
	switch {
	case s.to < exited:
		n.begun = append(n.begun, s.container)
		return
	case s.to == removed:
		n.gone = append(n.gone, s.container)
		return
	}
	c := p.containers[s.container]
	first := (c == nil || c.is == unseen) && r.stats.Relists == 0
	if s.again {
		c = nil // what is known is of the one before
	}
	n.ends = append(n.ends, end[K]{exit: exitOf(p.key, s.container, c, o), first: first, again: s.again})
}

// addOrphan adds the end of a container c of p that was never recorded and that o does
// not show.
func (r *relister[K, S]) addOrphan(n *exitNews[K], p *podRecord[K], id string, c *tracked, o *observation) {
	n.ends = append(n.ends, end[K]{exit: exitOf(p.key, id, c, o), first: r.stats.Relists == 0, orphan: true})
	n.gone = append(n.gone, id)
}

// exitOf returns the exit of a container that has ended according to o. c is what
// is known of it, or nil.
func exitOf[K comparable](pod K, container string, c *tracked, o *observation) Exit[K] {
	e := Exit[K]{Pod: pod, Container: container, Source: ExitInferred}
	var n exitNote
	if c != nil && c.exit != nil {
		n = *c.exit
	}
	shown := o.showsExited(container)
	switch {
	case c != nil && c.reported >= exited, n.source == ExitSeenByEvent:
		e.Source = ExitSeenByEvent
	case shown, n.source == ExitSeenByRelist:
		e.Source = ExitSeenByRelist
	}
	if shown {
		e.Details, e.Known = o.exits[container]
	}
	if !e.Known {
		e.Details, e.Known = n.details, n.known
	}
	return e
}

// reportExits hands news of the containers of one pod to the readers of exits. start is
// when the observation began that brings them, now when it ended.
func (r *relister[K, S]) reportExits(pod K, n exitNews[K], start, now time.Time) {
	slices.SortFunc(n.ends, end[K].compare)
	for q := range r.exitQueues {
		for _, e := range n.ends {
			r.reportEnd(q, e, start)
		}
		for _, id := range n.begun {
			q.begin(containerRef[K]{pod, id}, r.serial)
		}
		for _, id := range n.gone {
			q.leave(containerRef[K]{pod, id}, now)
		}
		q.evict(r.exitLimit(), r.tracks)
	}
}

// reportEnd hands one end to a reader of exits, unless it has it, or the end was before
// the reader, or may be one that it has forgotten.
func (r *relister[K, S]) reportEnd(q *exitQueue[K], e end[K], start time.Time) {
	c := containerRef[K]{e.exit.Pod, e.exit.Container}
	if e.again {
		q.begin(c, r.serial)
	}
	a := q.of(c)
	if q.end(c) && (a.expected || !e.before(q, start) && !(e.orphan && q.doubts(a))) {
		q.add(e.exit, r.exitLimit())
	}
}

// before reports whether e, of an observation that began at start, was before the
// reader of q was made, which does not want those: the first look shows it, and the
// runtime says so. An end without a time is not: it may have been after.
func (e end[K]) before(q *exitQueue[K], start time.Time) bool {
	finished := e.exit.Details.Finished
	if q.earlier || !e.first || finished.IsZero() {
		return false
	}
	age := start.Sub(lenientStamp(finished)) // a step of the wall clock since begun does not matter then
	return start.Add(-age).Before(q.begun)
}

// exitLimit is how much a reader of exits may hold of each kind (G7).
func (r *relister[K, S]) exitLimit() int {
	return rememberedExits + 2*(r.present+r.live+len(r.orphans))
}

// tracks reports whether c is remembered for its own sake.
func (r *relister[K, S]) tracks(c containerRef[K]) bool {
	p := r.pods[c.pod]
	return p != nil && p.containers[c.container] != nil
}

// noteExits keeps what events show of the ends of a pod's containers.
func (r *relister[K, S]) noteExits(key K, notes map[string]exitNote) {
	p := r.pods[key]
	if p == nil {
		return
	}
	for id, n := range notes {
		ref := containerRef[K]{key, id}
		c := p.containers[id]
		if c == nil {
			if n.source == "" || !r.awaited(ref) || r.crowded() {
				continue
			}
			c = r.trackOrphan(p, id)
			c.since = r.serial
		}
		c.noteExit(n)
		for q := range r.exitQueues {
			q.tell(ref, n.told)
		}
	}
}

// awaited reports whether some reader of exits has not been told the end of c.
func (r *relister[K, S]) awaited(c containerRef[K]) bool {
	for q := range r.exitQueues {
		if !q.has(c) {
			return true
		}
	}
	return false
}

// showExits makes the readers of exits await the ends of containers of a pod that an
// answer has shown.
func (r *relister[K, S]) showExits(pod K, shown []Container) {
	for q := range r.exitQueues {
		for _, s := range shown {
			q.show(containerRef[K]{pod, s.ID}, r.serial)
		}
	}
}

// subscribeExits adds a reader of exits. It gets the ends of the containers that have
// ended and are listed, if it wants the exits of before, and of those that are gone the
// ones that its position knew.
func (r *relister[K, S]) subscribeExits(q *exitQueue[K], now time.Time) {
	r.exitQueues[q] = struct{}{}
	for c := range q.awaited.Keys() {
		q.awaited.Put(c).since = r.serial
	}
	for _, p := range r.order {
		for _, o := range []*observation{p.listed, p.inFlight} {
			if o != nil {
				r.showExits(p.key, o.seen)
			}
		}
		var ends []end[K]
		var shown map[string]ExitDetails
		for id, c := range p.containers {
			ref := containerRef[K]{p.key, id}
			switch {
			case c.is == exited && q.earlier:
				if ends == nil {
					shown = exitsIn(r.store.Get(p.key).Status)
				}
				ends = append(ends, end[K]{exit: exitOf(p.key, id, c, &observation{seen: []Container{{id, StateExited}}, exits: shown})})
			case c.is == exited:
				q.end(ref)
			case c.is.live():
				q.begin(ref, r.serial)
			case c.is == unseen && !c.synced: // its end is yet to be reported
				q.await(ref, r.serial)
			case q.of(ref).expected:
				ends = append(ends, end[K]{exit: exitOf(p.key, id, c, &observation{absent: true})})
			default:
				q.end(ref)
			}
		}
		slices.SortFunc(ends, end[K].compare)
		for _, e := range ends {
			r.reportEnd(q, e, now)
		}
		for id, c := range p.containers {
			if c.gone() {
				q.leave(containerRef[K]{p.key, id}, now)
			}
		}
	}
}

// settleExits compares what the readers of exits know with the full relist l, which has
// ended. The end of a container that they await and that l does not show is inferred.
// One that has ended and that l does not show is gone.
func (r *relister[K, S]) settleExits(l *relist, now time.Time) {
	for q := range r.exitQueues {
		var ends []end[K]
		for ref := range q.awaited.Keys() {
			if q.of(ref).since < l.serial {
				if c, known := r.lastSeen(ref); known && c.gone() {
					ends = append(ends, end[K]{exit: exitOf(ref.pod, ref.container, c, &observation{absent: true})})
				}
			}
		}
		slices.SortFunc(ends, end[K].compare)
		for _, e := range ends {
			r.reportEnd(q, e, l.start)
		}
		for ref := range q.listed.Keys() {
			if c, known := r.lastSeen(ref); known && c.gone() {
				q.leave(ref, now)
			}
		}
	}
}

// lastSeen returns what is known of a container, nil if nothing is remembered. known is
// false while its pod cannot be looked at.
func (r *relister[K, S]) lastSeen(ref containerRef[K]) (c *tracked, known bool) {
	p := r.pods[ref.pod]
	if p == nil {
		return nil, true
	}
	return p.containers[ref.container], p.failures == 0
}
