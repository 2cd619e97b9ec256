package workqueue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	clientworkqueue "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
)

var (
	begin    = time.Unix(1e9, 0)
	curve    = backoff.Policy{Initial: time.Second, Max: 16 * time.Second, ResetAfter: 1000 * time.Hour}
	widgets  = schema.GroupResource{Group: "example.com", Resource: "widgets"}
	conflict = apierrors.NewConflict(widgets, "web", errors.New("changed"))
	busy     = apierrors.NewTooManyRequests("later", 0)
	invalid  = apierrors.NewBadRequest("no")
	errDisk  = errors.New("the disk is full")
)

// limiters returns one Limiter of each kind.
func limiters(t rapid.TB, clock clock.PassiveClock) map[string]*Limiter[string] {
	t.Helper()
	tracker, err := backoff.NewTracker[string](curve, backoff.TrackerOptions{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Limiter[string]{
		"restarter": newRestarterLimiter(t, clock, backoff.ExitPolicy{}, LimiterOptions{}),
		"tracker":   NewTrackerLimiter(tracker, nil),
	}
}

// newRestarterLimiter returns a Limiter with a Restarter under a policy with curve.
func newRestarterLimiter(t rapid.TB, clock clock.PassiveClock, p backoff.ExitPolicy, o LimiterOptions) *Limiter[string] {
	t.Helper()
	p.Delay = &curve
	restarter, err := backoff.NewRestarter(p, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return NewLimiter(restarter, o)
}

func TestClassesOfErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Class
	}{
		{nil, Success},
		{errDisk, Retry},
		{io.EOF, Retry},
		{context.DeadlineExceeded, Retry},
		{conflict, Conflict},
		{apierrors.NewAlreadyExists(widgets, "web"), Conflict},
		{apierrors.NewNotFound(widgets, "web"), Retry},
		{apierrors.NewForbidden(widgets, "web", errors.New("exceeded quota")), Retry},
		{invalid, Terminal},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Widget"}, "web", nil), Terminal},
		{apierrors.NewRequestEntityTooLargeError("no"), Terminal},
		{apierrors.NewMethodNotSupported(widgets, "patch"), Terminal},
		{busy, Busy},
		{apierrors.NewServiceUnavailable("no"), Busy},
		{apierrors.NewServerTimeout(widgets, "get", 1), Busy},
		{apierrors.NewTimeoutError("no", 1), Busy},
		{apierrors.NewInternalError(errDisk), Retry},
		{fmt.Errorf("writing the status: %w", conflict), Conflict},
		{errors.Join(conflict, invalid), Conflict},
		{errors.Join(invalid, fmt.Errorf("and: %w", errDisk)), Retry},
		{fmt.Errorf("%w and %w", busy, errDisk), Busy},
		{utilerrors.NewAggregate([]error{invalid, busy}), Busy},
		{utilerrors.NewAggregate([]error{invalid, fmt.Errorf("too: %w", invalid)}), Terminal},
		{wraps{}, Retry},
		{joins{}, Retry},
	} {
		if got := ClassOf(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

// wraps and joins claim to wrap errors, but have none.
type wraps struct{}

func (wraps) Error() string { return "wraps nothing" }
func (wraps) Unwrap() error { return nil }

type joins struct{}

func (joins) Error() string   { return "joins nothing" }
func (joins) Unwrap() []error { return nil }

// The server's Retry-After applies through any wrapping of the error. A longer delay of
// the curve still applies.
func TestServersRetryAfterIsHeard(t *testing.T) {
	for name, l := range limiters(t, clocktesting.NewFakePassiveClock(begin)) {
		if got := l.RequeueAfter("a", fmt.Errorf("listing: %w", apierrors.NewTooManyRequests("later", 7))); got != 7*time.Second {
			t.Errorf("%s: %v, want the server's 7s", name, got)
		}
		for range 5 {
			l.RequeueAfter("a", errDisk)
		}
		if got := l.RequeueAfter("a", apierrors.NewTooManyRequests("later", 7)); got != curve.Max {
			t.Errorf("%s: %v, want the curve's %v", name, got, curve.Max)
		}
	}
}

// An item beyond its limit is not requeued in any way. After a success it may fail as
// often again.
func TestItemBeyondItsLimitDoesNotComeBack(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(begin)
	l := newRestarterLimiter(t, clock, backoff.ExitPolicy{Limit: 2, Window: time.Hour}, LimiterOptions{})
	for round := range 2 {
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 0, 0} {
			if got := l.RequeueAfter("a", errDisk); got != want {
				t.Errorf("round %d, failure %d: %v, want %v", round, i, got, want)
			}
			l.Forget("a")
		}
		if got := l.When("a"); got != never {
			t.Errorf("round %d: the queue has it back after %v", round, got)
		}
		if got := l.When("a"); got != never {
			t.Errorf("round %d: a failure beyond the limit comes back after %v", round, got)
		}
		clock.SetTime(clock.Now().Add(2 * time.Hour))
		if got := l.RequeueAfter("a", errDisk); got != 0 {
			t.Errorf("round %d: a failure after the window comes back after %v", round, got)
		}
		l.RequeueAfter("a", nil)
	}
}

// A give-up that ends requeues the item, and each further failure does so again.
func TestGiveUpThatEndsRequeues(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(begin)
	l := newRestarterLimiter(t, clock, backoff.ExitPolicy{Retries: 2, GiveUpFor: time.Hour}, LimiterOptions{})
	for i, want := range []time.Duration{time.Second, 2 * time.Second, time.Hour, time.Hour} {
		if got := l.RequeueAfter("a", errDisk); got != want {
			t.Errorf("failure %d: %v, want %v", i, got, want)
		}
		if got := l.When("a"); got != want {
			t.Errorf("failure %d: the queue has it back after %v, want %v", i, got, want)
		}
		clock.SetTime(clock.Now().Add(want))
	}
}

// A policy that stops, or a rule that gives up a class, does not requeue at once.
func TestStoppedItemDoesNotComeBack(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(begin)
	for name, p := range map[string]backoff.ExitPolicy{
		"Never":  {RestartPolicy: backoff.RestartPolicyNever},
		"a rule": {Rules: []backoff.Rule{{Action: backoff.ActionGiveUp, Reasons: []string{string(Retry)}}}},
	} {
		l := newRestarterLimiter(t, clock, p, LimiterOptions{})
		if got := l.RequeueAfter("a", errDisk); got != 0 {
			t.Errorf("%s: requeued after %v", name, got)
		}
		if got := l.When("a"); got != never {
			t.Errorf("%s: the queue has it back after %v", name, got)
		}
	}
}

// A policy without a delay still requeues.
func TestFreeFailureIsRequeued(t *testing.T) {
	tracker, err := backoff.NewTracker[string](backoff.Policy{Initial: time.Second, Max: time.Second, FreeFailures: 1}, backoff.TrackerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := NewTrackerLimiter(tracker, nil).RequeueAfter("a", errDisk); got <= 0 || got > time.Millisecond {
		t.Errorf("requeued after %v, want as good as at once", got)
	}
}

// A custom classification decides, with its own names.
func TestCallersClassesDecide(t *testing.T) {
	classify := func(err error) Class {
		switch err {
		case errDisk:
			return "Disk"
		case io.EOF:
			return "Bad"
		}
		return Terminal
	}
	l := newRestarterLimiter(t, clocktesting.NewFakePassiveClock(begin), backoff.ExitPolicy{}, LimiterOptions{
		Classify: classify,
		Curves:   map[Class]backoff.Policy{"Disk": {Initial: time.Minute, Max: time.Hour}, "Bad": {}},
	})
	if got := l.RequeueAfter("a", errDisk); got != time.Minute {
		t.Errorf("the class's own curve: %v, want 1m", got)
	}
	if got := l.RequeueAfter("b", io.EOF); got != time.Second {
		t.Errorf("a class without a curve: %v, want the Restarter's 1s", got)
	}
	if got := l.RequeueAfter("a", busy); got != 0 || l.NumRequeues("a") != 0 {
		t.Errorf("an error that the caller calls terminal is tried again after %v", got)
	}
}

// TestFailuresAreCountedOnce drives a Limiter in all ways of client-go and
// controller-runtime, mixed, and counts failures separately.
func TestFailuresAreCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakePassiveClock(begin)
		all := limiters(t, clock)
		kind := rapid.SampledFrom([]string{"restarter", "tracker"}).Draw(t, "kind")
		l := all[kind]
		items := rapid.SampledFrom([]string{"a", "b"})
		failures := map[string]int{}
		delayAfter := func(item string) time.Duration { return curve.Delay(failures[item]) }
		expect := func(what string, got, want time.Duration) {
			if got != want {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		fails := func(item string) time.Duration {
			failures[item]++
			err := rapid.SampledFrom([]error{errDisk, busy, conflict}).Draw(t, "error")
			after := l.RequeueAfter(item, err)
			expect("after a failure", after, delayAfter(item))
			return after
		}
		t.Repeat(map[string]func(*rapid.T){
			"controller-runtime, Result.RequeueAfter": func(t *rapid.T) {
				item := items.Draw(t, "item")
				fails(item)
				l.Forget(item)
			},
			"controller-runtime, the error": func(t *rapid.T) {
				item := items.Draw(t, "item")
				expect("the queue", fails(item), l.When(item))
			},
			"client-go, AddAfter": func(t *rapid.T) { fails(items.Draw(t, "item")) },
			"success": func(t *rapid.T) {
				item := items.Draw(t, "item")
				failures[item] = 0
				expect("after a success", l.RequeueAfter(item, nil), 0)
				l.Forget(item)
			},
			"terminal": func(t *rapid.T) {
				item := items.Draw(t, "item")
				failures[item] = 0
				expect("after a terminal error", l.RequeueAfter(item, invalid), 0)
			},
			"client-go, without outcomes": func(t *rapid.T) {
				// Another item belongs to a queue whose worker reports no outcomes.
				failures["c"]++
				expect("the queue", l.When("c"), delayAfter("c"))
				if rapid.Bool().Draw(t, "succeeds") {
					l.Forget("c")
					failures["c"] = 0
				}
			},
			"time": func(t *rapid.T) {
				clock.SetTime(clock.Now().Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second))
			},
			"": func(t *rapid.T) {
				for item, n := range failures {
					if got := l.NumRequeues(item); got != n {
						t.Fatalf("%s has failed %d times, counted %d", item, n, got)
					}
				}
				if len(l.failed) > 2 {
					t.Fatalf("%d items are remembered", len(l.failed))
				}
			},
		})
	})
}

// A queue of client-go with a Limiter waits as long as the Limiter says.
func TestQueueWaitsAsTheLimiterSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRestarterLimiter(t, clock.RealClock{}, backoff.ExitPolicy{}, LimiterOptions{})
		queue := clientworkqueue.NewTypedRateLimitingQueue[string](l)
		last := time.Now()
		wait := func(want time.Duration) {
			t.Helper()
			item, down := queue.Get()
			if got := time.Since(last); item != "a" || down || got != want {
				t.Errorf("%q after %v, want a after %v", item, got, want)
			}
			last = time.Now()
		}
		queue.Add("a")
		wait(0)
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			queue.AddRateLimited("a")
			queue.Done("a")
			wait(want)
		}
		queue.AddAfter("a", l.RequeueAfter("a", conflict))
		queue.Done("a")
		wait(8 * time.Second)
		l.RequeueAfter("a", errDisk)
		queue.AddRateLimited("a")
		queue.Done("a")
		wait(16 * time.Second)
		l.RequeueAfter("a", nil)
		queue.AddRateLimited("a")
		queue.Done("a")
		wait(time.Second)
		queue.Done("a")
		queue.ShutDown()
	})
}
