package backoff

import (
	"time"

	"k8s.io/utils/clock"
)

// timescale converts instants to distances from the instant of its creation, which take
// a third of the space of a time.Time. They saturate 292 years away.
//
// On the real clock, distances are monotonic. Setting the wall clock does not change
// existing distances, and reading one costs half as much as time.Now. Instants without
// a monotonic reading are placed by the present wall clock.
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

// time is the inverse of instant and returns wall-clock time.
func (s *timescale) time(instant time.Duration) time.Time {
	return s.base.Round(0).Add(add(instant, s.set()))
}

// set returns how far the wall clock was set since base, measured by the drift between
// the two readings of the clock. Steps shorter than a second are ignored.
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
