package jobcontroller

import (
	"time"

	"k8s.io/utils/clock"
)

// skewedClock is the clock, real or of a bubble, with a constant offset.
type skewedClock struct {
	clock.RealClock
	by time.Duration
}

func (c *skewedClock) Now() time.Time                  { return time.Now().Add(c.by) }
func (c *skewedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
