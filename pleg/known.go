package pleg

import "time"

// known is the known state of one pod. The zero value knows nothing but requires
// containers.
//
// It changes in two ways. Recorded observations are applied (apply). Events and
// unrecorded observations add containers with the rank unseen.
type known struct {
	containers  containers
	live        int       // number of live containers
	present     bool      // the last observation showed the pod
	serial      uint64    // of the last recorded observation; 0 if none
	at          time.Time // the time of that observation
	ended       uint64    // when the last observation ended
	steppedBack bool      // the last observation showed a step back
	unjudged    bool      // some containers were shown or reported, but not yet judged by a recorded observation
}

// newer reports whether k was recorded later than an observation with that start and
// serial.
func (k *known) newer(serial uint64, start time.Time) bool {
	return k.serial > serial || k.serial > 0 && k.at.After(start)
}

// A change is the effect of recording an observation.
type change struct {
	steps   []step   // ordered by container
	unseen  []string // absent containers that only events or unrecorded observations showed
	synced  bool     // a PodSync stands for a report without a step
	present int      // 1 if the pod appeared, -1 if it disappeared
	live    int      // growth in live containers
}

// apply records o as of at, and returns the change. last is the last serial number in
// use.
func (k *known) apply(o *observation, at time.Time, last uint64) change {
	c := change{live: -k.live}
	if o.absent {
		c.steps = k.containers.diff(nil)
	} else {
		c.steps = k.containers.diff(o.seen)
	}
	for i := range c.steps {
		k.step(&c.steps[i], last)
	}
	c.live += k.live
	// A container that was reported but is absent has come and gone. A container that
	// runs although an event reported its end has started again.
	k.unjudged = false
	for id, t := range k.containers {
		if (t.is == unseen || t.is < exited && t.reported >= exited) && !t.synced && t.since <= o.serial {
			t.synced, c.synced = true, true
			if t.is == unseen {
				c.unseen = append(c.unseen, id)
			}
		}
		k.unjudged = k.unjudged || t.is == unseen && !t.synced
	}
	switch {
	case k.present && o.absent:
		c.present = -1
	case !k.present && !o.absent:
		c.present = 1
	}
	k.present = !o.absent
	k.at, k.serial, k.steppedBack = at, o.serial, false
	return c
}

// step records one step. A reused id gets a new record. Events do not tell its two
// containers apart, so reported steps count for both.
func (k *known) step(s *step, last uint64) {
	t := k.containers[s.container]
	switch {
	case t == nil:
		t = &tracked{}
		k.containers[s.container] = t
	case s.again:
		if t.is.live() {
			k.live--
		}
		t = &tracked{again: true, reported: min(t.reported, s.to)}
		k.containers[s.container] = t
	default:
		s.ended, s.note = t.reported >= exited, t.exit
	}
	s.tracked, s.fresh = t, t.is == unseen && !s.again
	switch {
	case t.is == unseen:
		k.live++
	case s.to == removed:
		k.live--
		t.since = last
	}
	if t.is = s.to; t.is >= exited {
		t.exit = nil
	}
}
