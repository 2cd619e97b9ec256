// Package workqueue uses a backoff.Restarter or backoff.Tracker as the rate limiter of
// a work queue of client-go or controller-runtime, and computes requeue delays from
// errors.
//
// A [Limiter] is a workqueue.TypedRateLimiter. Reporting each outcome to
// [Limiter.RequeueAfter] makes delays depend on the [Class] of the error, while all
// failures of an item lengthen its delays.
package workqueue

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	clientworkqueue "k8s.io/client-go/util/workqueue"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
)

// Limiter delays the items of a work queue after failures. This one replaces
// client-go's default limiter, which waits 5 ms, doubling up to 1000 s, for each item
// and allows 10 items per second overall:
//
//	restarter, err := backoff.NewRestarter(
//		backoff.ExitPolicy{Delay: &backoff.Policy{Initial: 5 * time.Millisecond, Max: time.Minute}},
//		backoff.RestarterOptions[string]{Rate: 10, Burst: 100},
//	)
//	...
//	limiter, err := workqueue.NewLimiter(restarter, workqueue.LimiterOptions{})
//	...
//	queue := clientworkqueue.NewTypedRateLimitingQueue(limiter)
//
// An event, such as a changed pod, brings an item back while its delay is still running.
// If that attempt fails too, the failure does not count, and the item waits for the rest
// of its delay. With client-go's limiters every event lengthens the delay, so that eighteen
// events within a second make a delay of eleven minutes (kubernetes#112325,
// kubernetes#132805). LimiterOptions.CountAll counts as client-go does.
//
// The Restarter or Tracker holds the history of failures, which can be shown, stored
// and restored.
//
// A Limiter is safe for concurrent use by multiple goroutines, but outcomes of the same
// item must be reported one at a time, as work queues ensure.
type Limiter[T comparable] struct {
	history  history[T]
	classify func(error) Class
	countAll bool

	mu     sync.Mutex
	failed map[T]failure // items whose last outcome, by RequeueAfter, was a failure
}

// failure is RequeueAfter's last answer for an item.
type failure struct {
	delay time.Duration
	told  bool // When has returned it
}

// history is the part of a Restarter or Tracker that a Limiter uses.
type history[T comparable] interface {
	// left returns how much of the item's delay is left. It is 0 if the item has none, and
	// if a failure of the class is not to be repeated.
	left(item T, c Class) time.Duration
	// failed counts a failure. again is false if it is not to be repeated.
	failed(item T, c Class) (delay time.Duration, again bool)
	failures(item T) int
	Reset(item T)
}

var _ clientworkqueue.TypedRateLimiter[string] = (*Limiter[string])(nil)

// never is the delay of an item that must not be requeued.
const never time.Duration = math.MaxInt64

// LimiterOptions configures a Limiter. The zero value is ready to use.
type LimiterOptions struct {
	Classify func(error) Class // nil means ClassOf
	// Curves are the delays of classes. A class without a curve uses the Restarter's. All
	// classes share one count of failures. NewLimiter copies the map.
	Curves map[Class]backoff.Policy
	// CountAll counts every failure, as client-go does, and not only those reported after
	// the item's delay.
	CountAll bool
}

// validate returns all mistakes, or nil.
func (o *LimiterOptions) validate() field.Errors {
	var errs field.Errors
	for _, class := range slices.Sorted(maps.Keys(o.Curves)) {
		curve := o.Curves[class]
		var mistakes field.Errors
		errors.As(curve.Validate(), &mistakes)
		for _, m := range mistakes {
			m.Field = fmt.Sprintf("Curves[%q].%s", class, m.Field)
			errs = append(errs, m)
		}
	}
	return errs
}

// NewLimiter returns a Limiter with the Restarter's policy and Rate. The error wraps
// field.Errors listing every invalid curve.
//
// A failure is an Exit with code 1 and the class as its Reason, so rules can give up a
// class by its Reason. They do so even while the item's delay is running.
//
// After Limit failures within Window, or Retries in a row, an item is no longer
// requeued: RequeueAfter returns 0, and When the longest Duration. A success starts the
// item's counts over, but the end of the Window does not. Under a policy with GiveUpFor
// the item is requeued after that time instead, and after each further failure again.
func NewLimiter[T comparable](r *backoff.Restarter[T], o LimiterOptions) (*Limiter[T], error) {
	errs := o.validate()
	if r == nil {
		errs.Add(field.Required, "r", nil, "a Restarter")
	}
	if err := errs.Err(); err != nil {
		return nil, fmt.Errorf("workqueue: NewLimiter: %w", err)
	}
	curves := make(map[Class]*backoff.Policy, len(o.Curves))
	for class, curve := range o.Curves {
		curves[class] = &curve
	}
	return newLimiter(restarterHistory[T]{r, curves}, o), nil
}

