package pleg

import (
	"slices"
	"time"
)

// exitLogs are the logs of all readers of exits.
type exitLogs[K comparable] map[*exitLog[K]]struct{}

// show makes the readers await the ends of containers of a pod that an answer has shown.
func (ls exitLogs[K]) show(pod K, shown []Container, since uint64) {
	for l := range ls {
		for _, s := range shown {
			l.show(containerRef[K]{pod, s.ID}, since)
		}
	}
}

// await makes the readers await the end of a container.
func (ls exitLogs[K]) await(c containerRef[K], since uint64) {
	for l := range ls {
		l.await(c, since)
	}
}

// awaited reports whether some reader has not been told the end of c.
func (ls exitLogs[K]) awaited(c containerRef[K]) bool {
	for l := range ls {
		if !l.has(c) {
			return true
		}
	}
	return false
}

// tell notes that an event of the time at, zero if that is not known, has told of c.
func (ls exitLogs[K]) tell(c containerRef[K], at time.Time) {
	for l := range ls {
		l.tell(c, at)
	}
}

// take hands news to every reader.
func (ls exitLogs[K]) take(n exitNews[K], limit int) {
	for l := range ls {
		l.take(n, limit)
	}
}

// leave notes that c, which had ended, is known at the time at to be no longer listed.
func (ls exitLogs[K]) leave(c containerRef[K], at time.Time) {
	for l := range ls {
		l.leave(c, at)
	}
}

// evict forgets containers that are gone beyond limit and are not tracked.
func (ls exitLogs[K]) evict(limit int, tracked func(containerRef[K]) bool) {
	for l := range ls {
		l.evict(limit, tracked)
	}
}

// settle compares what the readers know with a full relist, which has ended. The end of a
// container that they await and that the relist does not show is inferred. One that has
// ended and that it does not show is gone. lastSeen returns what is known of a container,
// nil if nothing is remembered; its second result is false while its pod cannot be looked at.
func (ls exitLogs[K]) settle(relist *relist, now time.Time, limit int, lastSeen func(containerRef[K]) (*tracked, bool)) {
	for l := range ls {
		n := exitNews[K]{start: relist.start, end: now}
		for c := range l.awaited.Keys() {
			if l.of(c).since < relist.serial {
				if t, known := lastSeen(c); known && t.gone() {
					if t == nil {
						t = &tracked{} // nothing is remembered
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
