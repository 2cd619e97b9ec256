package pleg

import (
	"math/bits"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// done returns the start of the full relist in progress if it can end. The owner makes
// that the global time before calling finish.
func (r *relister[K, S]) done() (start time.Time, ok bool) {
	l := r.relist
	if l == nil || !l.listed || l.open > 0 {
		return time.Time{}, false
	}
	return l.start, true
}

// finish ends the full relist in progress and returns its start.
func (r *relister[K, S]) finish(now time.Time) (start time.Time) {
	l := r.relist
	r.exits.settle(l, now, r.exitLimit(), r.lastSeen)
	r.forgetOrphans(l)
	r.countMissed(l)
	r.syncEverything(l)
	r.stats.RelistDuration.observe(now.Sub(l.start))
	if r.stats.Relists > 0 {
		r.stats.RelistInterval.observe(l.start.Sub(r.lastStart))
	}
	r.stats.Relists++
	r.relist, r.listFailed, r.listed, r.listEnd, r.lastStart = nil, false, true, now, l.start
	r.stats.LastSeen = l.start
	r.notifyWaiters(l.serial, nil)
	return l.start
}

// failed ends the full relist in progress with an error.
func (r *relister[K, S]) failed(err error, now time.Time) {
	l := r.relist
	r.relist, r.listFailed, r.listed, r.listEnd = nil, true, true, now
	for _, p := range r.order {
		p.relist = nil
	}
	r.notifyWaiters(l.serial, err)
}

// notifyWaiters sends the outcome of a relist to the waiters from before its start.
func (r *relister[K, S]) notifyWaiters(serial uint64, err error) {
	r.waiters = slices.DeleteFunc(r.waiters, func(w *relistWaiter) bool {
		if w.serial >= serial {
			return false
		}
		w.done <- err
		return true
	})
}

// lastSeen returns the record of a container, or nil. known is false while looks at its
// pod fail.
func (r *relister[K, S]) lastSeen(ref containerRef[K]) (c *tracked, known bool) {
	p := r.pods[ref.pod]
	if p == nil {
		return nil, true
	}
	return p.containers[ref.container], p.failures == 0
}

// countMissed counts as missed the unreported steps found a RelistPeriod or more before
// the start of l, which has ended.
func (r *relister[K, S]) countMissed(l *relist) {
	r.unreported = slices.DeleteFunc(r.unreported, func(x unreportedSteps) bool {
		if x.found.Add(r.o.RelistPeriod).After(l.start) {
			return false
		}
		r.stats.MissedEvents += uint64(bits.OnesCount8(x.container.unreported))
		x.container.unreported = 0
		return true
	})
}

// syncEverything emits a PodSync of all pods, if requested. A request made after the
// start of l gets another one.
func (r *relister[K, S]) syncEverything(l *relist) {
	if r.syncAll == 0 {
		return
	}
	if r.syncAll < l.serial {
		r.syncAll = 0
	}
	for s := range r.subscribers {
		s.dropped = true
		queue.Signal(s.wake)
	}
}
