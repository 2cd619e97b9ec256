package backoff

import "time"

// RateLimiter is a Tracker in the shape of client-go's
// workqueue.TypedRateLimiter[K]: the rate limiter of a work queue. Get one from
// Tracker.RateLimiter; the zero value is not usable. A RateLimiter is safe for
// concurrent use by multiple goroutines.
type RateLimiter[K comparable] struct {
	tracker *Tracker[K]
}

// RateLimiter returns a view of t, in which When is a Next now. The delay of a key
// starts over after ResetAfter without one.
func (t *Tracker[K]) RateLimiter() RateLimiter[K] {
	return RateLimiter[K]{tracker: t}
}

// When counts a failure of item and returns how long it is to wait.
func (r RateLimiter[K]) When(item K) time.Duration {
	return r.tracker.next(item, nil)
}

// Forget forgets the failures of item.
func (r RateLimiter[K]) Forget(item K) { r.tracker.Reset(item) }

// NumRequeues returns how many failures in a row item has had.
func (r RateLimiter[K]) NumRequeues(item K) int {
	s, _ := r.tracker.State(item)
	return s.Failures
}
