// Package workqueue puts a backoff.Restarter or backoff.Tracker in the place of the
// default rate limiter of client-go's work queues and of controller-runtime, and makes
// a requeue delay of an error.
//
// A [Limiter] is a workqueue.TypedRateLimiter. Who hands it the outcome of each
// reconcile, through [Limiter.RequeueAfter], has two things more: the class of an error
// counts ([Class]), and the queue and Reconcile share one history of failures, so that
// an item that fails now in one way and then in another waits ever longer.
package workqueue

import (
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientworkqueue "k8s.io/client-go/util/workqueue"

	"github.com/restartkit/restart/backoff"
)

// Limiter delays the items of a work queue after failures. In place of the default
// limiter of client-go, which is 5 ms doubled up to 1000 s for each item and 10 items a
// second over all of them:
//
//	restarter, err := backoff.NewRestarter(
//		backoff.Policy{Initial: 5 * time.Millisecond, Max: time.Minute},
//		backoff.RestarterOptions[string]{Rate: 10, Burst: 100},
//	)
//	limiter := workqueue.NewLimiter(restarter, nil)
//	queue := clientworkqueue.NewTypedRateLimitingQueue(limiter)
//
// What it knows of failures is in the Restarter or Tracker, which can be shown, stored
// and restored. What it keeps besides is small and goes with an item's success.
//
// Make one with NewLimiter or NewTrackerLimiter; the zero value is not usable. A Limiter
// is safe for concurrent use by multiple goroutines, but for a single item only one of
// them at a time should report outcomes: that is what a work queue sees to.
type Limiter[T comparable] struct {
	history  history[T]
	classify func(error) Class

	mu     sync.Mutex
	failed map[T]failure // items whose last outcome, by RequeueAfter, was a failure
}

// failure is what RequeueAfter has said about an item.
type failure struct {
	delay time.Duration
	told  bool // When has been asked about it
}

// history is what a Limiter wants of a Restarter or Tracker.
type history[T comparable] interface {
	failed(item T, c Class) (delay time.Duration, again bool)
	failures(item T) int
	Reset(item T)
}

var _ clientworkqueue.TypedRateLimiter[string] = (*Limiter[string])(nil)

// never is how long an item waits that is not to come back by itself.
const never time.Duration = math.MaxInt64

// NewLimiter returns a Limiter whose delays are the Restarter's: its policy, its Rate
// over all items, its Limit. Each failure is an Exit with code 1 and the class as its
// Reason, so that the option PolicyFor can have a curve for each class; see Policies. A
// nil classify is ClassOf.
//
// After Limit failures within Window an item does not come back by itself: RequeueAfter
// returns 0, When the longest Duration there is.
func NewLimiter[T comparable](r *backoff.Restarter[T], classify func(error) Class) *Limiter[T] {
	return newLimiter(restarterHistory[T]{r}, classify)
}

// NewTrackerLimiter returns a Limiter whose delays are the Tracker's, one curve for all
// classes, as those of its RateLimiter: they start over after ResetAfter without a
// failure. A nil classify is ClassOf.
func NewTrackerLimiter[T comparable](t *backoff.Tracker[T], classify func(error) Class) *Limiter[T] {
	return newLimiter(trackerHistory[T]{t}, classify)
}

func newLimiter[T comparable](h history[T], classify func(error) Class) *Limiter[T] {
	if classify == nil {
		classify = ClassOf
	}
	return &Limiter[T]{history: h, classify: classify, failed: make(map[T]failure)}
}

// RequeueAfter takes the outcome of a reconcile of item, and returns after how long to
// reconcile it again: 0 means not to, until it changes. Call it once for each outcome,
// nil too, for then the item's failures are forgotten. They are forgotten as well after
// an error of class Terminal. After any other error the delay is at least what the
// server asked for (Retry-After), also if that is above the Max of the policy.
//
// In controller-runtime return the delay as Result.RequeueAfter, with a nil error. Or
// return the error, and let the Limiter be the controller's RateLimiter: the queue
// waits as long, and the failure is counted once. Do not return an error of class
// Terminal as it is, for that would be queued again: return nil, or wrap it in
// reconcile.TerminalError. Likewise with client-go's queues: call AddAfter with the
// delay, or AddRateLimited.
func (l *Limiter[T]) RequeueAfter(item T, err error) time.Duration {
	class := Success
	if err != nil {
		class = l.classify(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if class == Success || class == Terminal {
		delete(l.failed, item)
		l.history.Reset(item)
		return 0
	}
	delay, again := l.history.failed(item, class)
	if !again {
		l.failed[item] = failure{delay: never}
		return 0
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		delay = max(delay, time.Duration(seconds)*time.Second)
	}
	delay = max(delay, 1) // 0 means never here, and at once in a queue
	l.failed[item] = failure{delay: delay}
	return delay
}

// When returns how long item is to wait before it is queued again. It counts a failure
// of class Retry, unless RequeueAfter has just counted it: then it returns the same
// delay. Queues call it in AddRateLimited.
func (l *Limiter[T]) When(item T) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.failed[item]; ok && !f.told {
		l.failed[item] = failure{delay: f.delay, told: true}
		return f.delay
	}
	delay, again := l.history.failed(item, Retry)
	if !again {
		return never
	}
	return delay
}

// Forget forgets the failures of item. While the last outcome that RequeueAfter was
// given is a failure it does nothing, because controller-runtime calls Forget whenever
// Reconcile returns a RequeueAfter.
func (l *Limiter[T]) Forget(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.failed[item]; !ok {
		l.history.Reset(item)
	}
}

// NumRequeues returns how many failures in a row item has had.
func (l *Limiter[T]) NumRequeues(item T) int { return l.history.failures(item) }

type restarterHistory[T comparable] struct{ *backoff.Restarter[T] }

func (h restarterHistory[T]) failed(item T, c Class) (time.Duration, bool) {
	d := h.Exited(item, backoff.ExitPolicy{}, backoff.Exit{Code: 1, Reason: string(c)})
	return d.Delay, d.Action != backoff.ActionGiveUp
}

func (h restarterHistory[T]) failures(item T) int {
	s, _ := h.State(item)
	return s.Decision.Failures
}

type trackerHistory[T comparable] struct{ *backoff.Tracker[T] }

func (h trackerHistory[T]) failed(item T, _ Class) (time.Duration, bool) {
	return h.RateLimiter().When(item), true
}

func (h trackerHistory[T]) failures(item T) int { return h.RateLimiter().NumRequeues(item) }
