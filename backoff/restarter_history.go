package backoff

import "time"

// history is the state of one key in a Restarter. Times are steady times.
type history struct {
	last     Exit
	ahead    time.Duration // how far last.Finished was ahead of the clock when reported
	decision Decision
	due      time.Duration   // of the restart, if any
	reported time.Duration   // when the exit was last reported
	booked   bool            // due is booked in the bucket
	started  bool            // the restart was carried out
	recent   []time.Duration // when the restarts within Window were decided, oldest first; at most Limit
	keep     time.Duration   // how long the key can matter after due and reported
	counts   []ruleCount     // of the rules with counts of their own; nil without such rules
	earlier  *outcomes       // the exits before last; nil without History
}

// remaining returns the rest of the wait. It is within [0, Delay] because due is set at
// most a Delay ahead and steady time never goes back.
func (h *history) remaining(now time.Duration) time.Duration {
	if !h.pending() {
		return 0
	}
	return max(subtract(h.due, now), 0)
}

// pending reports whether a restart was decided and not started.
func (h *history) pending() bool { return h.decision.Action.restarts() && !h.started }

// moveOrigin subtracts by from every time.
func (h *history) moveOrigin(by time.Duration) {
	h.due, h.reported = subtract(h.due, by), subtract(h.reported, by)
	lower := func(times []time.Duration) {
		for i := range times {
			times[i] = subtract(times[i], by)
		}
	}
	lower(h.recent)
	for i := range h.counts {
		lower(h.counts[i].recent)
	}
}

// isNew reports whether next, reported at now, is a new exit rather than the last one
// again or an older one. By Run and Finished:
//
//	            unknown  earlier  same  later
//	higher Run  new      new      new   new    earlier: the clock was set back
//	same Run    same     same     same  same
//	lower Run   old      old      old   new    later: the counter has started over
//	no Run      new      old      same  new    earlier: new if only the last one lies ahead of the clock
//
// An exit with neither is new. If it were taken for the last one, it would restart at
// once, as would each one after it. For the same reason the clock counts if Run is
// missing. But an exit that finished before the last one was reported, by a clock not
// set back since, is old, because the last one's own clock is ahead.
func (h *history) isNew(next *Exit, now time.Time) bool {
	last := &h.last
	switch {
	case next.Run > last.Run, next.Run == 0 && next.Finished.IsZero():
		return true
	case next.Run != 0 && next.Run == last.Run:
		return false
	case next.Run != 0, !last.Finished.After(now), next.Finished.After(now):
		return next.Finished.After(last.Finished)
	}
	ended := last.Finished.Add(-h.ahead)
	return now.Before(ended) || !next.Finished.Before(ended)
}

// setLast makes e, reported at now, the last exit.
func (h *history) setLast(e Exit, now time.Time) {
	h.last, h.ahead = e, max(e.Finished.Sub(now), 0)
}

// ExitRecord is an exit with the decision about it.
type ExitRecord struct {
	Exit     Exit     `json:"exit"`
	Decision Decision `json:"decision"`
}

// outcomes is a ring of the exits before the last one.
type outcomes struct {
	ring   []ExitRecord
	oldest int // index in ring once full
}

// remember adds the last exit to the earlier ones and keeps at most n of those.
func (h *history) remember(n int) {
	if h.earlier == nil {
		h.earlier = &outcomes{}
	}
	h.earlier.add(ExitRecord{h.last, h.decision}, n)
}

func (o *outcomes) add(one ExitRecord, n int) {
	if len(o.ring) < n {
		o.ring = append(o.ring, one)
		return
	}
	o.ring[o.oldest] = one
	o.oldest = (o.oldest + 1) % n
}

// list returns a copy, oldest first.
func (o *outcomes) list() []ExitRecord {
	if o == nil {
		return nil
	}
	return append(append([]ExitRecord(nil), o.ring[o.oldest:]...), o.ring[:o.oldest]...)
}
