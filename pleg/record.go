package pleg

import "time"

// A podRecord is the known state of a pod and the pending work for it.
type podRecord[K comparable] struct {
	key   K
	index int // in relister.order
	known
	todo
}

// todo is the pending work for one pod. The zero value means none.
type todo struct {
	mark     uint64       // the last full list that showed it
	wanted   uint64       // an observation later than this serial is wanted; 0 if none
	urgent   bool         // ignore the backoff, for a waiter
	sync     uint64       // an observation later than this serial, at the latest the next full relist's, ends with a PodSync; 0 if none
	listed   *observation // from a list, awaiting inspection
	inFlight *observation // with a call in flight
	relist   *relist      // the full relist that waits for this pod
	failures int          // in a row
	retryAt  time.Time    // set if failures > 0
}

// A relist is a full relist in progress.
type relist struct {
	start    time.Time
	serial   uint64
	explicit bool // requested by Relist, so failing pods are inspected too
	lenient  bool // a step without an event does not count as missed yet
	repeats  bool // it repeats a list that showed a step back
	listed   bool // the list has arrived
	open     int  // number of pods that it waits for
}

// overlaps reports whether the list of l overlapped in time with an observation of p,
// so that either may be the newer one.
func (p *podRecord[K]) overlaps(l *relist) bool { return p.inFlight != nil || p.ended > l.serial }

// backsOff reports whether the pod must not be looked at yet, after a failure.
func (t *todo) backsOff(now time.Time) bool { return t.failures > 0 && t.retryAt.After(now) }

// recorded clears the work that recording o has done. It reports whether a PodSync was
// requested, and whether earlier looks had failed.
func (t *todo) recorded(o *observation) (asked, failed bool) {
	asked, failed = t.sync > 0, t.failures > 0
	if t.sync < o.serial {
		t.sync = 0 // a later request gets a PodSync with the next look
	}
	if t.wanted < o.serial {
		t.wanted = 0
	}
	t.failures = 0
	return asked, failed
}

// settle lets a full relist that waits for the pod continue, if o began with it or
// later.
func (t *todo) settle(o *observation) {
	if t.relist != nil && o.serial >= t.relist.serial {
		t.relist.open--
		t.relist = nil
	}
}

// await makes the full relist l wait for an observation of the pod that began with it
// or later.
func (t *todo) await(l *relist) {
	t.relist = l
	l.open++
}

// idle reports whether no work is pending.
func (t *todo) idle() bool {
	return t.wanted == 0 && t.sync == 0 && t.failures == 0 && t.listed == nil && t.inFlight == nil
}
