// Package flowcontrol provides client-go's flowcontrol.Backoff on top of
// backoff.Tracker, with the same names, so that a fork only has to change an import.
package flowcontrol

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/backoff"
)

// Backoff has the methods of client-go's Backoff. Set its fields before the first call
// of a method. It is safe for concurrent use by multiple goroutines.
type Backoff struct {
	Clock clock.Clock
	// HasExpiredFunc replaces the default rule, which forgets a key when twice the maximum
	// has passed since its last failure.
	HasExpiredFunc func(eventTime, lastUpdate time.Time, maxDuration time.Duration) bool

	tracker func() *backoff.Tracker[string]
}

// NewBackOff returns a Backoff with delays from initial to max on the real clock.
func NewBackOff(initial, max time.Duration) *Backoff {
	return NewFakeBackOffWithJitter(initial, max, clock.RealClock{}, 0)
}

// NewFakeBackOff is like NewBackOff with the given clock.
func NewFakeBackOff(initial, max time.Duration, tc clock.Clock) *Backoff {
	return NewFakeBackOffWithJitter(initial, max, tc, 0)
}

// NewBackOffWithJitter is like NewBackOff with jitter, which shortens a delay by up to
// that share, unlike client-go's, which lengthens it.
func NewBackOffWithJitter(initial, max time.Duration, maxJitterFactor float64) *Backoff {
	return NewFakeBackOffWithJitter(initial, max, clock.RealClock{}, maxJitterFactor)
}

// NewFakeBackOffWithJitter is like NewBackOffWithJitter with the given clock. The
// constructors return no errors, so they adjust values. Delays are at least 1 ns, max at
// least initial, and the jitter at most 1. Methods panic on a jitter below 0.
func NewFakeBackOffWithJitter(initial, max time.Duration, tc clock.Clock, maxJitterFactor float64) *Backoff {
	p := backoff.Policy{Initial: initial, Max: max, Jitter: min(maxJitterFactor, 1)}
	if p.Initial <= 0 {
		p.Initial = 1
	}
	if p.Max < p.Initial {
		p.Max = p.Initial
	}
	b := &Backoff{Clock: tc}
	b.tracker = sync.OnceValue(func() *backoff.Tracker[string] {
		tracker, err := backoff.NewTracker[string](p, backoff.TrackerOptions{Clock: b.Clock, Expired: b.HasExpiredFunc})
		if err != nil {
			panic(err) // the jitter is negative or NaN
		}
		return tracker
	})
	return b
}

// Get returns the delay in force, or 0.
func (b *Backoff) Get(id string) time.Duration { return b.tracker().Get(id) }

// Next counts a failure at eventTime.
func (b *Backoff) Next(id string, eventTime time.Time) { b.tracker().Next(id, eventTime) }

// Reset forgets a key.
func (b *Backoff) Reset(id string) { b.tracker().Reset(id) }

// DeleteEntry forgets a key.
func (b *Backoff) DeleteEntry(id string) { b.tracker().Reset(id) }

// IsInBackOffSince reports whether less than the delay has passed since eventTime.
func (b *Backoff) IsInBackOffSince(id string, eventTime time.Time) bool {
	return b.tracker().IsInBackOffSince(id, eventTime)
}

// IsInBackOffSinceUpdate reports whether eventTime is less than the delay after the
// last failure.
func (b *Backoff) IsInBackOffSinceUpdate(id string, eventTime time.Time) bool {
	return b.tracker().IsInBackOffSinceUpdate(id, eventTime)
}

// GC drops expired entries.
func (b *Backoff) GC() { b.tracker().GC() }

// Has reports whether a key has an entry.
func (b *Backoff) Has(id string) bool {
	_, ok := b.tracker().State(id)
	return ok
}
