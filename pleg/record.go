package pleg

import "time"

// A podRecord is a pod: what is known of it, and what is to be done about it.
type podRecord[K comparable] struct {
	key   K
	index int // in relister.order
	known
	todo
}

// todo is what is to be done about one pod. The zero value is nothing.
type todo struct {
	mark     uint64       // of the last full list that showed it
	wanted   uint64       // an observation later than this one is wanted; 0: none
	urgent   bool         // even while backing off: somebody waits
	sync     uint64       // an observation later than this one, at the latest that of the next full relist, ends with a PodSync; 0: none
	listed   *observation // from a list, to be inspected
	inFlight *observation // whose call is in flight
	relist   *relist      // that waits for this pod
	failures int          // in a row
	retryAt  time.Time    // if failures > 0
}

// A relist is a full relist under way.
type relist struct {
	start    time.Time
	serial   uint64
	explicit bool // asked for by Relist: failing pods are inspected too
	lenient  bool // a step without an event does not count as missed yet
	repeats  bool // it repeats a list that showed a step back
	listed   bool // the list is there
	open     int  // pods that it waits for
}

// overlaps reports whether the list was under way together with an observation
// of p: then nothing says which of the two is newer.
func (p *podRecord[K]) overlaps(l *relist) bool { return p.inFlight != nil || p.ended > l.serial }

// backsOff reports whether the pod is not to be looked at yet, because that failed.
func (t *todo) backsOff(now time.Time) bool { return t.failures > 0 && t.retryAt.After(now) }

// recorded notes that o was recorded. It reports whether a PodSync was asked for, and
// whether looks failed until now.
func (t *todo) recorded(o *observation) (asked, failed bool) {
	asked, failed = t.sync > 0, t.failures > 0
	if t.sync < o.serial {
		t.sync = 0 // else it was asked for meanwhile, and the next look has one, too
	}
	if t.wanted < o.serial {
		t.wanted = 0
	}
	t.failures = 0
	return asked, failed
}

// settle lets a full relist that waits for the pod go on, if o is not earlier than it.
func (t *todo) settle(o *observation) {
	if t.relist != nil && o.serial >= t.relist.serial {
		t.relist.open--
		t.relist = nil
	}
}

// await makes the full relist l wait for an observation of the pod that began with it or
// later.
func (t *todo) await(l *relist) {
	t.relist = l
	l.open++
}

// idle reports whether there is nothing to do.
func (t *todo) idle() bool {
	return t.wanted == 0 && t.sync == 0 && t.failures == 0 && t.listed == nil && t.inFlight == nil
}
