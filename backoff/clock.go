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
// back lengthens no wait: it goes on from the latest time, as the clock goes on. Its
// times are distances from an origin, and saturate 292 years away from it. A clock that
// flips between two times takes this one ahead with each flip, so its user moves the
// origin where a time is beyond horizon.
type steady struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	wall time.Time     // the latest reading
	at   time.Duration // the steady time of it
}

// horizon is how far ahead steady times are used: 73 years.
const horizon = 1 << 61

func newSteady(c clock.PassiveClock) *steady {
	return &steady{clock: c, wall: c.Now()}
}

// now returns the clock's time and the steady time that belongs to it.
func (s *steady) now() (time.Time, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall := s.clock.Now()
	s.at = add(s.at, max(wall.Sub(s.wall), 0))
	s.wall = wall
	return wall, s.at
}

// moveOrigin makes the latest time 0 and returns by how much later times are less.
func (s *steady) moveOrigin() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := s.at
	s.at = 0
	return by
}
