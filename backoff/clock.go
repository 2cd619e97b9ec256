package backoff

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// timescale turns instants into distances from the instant it was made, which take
// a third of the space of a time.Time. They saturate 292 years away.
//
// On the real clock distances are monotonic: setting the wall clock changes none
// that was taken, and reading one costs half of time.Now. Instants without a
// monotonic reading are placed by the wall clock as it is now.
type timescale struct {
	clock     clock.PassiveClock
	base      time.Time
	monotonic bool // base has a monotonic reading
}

func newTimescale(c clock.PassiveClock) timescale {
	base := c.Now()
	return timescale{clock: c, base: base, monotonic: base != base.Round(0)}
}

func (s *timescale) now() time.Duration { return s.clock.Since(s.base) }

func (s *timescale) instant(at time.Time) time.Duration {
	if !s.monotonic || at != at.Round(0) {
		return at.Sub(s.base)
	}
	return subtract(at.Sub(s.base), s.set())
}

// instantBefore is instant for one that was read from a clock before now. A step
// that set ignores does not put it after now.
func (s *timescale) instantBefore(at time.Time) time.Duration {
	instant, now := s.instant(at), s.now()
	if s.monotonic && instant > now && instant-now < time.Second {
		return now
	}
	return instant
}

// time is the inverse of instant, by wall clock.
func (s *timescale) time(instant time.Duration) time.Time {
	return s.base.Round(0).Add(add(instant, s.set()))
}

// set is how far the wall clock was set since base: how far the two readings of the
// clock have drifted apart. Steps shorter than a second are ignored.
func (s *timescale) set() time.Duration {
	if !s.monotonic {
		return 0
	}
	now := s.clock.Now()
	if set := subtract(now.Round(0).Sub(s.base), now.Sub(s.base)); set.Abs() >= time.Second {
		return set
	}
	return 0
}

// steady reads a clock as a time that never goes back, so that a clock that is set
// back lengthens no wait: it goes on from the latest time, as the clock goes on.
// Times are distances from the first reading and saturate 292 years away.
type steady struct {
	clock clock.PassiveClock
	base  time.Time

	mu   sync.Mutex
	last time.Duration // the latest reading
	lost time.Duration // how far the clock was set back, in all
}

func newSteady(c clock.PassiveClock) *steady {
	return &steady{clock: c, base: c.Now()}
}

// now returns the clock's time and the steady time that belongs to it.
func (s *steady) now() (time.Time, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall := s.clock.Now()
	at := add(wall.Sub(s.base), s.lost)
	if at < s.last {
		s.lost = add(s.lost, subtract(s.last, at))
		at = s.last
	}
	s.last = at
	return wall, at
}