// NewTrackerLimiter returns a Limiter with the Tracker's delays, on one curve for all
// classes, starting over after ResetAfter without a failure. The error wraps field.Errors
// if the options have Curves.
func NewTrackerLimiter[T comparable](t *backoff.Tracker[T], o LimiterOptions) (*Limiter[T], error) {
	var errs field.Errors
	if t == nil {
		errs.Add(field.Required, "t", nil, "a Tracker")
	}
	if len(o.Curves) > 0 {
		errs.Add(field.Invalid, "Curves", nil, "a Tracker has one curve; use a Restarter")
	}
	if err := errs.Err(); err != nil {
		return nil, fmt.Errorf("workqueue: NewTrackerLimiter: %w", err)
	}
	return newLimiter(trackerHistory[T]{t}, o), nil
}

func newLimiter[T comparable](h history[T], o LimiterOptions) *Limiter[T] {
	if o.Classify == nil {
		o.Classify = ClassOf
	}
	return &Limiter[T]{history: h, classify: o.Classify, countAll: o.CountAll, failed: make(map[T]failure)}
}

// RequeueAfter records the outcome of reconciling item and returns the delay of the
// next attempt, or 0 for none until the item changes. Call it once for each outcome. A
// nil error or an error of class Terminal forgets the item's failures. For other errors
// the delay is at least the server's Retry-After, even beyond the policy's Max. If the
// policy's delay for the item is still running, it is the rest of that.
//
// An item may be due for another reason as well, such as the RequeueAfter of a
// jobpolicy.Plan. Then requeue it after the shorter of the two delays that are not 0.
//
// In controller-runtime, return the delay as Result.RequeueAfter with a nil error.
// Alternatively, return the error and make the Limiter the controller's RateLimiter,
// which uses the same delay and counts the failure once. Then wrap Terminal errors in
// reconcile.TerminalError, or they are requeued. With client-go's queues, call AddAfter
// with the delay, or AddRateLimited.
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
	delay, again := l.delayAfter(item, class)
	if !again {
		l.failed[item] = failure{delay: never}
		return 0
	}
	delay = max(delay, retryAfter(err), 1) // 0 means never here, but at once in a queue
	l.failed[item] = failure{delay: delay}
	return delay
}

// delayAfter returns the delay after a failure of item, which it counts unless an earlier
// delay is running. again is false if the item is not to be requeued.
func (l *Limiter[T]) delayAfter(item T, class Class) (delay time.Duration, again bool) {
	if !l.countAll {
		if left := l.history.left(item, class); left > 0 {
			return left, true
		}
	}
	return l.history.failed(item, class)
}

// When returns the delay of a failure just reported to RequeueAfter. Otherwise it counts
// a failure of class Retry, or returns the rest of the item's delay while that is
// running. The queue calls it in AddRateLimited.
func (l *Limiter[T]) When(item T) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.failed[item]; ok && !f.told {
		l.failed[item] = failure{delay: f.delay, told: true}
		return f.delay
	}
	delay, again := l.delayAfter(item, Retry)
	if !again {
		return never
	}
	return delay
}

// Forget forgets the failures of item, unless RequeueAfter last recorded a failure.
// controller-runtime calls Forget whenever Reconcile returns a RequeueAfter.
func (l *Limiter[T]) Forget(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.failed[item]; !ok {
		l.history.Reset(item)
	}
}

// NumRequeues returns the number of consecutive failures of item that counted.
func (l *Limiter[T]) NumRequeues(item T) int { return l.history.failures(item) }

type restarterHistory[T comparable] struct {
	*backoff.Restarter[T]
	curves map[Class]*backoff.Policy
}

// exit returns a failure of the class, and the policy that decides about it.
func (h restarterHistory[T]) exit(c Class) (backoff.Exit, backoff.ExitPolicy) {
	return backoff.Exit{Code: 1, Reason: string(c)}, backoff.ExitPolicy{Delay: h.curves[c]}
}

func (h restarterHistory[T]) left(item T, c Class) time.Duration {
	s, known := h.State(item)
	if !known || s.Failures == 0 {
		return 0
	}
	e, p := h.exit(c)
	if action, _ := h.Complete(p).DecideExit(e, s.Failures); action == backoff.ActionGiveUp || action == backoff.ActionStop {
		return 0
	}
	if _, wait := h.CanStart(item); wait < backoff.Forever {
		return wait
	}
	return 0
}

func (h restarterHistory[T]) failed(item T, c Class) (time.Duration, bool) {
	e, p := h.exit(c)
	d := h.Exited(item, p, e)
	return d.Delay, !d.NotBefore.IsZero()
}

func (h restarterHistory[T]) failures(item T) int {
	s, _ := h.State(item)
	return s.Failures
}

type trackerHistory[T comparable] struct{ *backoff.Tracker[T] }

func (h trackerHistory[T]) left(item T, _ Class) time.Duration {
	s, known := h.State(item)
	if !known {
		return 0
	}
	return h.Remaining(item, s.Updated)
}

func (h trackerHistory[T]) failed(item T, _ Class) (time.Duration, bool) {
	return h.RateLimiter().When(item), true
}

func (h trackerHistory[T]) failures(item T) int { return h.RateLimiter().NumRequeues(item) }
