package flowcontrol

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/conformance/upstream/flowcontrol"
)

// Backoff adds the internals that the package's tests inspect.
type Backoff struct {
	*flowcontrol.Backoff
	perItemBackoff entries
}

// entries answers the tests' look-ups in the map of entries after a GC.
type entries map[string]struct{}

func NewFakeBackOff(initial, max time.Duration, tc clock.Clock) *Backoff {
	return &Backoff{flowcontrol.NewFakeBackOff(initial, max, tc), entries{}}
}

func NewBackOff(initial, max time.Duration) *Backoff {
	return &Backoff{flowcontrol.NewBackOff(initial, max), entries{}}
}

func NewFakeBackOffWithJitter(initial, max time.Duration, tc clock.Clock, jitter float64) *Backoff {
	return &Backoff{flowcontrol.NewFakeBackOffWithJitter(initial, max, tc, jitter), entries{}}
}

func NewBackOffWithJitter(initial, max time.Duration, jitter float64) *Backoff {
	return &Backoff{flowcontrol.NewBackOffWithJitter(initial, max, jitter), entries{}}
}

func (b *Backoff) Next(id string, eventTime time.Time) {
	b.Backoff.Next(id, eventTime)
	b.perItemBackoff[id] = struct{}{}
}

func (b *Backoff) GC() {
	b.Backoff.GC()
	for id := range b.perItemBackoff {
		if !b.Has(id) {
			delete(b.perItemBackoff, id)
		}
	}
}
