package backoff

import "time"

// history is what a Restarter knows about one key. Times are steady times.
type history struct {
	last     Exit
	ahead    time.Duration // by how much last finished later than the clock showed when it was reported
	decision Decision
	due      time.Duration   // of the restart, if there is one
	reported time.Duration   // when the exit was reported last
	booked   bool            // due is booked in the bucket
	recent   []time.Duration // when the restarts within Window were decided, oldest first; at most Limit
	keep     time.Duration   // how long after due and reported the key can matter
	counts   []ruleCount     // of the rules that have their own; nil if there is none
	earlier  *outcomes       // the exits before last; nil without History
}

// remaining is the wait that is left. It is within [0, Delay]: due is at most a Delay
// ahead when it is set, and steady time never goes back.
func (h *history) remaining(now time.Duration) time.Duration {
	if !h.decision.Action.restarts() {
		return 0
	}
	return max(subtract(h.due, now), 0)
}

// moveOrigin makes every time less.
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

// isNew reports whether next, reported at now, is a new exit after the last one, and
// neither the same one again nor an older one. By its Run and Finished:
//
//	            unknown  earlier  same  later
//	higher Run  new      new      new   new    earlier: the clock was set back
//	same Run    same     same     same  same
//	lower Run   old      old      old   new    later: the counter has started over
//	no Run      new      old      same  new    earlier: new if only the last one lies ahead of the clock
//
// An exit with neither is new: taken for the same one, it would be restarted at once,
// and so would each one after it. For the same reason the clock counts where there is
// no Run. But an exit that finished before the last one was reported, by a clock that was
// not set back since, is old: the last one's own clock is ahead.
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

// ExitRecord is an exit and what was decided about it. An ExitRecord is a plain value, to be
// copied and shared.
type ExitRecord struct {
	Exit     Exit     `json:"exit"`
	Decision Decision `json:"decision"`
}

// outcomes is a ring of the exits before the last one.
type outcomes struct {
	ring   []ExitRecord
	oldest int // index in ring once that is full
}

// remember keeps the last exit among at most n earlier ones.
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
