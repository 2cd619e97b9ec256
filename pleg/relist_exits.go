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
	told    time.Time  // the latest time that is believed of what was shown; zero: none
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
	if c.is >= exited || c.is.live() && n.source == "" {
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
	first  bool      // it had ended when the Generator looked first
	again  bool      // of another container of its id
	orphan bool      // it was never recorded
	told   time.Time // if orphan: the latest time that is believed of what showed it
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

// endOf returns the end of a container of p that o shows as the step s. It is
// called before the step is recorded.
func (r *relister[K, S]) endOf(p *podRecord[K], s step, o *observation) end[K] {
	c := p.containers[s.container]
	if s.again {
		c = nil // what is known is of the one before
	}
	first := (c == nil || c.is == unseen) && !s.again && r.stats.Relists == 0 && !o.fromEvent
	return end[K]{exit: exitOf(p.key, s.container, c, o), first: first, again: s.again}
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
	case o.fromEvent, c != nil && c.reported >= exited, n.source == ExitSeenByEvent:
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

// reportEnds hands the ends of containers of one pod, and those that have begun, to
// the readers of exits. at is the time of the observation that shows them.
func (r *relister[K, S]) reportEnds(pod K, ends []end[K], begun []string, at time.Time) {
	slices.SortFunc(ends, end[K].compare)
	for q := range r.exitQueues {
		for _, e := range ends {
			r.reportEnd(q, e, at)
		}
		for _, id := range begun {
			q.begin(containerRef[K]{pod, id})
		}
	}
}

// reportEnd hands one end to a reader of exits, unless it has it.
func (r *relister[K, S]) reportEnd(q *exitQueue[K], e end[K], at time.Time) {
	c := containerRef[K]{e.exit.Pod, e.exit.Container}
	if e.again {
		q.begin(c)
	}
	if q.note(c, at) && (q.earlier || !e.first) && !(e.orphan && q.doubts(e.told)) {
		q.add(e.exit, r.exitLimit())
	}
	q.evict(r.exitLimit(), r.tracks)
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
		c := p.containers[id]
		if c == nil {
			if n.source == "" || !r.awaited(containerRef[K]{key, id}) || r.crowded() {
				continue
			}
			c = r.trackOrphan(p, id)
			c.since = r.serial
		}
		c.noteExit(n)
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

// subscribeExits adds a reader of exits. It gets what has ended if it wants the
// exits of before, and of what is gone that which its position does not know.
func (r *relister[K, S]) subscribeExits(q *exitQueue[K]) {
	q.serial = r.next()
	r.exitQueues[q] = struct{}{}
	for _, p := range r.order {
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
			case c.is.live() && c.is < exited:
				q.begin(ref)
			case c.is == unseen && !c.synced: // its end is yet to be reported
			case c.is != exited && q.before != nil:
				ends = append(ends, end[K]{exit: exitOf(p.key, id, c, &observation{absent: true})})
			default:
				q.note(ref, p.at)
			}
		}
		slices.SortFunc(ends, end[K].compare)
		for _, e := range ends {
			r.reportEnd(q, e, p.at)
		}
	}
}

// inferExits reports the ends of containers that were there at the position of a
// reader and that the full relist l, which began after the reader and has ended,
// did not show.
func (r *relister[K, S]) inferExits(l *relist) {
	for q := range r.exitQueues {
		if q.serial > l.serial {
			continue
		}
		var ends []end[K]
		for ref := range q.before {
			var c *tracked
			if p := r.pods[ref.pod]; p != nil {
				if p.failures > 0 {
					continue // its state is not known
				}
				c = p.containers[ref.container]
			}
			if c == nil || c.is == removed {
				ends = append(ends, end[K]{exit: exitOf(ref.pod, ref.container, c, &observation{absent: true})})
			} else {
				delete(q.before, ref)
			}
		}
		slices.SortFunc(ends, end[K].compare)
		for _, e := range ends {
			r.reportEnd(q, e, l.start)
		}
	}
}

// exitPosition returns the position of q.
func (r *relister[K, S]) exitPosition(q *exitQueue[K]) ExitPosition[K] {
	p := ExitPosition[K]{Due: slices.Clone(q.due), Lost: q.lost}
	if q.evicted {
		p.Horizon = q.horizon.Round(0)
	}
	place := map[K]int{}
	pod := func(key K) *podPosition[K] {
		i, ok := place[key]
		if !ok {
			i = len(p.Pods)
			place[key] = i
			p.Pods = append(p.Pods, podPosition[K]{Pod: key})
		}
		return &p.Pods[i]
	}
	for _, rec := range r.order {
		for id, c := range rec.containers {
			if ref := (containerRef[K]{rec.key, id}); c.is != removed && !q.has(ref) {
				pod(rec.key).Live = append(pod(rec.key).Live, id)
			}
		}
		for _, o := range []*observation{rec.listed, rec.inFlight} {
			if o == nil {
				continue
			}
			for _, s := range o.seen {
				if ref := (containerRef[K]{rec.key, s.ID}); rec.containers[s.ID] == nil && !q.has(ref) {
					pod(rec.key).Live = append(pod(rec.key).Live, s.ID)
				}
			}
		}
	}
	for c := range q.before {
		if rec := r.pods[c.pod]; rec == nil || rec.containers[c.container] == nil || rec.containers[c.container].is == removed {
			pod(c.pod).Live = append(pod(c.pod).Live, c.container)
		}
	}
	for c := range q.ended.keys() {
		pod(c.pod).Ended = append(pod(c.pod).Ended, c.container)
	}
	for i := range p.Pods {
		slices.Sort(p.Pods[i].Live)
		p.Pods[i].Live = slices.Compact(p.Pods[i].Live)
		// Ended is in the order in which the containers will be forgotten.
	}
	return p
}
