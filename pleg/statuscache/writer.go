package statuscache

import (
	"iter"
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/internal/cachewriter"
)

// Writer returns the methods that package pleg needs to keep the cache equal to a
// runtime. Other callers have no use for them.
func (c *Cache[K, S]) Writer() cachewriter.Writer[K, S] { return writer[K, S]{c} }

// writer is a cachewriter.Writer.
type writer[K comparable, S any] struct{ c *Cache[K, S] }

func (w writer[K, S]) SetInOrder(key K, status S, err error, at time.Time) (updated bool) {
	return w.c.setInOrder(key, status, err, at)
}

func (w writer[K, S]) SetObservedTime(key K, at time.Time) bool { return w.c.setObservedTime(key, at) }
func (w writer[K, S]) UpdateTime(at time.Time)                  { w.c.updateTime(at) }
func (w writer[K, S]) Keys() iter.Seq[K]                        { return w.c.keys() }
func (w writer[K, S]) Counts() cachewriter.Counts               { return w.c.allCounts() }
func (w writer[K, S]) Clock() clock.WithTicker                  { return w.c.clock }
func (w writer[K, S]) Done() <-chan struct{}                    { return w.c.done }
func (w writer[K, S]) WaitBegan() <-chan struct{}               { return w.c.waits.began }

func (w writer[K, S]) Overdue(now time.Time, limit time.Duration) (keys []K, next time.Time, waiting bool) {
	return w.c.overdue(now, limit)
}
