// Package cachewriter has the part of a statuscache.Cache that only its writer needs,
// which is a pleg.Generator or an adapter of Kubernetes' cache.
package cachewriter

import (
	"iter"
	"time"

	"k8s.io/utils/clock"
)

// Counts are a cache's refusals and tombstones.
type Counts struct {
	Stale      uint64 // writes that were not new enough
	Skewed     uint64 // times beyond MaxSkew
	Tombstones int    // remembered deletions
}

// Writer is the writer's view of a cache. It is safe for concurrent use.
type Writer[K comparable, S any] interface {
	// SetInOrder is like Set but also accepts a time equal to the entry's, for a single
	// writer whose writes may share a reading of the clock.
	SetInOrder(key K, status S, err error, at time.Time) (updated bool)
	// SetObservedTime records that key's entry still holds at the local time at, which is
	// read before asking, as for Set. It reports false and does nothing if key is absent, if
	// the entry or the global time is as new as at, or if Set would refuse the time. It ends
	// waits for an entry of that time, and is not a change for Watch.
	SetObservedTime(key K, at time.Time) bool
	// UpdateTime sets the global time to at, the local start time of a completed full
	// list. It ignores earlier times than the current one.
	UpdateTime(at time.Time)
	// Keys yields the present keys in no particular order.
	Keys() iter.Seq[K]
	Counts() Counts
	Clock() clock.WithTicker
	Done() <-chan struct{} // closed by Close
	// WaitBegan returns a channel that receives a token when the first of the current
	// waits begins. The receiver should call Overdue.
	WaitBegan() <-chan struct{}
	// Overdue returns the keys that callers have waited for longer than limit, each at most
	// once per limit. The write that should have ended such a wait may be lost (KEP-3386,
	// "stuck at GetNewerThan"), so the writer should fetch their statuses. A wait for a time
	// still to come is not overdue. While there are waits, waiting is true, and next is when
	// to call Overdue again. It is for a single caller.
	Overdue(now time.Time, limit time.Duration) (keys []K, next time.Time, waiting bool)
}
