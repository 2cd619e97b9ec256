package backoff

import "time"

// RateLimiter is a view of a Tracker that implements client-go's
// workqueue.TypedRateLimiter[K]. Get one from Tracker.RateLimiter; the zero value is
// not usable. A RateLimiter is safe for concurrent use.
type RateLimiter[K comparable] struct {
	tracker *Tracker[K]
}

// RateLimiter returns a view of t in which When calls Next with the current time. After
// more than ResetAfter without such a call, a key's delay starts over.
func (t *Tracker[K]) RateLimiter() RateLimiter[K] {
	return RateLimiter[K]{tracker: t}
}

// When counts a failure of item and returns how long to wait before its retry.
func (r RateLimiter[K]) When(item K) time.Duration {
	return r.tracker.next(item, nil)
}

// Forget forgets the failures of item.
func (r RateLimiter[K]) Forget(item K) { r.tracker.Reset(item) }

// NumRequeues returns item's number of failures in a row.
func (r RateLimiter[K]) NumRequeues(item K) int {
	s, _ := r.tracker.State(item)
	return s.Failures
}
