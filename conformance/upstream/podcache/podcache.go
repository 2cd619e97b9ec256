// Package podcache provides the kubelet's kubecontainer.Cache on top of
// statuscache.Cache. The kubelet's PodStatus is a type parameter, so that the package
// declaring both can import this one.
package podcache

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/pleg/statuscache"
)

// Cache has the methods of kubecontainer.Cache if S is kubecontainer.PodStatus. It is
// safe for concurrent use by multiple goroutines.
type Cache[S any] struct {
	cache *statuscache.Cache[types.UID, *S]
	clock clock.PassiveClock
	empty func(types.UID) *S
}

// New returns a Cache on the given clock. empty returns the status of a pod unknown to
// the runtime. merge is that of statuscache.Options and may be nil.
func New[S any](c clock.WithTicker, empty func(types.UID) *S, merge func(old, new *S) *S) *Cache[S] {
	return &Cache[S]{
		cache: statuscache.New[types.UID](statuscache.Options[*S]{Clock: c, AcceptEqual: true, Merge: merge}),
		clock: c,
		empty: empty,
	}
}

// Pleg returns the underlying cache, for a Generator to fill.
func (c *Cache[S]) Pleg() *statuscache.Cache[types.UID, *S] { return c.cache }

// Get returns the status of a pod and the error of its inspection.
func (c *Cache[S]) Get(id types.UID) (*S, error) { return c.answer(id, c.cache.Get(id)) }

// GetNewerThan waits for a status newer than minTime.
func (c *Cache[S]) GetNewerThan(id types.UID, minTime time.Time) (*S, error) {
	e, err := c.cache.GetNewerThan(context.Background(), id, minTime)
	if err != nil {
		return c.empty(id), err
	}
	return c.answer(id, e)
}

// Set stores a status as of a time. The zero time means now, for a runtime without
// timestamps.
func (c *Cache[S]) Set(id types.UID, status *S, err error, at time.Time) (updated bool) {
	if at.IsZero() {
		at = c.clock.Now()
	}
	return c.cache.Set(id, status, err, at)
}

// SetObservedTime records that the pod's entry, or its absence, still holds at a time.
func (c *Cache[S]) SetObservedTime(id types.UID, at time.Time) {
	if !c.cache.Writer().SetObservedTime(id, at) && !c.cache.Get(id).Present {
		c.cache.Delete(id, at)
	}
}

// Delete makes the pod absent as of now.
func (c *Cache[S]) Delete(id types.UID) { c.cache.Delete(id, c.clock.Now()) }

// UpdateTime records that all entries hold as of a time.
func (c *Cache[S]) UpdateTime(at time.Time) { c.cache.Writer().UpdateTime(at) }

func (c *Cache[S]) answer(id types.UID, e statuscache.Entry[*S]) (*S, error) {
	if !e.Present {
		return c.empty(id), nil
	}
	return e.Status, e.Err
}
