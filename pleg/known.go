package pleg

import "time"

// known is what is known of one pod. The zero value knows nothing but needs containers.
//
// It changes in two ways: an observation is recorded (apply), or events and observations
// that are not recorded tell of containers, which get the rank unseen.
type known struct {
	containers  containers
	live        int       // containers that are there
	present     bool      // the last observation showed the pod
	serial      uint64    // of the last observation that was recorded; 0: none was
	at          time.Time // that observation's
	ended       uint64    // when the last observation ended
	steppedBack bool      // the last observation showed a step back
	unjudged    bool      // containers were shown or reported that no recorded observation has judged
}

// newer reports whether k was recorded later than what began at start, with that serial.
func (k *known) newer(serial uint64, start time.Time) bool {
	return k.serial > serial || k.serial > 0 && k.at.After(start)
}

// A change is what recording an observation has changed.
type change struct {
	steps   []step   // in order of containers
	unseen  []string // containers that only events or unrecorded observations told of, and that are gone
	synced  bool     // a PodSync stands for something that was reported and that no step shows
	present int      // 1 if the pod came, -1 if it went
	live    int      // by how much the number of live containers grew
}

// apply records o as of at, and returns what that has changed. last is the last serial
// number that was given.
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
	// A container that an event reported and nothing shows has come and gone. A
	// container that runs although an event reported its end has begun again.
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

// step records one step. Where an id is used again a container begins anew; an event may
// have reported steps of either of the two, and they count for both.
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
