package pleg

import (
	"slices"
	"time"
)

// exitLogs are the logs of all readers of exits.
type exitLogs[K comparable] map[*exitLog[K]]struct{}

// show makes the readers await the ends of containers in an answer about a pod.
func (ls exitLogs[K]) show(pod K, shown []Container, since uint64) {
	for l := range ls {
		for _, s := range shown {
			l.show(pod, s, since)
		}
	}
}

// await makes the readers await the end of a container.
func (ls exitLogs[K]) await(c containerRef[K], since uint64) {
	for l := range ls {
		l.await(c, since)
	}
}

// awaited reports whether some reader has yet to learn of the end of c.
func (ls exitLogs[K]) awaited(c containerRef[K]) bool {
	for l := range ls {
		if !l.has(c) {
			return true
		}
	}
	return false
}

// tell records an event about c from the time at, or zero if unknown.
func (ls exitLogs[K]) tell(c containerRef[K], at time.Time) {
	for l := range ls {
		l.tell(c, at)
	}
}

// take passes news to all readers.
func (ls exitLogs[K]) take(n exitNews[K], limit int) {
	for l := range ls {
		l.take(n, limit)
	}
}

// leave records that c, if it has ended, is known to be no longer listed at the time
// at.
func (ls exitLogs[K]) leave(c containerRef[K], at time.Time) {
	for l := range ls {
		l.leave(c, at)
	}
}

// evict forgets gone containers beyond limit, except tracked ones.
func (ls exitLogs[K]) evict(limit int, tracked func(containerRef[K]) bool) {
	for l := range ls {
		l.evict(limit, tracked)
	}
}

// settle compares the readers' state with a full relist, which has ended. The end of an
// awaited container not in the relist is inferred. An ended container not in it is
// gone. lastSeen returns the record of a container, or nil, and whether its pod can be
// looked at.
func (ls exitLogs[K]) settle(relist *relist, now time.Time, limit int, lastSeen func(containerRef[K]) (*tracked, bool)) {
	for l := range ls {
		n := exitNews[K]{start: relist.start, end: now}
		for c := range l.awaited.Keys() {
			if l.of(c).since < relist.serial {
				if t, known := lastSeen(c); known && t.gone() {
					if t == nil {
						t = &tracked{} // no record
					}
					n.ends = append(n.ends, end[K]{exit: exitOf(c, t.exit, t.reported >= exited, &observation{absent: true})})
					n.gone = append(n.gone, c)
				}
			}
		}
		slices.SortFunc(n.ends, end[K].compare)
		for c := range l.listed.Keys() {
			if t, known := lastSeen(c); known && t.gone() {
				n.gone = append(n.gone, c)
			}
		}
		l.take(n, limit)
	}
}
