package main

import (
	"errors"
	"time"
)

// mostStarts is how many containers are started at once. With 3, and with 50, they were
// no sooner back: the runtime sets the pace.
const mostStarts = 8

// slowStart is how long a start counts as one of these. One that takes longer waits for
// something, and holds up no others.
const slowStart = 5 * time.Second

// errNoTurn means that a start was slow and lost its turn.
var errNoTurn = errors.New("other starts have their turns")

// A slot is held by a start that is under way: one of mostStarts, and a turn of the pacer
// until it is taken. A slow start loses both.
type slot struct {
	l        *crashLoop
	slow     *time.Timer
	held     bool // one of mostStarts
	reserved bool // a turn
}

// newSlot returns a slot. The caller holds l.mu.
func (l *crashLoop) newSlot() *slot {
	l.busy++
	l.pace.reserved++
	s := &slot{l: l, held: true, reserved: true}
	s.slow = time.AfterFunc(slowStart, s.free)
	return s
}

// free gives back what is still held.
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

// turn takes a turn, right before the container is started. Only a slow start may have
// none.
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
