package main

import (
	"errors"
	"time"
)

// mostStarts is how many containers are started at once. The runtime sets the pace: with
// 3, and with 50, containers were back no sooner.
const mostStarts = 8

// slowStart is how long a start holds its slot. A slower one gives it up, so that it does
// not hold up others.
const slowStart = 5 * time.Second

// errNoTurn means that a start was slow and lost its turn.
var errNoTurn = errors.New("other starts have their turns")

// A start holds a slot while it is under way, and with it a reserved turn of the pacer
// until it takes the turn. A slow start loses both.
type slot struct {
	l        *crashLoop
	slow     *time.Timer
	held     bool // counts in l.busy
	reserved bool // counts in l.pace.reserved
}

// newSlot returns a slot. The caller holds l.mu.
func (l *crashLoop) newSlot() *slot {
	l.busy++
	l.pace.reserved++
	s := &slot{l: l, held: true, reserved: true}
	s.slow = time.AfterFunc(slowStart, s.free)
	return s
}

// free gives back the slot and its turn. Further calls are no-ops.
func (s *slot) free() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.slow.Stop()
	s.giveBackTurn()
	if s.held {
		s.held = false
		s.l.busy--
	}
	s.l.changed()
}

// turn takes the reserved turn. A slow start, which has none, takes a free turn or gets
// errNoTurn.
func (s *slot) turn() error {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.giveBackTurn()
	now := time.Now()
	if s.l.pace.wait(now) > 0 {
		return errNoTurn
	}
	s.l.pace.take(now)
	return nil
}

func (s *slot) giveBackTurn() {
	if s.reserved {
		s.reserved = false
		s.l.pace.reserved--
	}
}
