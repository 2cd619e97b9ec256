package main

import (
	"errors"
	"time"
)

// mostStarts is the number of concurrent starts. The runtime sets the pace, and
// containers were back no sooner with 3 or with 50.
const mostStarts = 8

// slowStart is the time after which a start gives up its slot to others.
const slowStart = 5 * time.Second

// errNoTurn means that a slow start has lost its turn.
var errNoTurn = errors.New("no turn is free")

// A slot is held by a start under way, together with a turn of the pacer, which is
// reserved until the start takes it. A slow start loses both.
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

// turn takes the reserved turn. A slow start has lost it and takes a free turn instead;
// if all turns are taken, turn returns errNoTurn.
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
