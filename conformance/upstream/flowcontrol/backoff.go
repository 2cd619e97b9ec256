// Package flowcontrol is client-go's flowcontrol.Backoff over backoff.Tracker: the
// same names, so that a fork changes an import and no caller.
package flowcontrol

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/backoff"
)

// Backoff has the methods of client-go's Backoff. Its fields are read when a method is
// first called; set them before. It is safe for concurrent use by multiple goroutines.
type Backoff struct {
	Clock clock.Clock
	// HasExpiredFunc replaces the rule that a key is forgotten twice the maximum after
	// its last failure.
	HasExpiredFunc func(eventTime, lastUpdate time.Time, maxDuration time.Duration) bool

	tracker func() *backoff.Tracker[string]
}

// NewBackOff returns a Backoff from initial to max on the real clock.
func NewBackOff(initial, max time.Duration) *Backoff {
	return NewFakeBackOffWithJitter(initial, max, clock.RealClock{}, 0)
}

// NewFakeBackOff is NewBackOff on another clock.
func NewFakeBackOff(initial, max time.Duration, tc clock.Clock) *Backoff {
	return NewFakeBackOffWithJitter(initial, max, tc, 0)
}

// NewBackOffWithJitter is NewBackOff with jitter, which shortens a delay by up to
// that share. client-go's lengthens it.
func NewBackOffWithJitter(initial, max time.Duration, maxJitterFactor float64) *Backoff {
	return NewFakeBackOffWithJitter(initial, max, clock.RealClock{}, maxJitterFactor)
}

// NewFakeBackOffWithJitter is NewBackOffWithJitter on another clock. These
// constructors have no error to return, so what no Policy takes is made fit: delays
// of at least 1 ns, a maximum of at least initial, a jitter of at most 1.
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
			panic(err) // the lines above leave no reason
		}
		return tracker
	})
	return b
}

// Get returns the delay in force, 0 if there is none.
func (b *Backoff) Get(id string) time.Duration { return b.tracker().Get(id) }

// Next counts one more failure, which happened at eventTime.
func (b *Backoff) Next(id string, eventTime time.Time) { b.tracker().Next(id, eventTime) }

// Reset forgets a key.
func (b *Backoff) Reset(id string) { b.tracker().Reset(id) }

// DeleteEntry forgets a key.
func (b *Backoff) DeleteEntry(id string) { b.tracker().Reset(id) }

// IsInBackOffSince reports whether less time has passed since eventTime than the
// delay.
func (b *Backoff) IsInBackOffSince(id string, eventTime time.Time) bool {
	return b.tracker().IsInBackOffSince(id, eventTime)
}

// IsInBackOffSinceUpdate reports whether eventTime is less than the delay after the
// last failure.
func (b *Backoff) IsInBackOffSinceUpdate(id string, eventTime time.Time) bool {
	return b.tracker().IsInBackOffSinceUpdate(id, eventTime)
}

// GC forgets keys that can no longer matter.
func (b *Backoff) GC() { b.tracker().GC() }

// Has reports whether there is an entry of a key.
func (b *Backoff) Has(id string) bool {
	_, ok := b.tracker().State(id)
	return ok
}
