package workqueue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	"github.com/restartkit/restart/field"
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
func limiters(t rapid.TB, clock clock.PassiveClock, o LimiterOptions) map[string]*Limiter[string] {
	t.Helper()
	tracker, err := backoff.NewTracker[string](curve, backoff.TrackerOptions{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := NewTrackerLimiter(tracker, o)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Limiter[string]{
		"restarter": newRestarterLimiter(t, clock, backoff.ExitPolicy{}, o),
		"tracker":   limiter,
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
	limiter, err := NewLimiter(restarter, o)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
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
	clock := clocktesting.NewFakePassiveClock(begin)
	for name, l := range limiters(t, clock, LimiterOptions{}) {
		if got := l.RequeueAfter("a", fmt.Errorf("listing: %w", apierrors.NewTooManyRequests("later", 7))); got != 7*time.Second {
			t.Errorf("%s: %v, want the server's 7s", name, got)
		}
		for joined, err := range map[string]error{
			"joined":     errors.Join(conflict, apierrors.NewTooManyRequests("", 2), apierrors.NewTooManyRequests("later", 60)),
			"aggregated": utilerrors.NewAggregate([]error{conflict, apierrors.NewTooManyRequests("later", 60)}),
		} {
			if got := l.RequeueAfter(joined, err); got != time.Minute {
				t.Errorf("%s, %s: %v, want the longest, 1m", name, joined, got)
			}
		}
		for range 5 {
			clock.SetTime(clock.Now().Add(curve.Max))
			l.RequeueAfter("a", errDisk)
		}
		clock.SetTime(clock.Now().Add(curve.Max))
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
			clock.SetTime(clock.Now().Add(want))
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
	l, err := NewTrackerLimiter(tracker, LimiterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.RequeueAfter("a", errDisk); got <= 0 || got > time.Millisecond {
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
		Curves:   map[Class]backoff.Policy{"Disk": {Initial: time.Minute, Max: time.Hour}},
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

// A limiter with an invalid curve would restart without a delay, or with another one.
func TestInvalidOptionsAreRefused(t *testing.T) {
	restarter, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{})
	if err != nil {
		t.Fatal(err)
	}
	tracker, err := backoff.NewTracker[string](curve, backoff.TrackerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	curves := LimiterOptions{Curves: map[Class]backoff.Policy{
		Busy: {Initial: time.Minute, Max: time.Second}, Conflict: {}, Retry: curve,
	}}
	_, invalid := NewLimiter(restarter, curves)
	_, missing := NewLimiter[string](nil, LimiterOptions{})
	_, several := NewTrackerLimiter(tracker, curves)
	_, none := NewTrackerLimiter[string](nil, LimiterOptions{})
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{invalid, []string{`Curves["Busy"].Max`, `Curves["Conflict"].Initial`}},
		{missing, []string{"r"}},
		{several, []string{"Curves"}},
		{none, []string{"t"}},
	} {
		var errs field.Errors
		if !errors.As(tt.err, &errs) {
			t.Errorf("%v: no field.Errors, want %q", tt.err, tt.want)
			continue
		}
		var fields []string
		for _, e := range errs {
			fields = append(fields, e.Field)
		}
		if !slices.Equal(fields, tt.want) {
			t.Errorf("%v: the fields are %q, want %q", tt.err, fields, tt.want)
		}
	}
}

// Eighteen failures of an item at one instant make one step of the delay, while those of
// client-go make eleven minutes. CountAll makes them here, too.
func TestFailuresAtOneInstantMakeOneStep(t *testing.T) {
	const initial, most, failures = 5 * time.Millisecond, 1000 * time.Second, 18
	upstream := clientworkqueue.NewTypedItemExponentialFailureRateLimiter[string](initial, most)
	var want time.Duration
	for range failures {
		want = upstream.When("a")
	}
	if want != initial<<(failures-1) {
		t.Fatalf("client-go's limiter waits %v; the difference is gone", want)
	}
	for _, tt := range []struct {
		name string
		o    LimiterOptions
		want time.Duration
		n    int
	}{
		{"default", LimiterOptions{}, initial, 1},
		{"CountAll", LimiterOptions{CountAll: true}, want, failures},
	} {
		clock := clocktesting.NewFakePassiveClock(begin)
		restarter, err := backoff.NewRestarter(
			backoff.ExitPolicy{Delay: &backoff.Policy{Initial: initial, Max: most}},
			backoff.RestarterOptions[string]{Clock: clock},
		)
		if err != nil {
			t.Fatal(err)
		}
		tracker, err := backoff.NewTracker[string](backoff.Policy{Initial: initial, Max: most}, backoff.TrackerOptions{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		ofRestarter, err := NewLimiter(restarter, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		ofTracker, err := NewTrackerLimiter(tracker, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		for kind, l := range map[string]*Limiter[string]{"restarter": ofRestarter, "tracker": ofTracker} {
			var got, told time.Duration
			for range failures {
				got = l.RequeueAfter("a", errDisk)
				told = l.When("a")
			}
			if got != tt.want || told != got || l.NumRequeues("a") != tt.n {
				t.Errorf("%s, %s: %v, and %v in the queue, after %d failures, want %v after %d",
					tt.name, kind, got, told, l.NumRequeues("a"), tt.want, tt.n)
			}
		}
	}
}

// A failure within the delay waits for the rest of it, and the first one after it counts.
func TestFailureWithinTheDelayDoesNotCount(t *testing.T) {
	for _, kind := range []string{"restarter", "tracker"} {
		clock := clocktesting.NewFakePassiveClock(begin)
		l := limiters(t, clock, LimiterOptions{})[kind]
		for _, step := range []struct {
			after, want time.Duration
			err         error
			failures    int
		}{
			{0, time.Second, errDisk, 1},
			{400 * time.Millisecond, 600 * time.Millisecond, errDisk, 1},
			{0, 600 * time.Millisecond, conflict, 1},
			{0, 9 * time.Second, apierrors.NewTooManyRequests("later", 9), 1},
			{600 * time.Millisecond, 2 * time.Second, errDisk, 2},
			{1999 * time.Millisecond, time.Millisecond, errDisk, 2},
			{time.Millisecond, 4 * time.Second, errDisk, 3},
			{time.Hour, 8 * time.Second, errDisk, 4},
			{0, 0, nil, 0},
			{0, time.Second, errDisk, 1},
		} {
			clock.SetTime(clock.Now().Add(step.after))
			if got := l.RequeueAfter("a", step.err); got != step.want || l.NumRequeues("a") != step.failures {
				t.Errorf("%s, %v later: %v after %d failures, want %v after %d", kind, step.after, got, l.NumRequeues("a"), step.want, step.failures)
			}
		}
	}
}

// A class that is given up is so even while the delay of another one runs.
func TestClassIsGivenUpWithinTheDelay(t *testing.T) {
	l := newRestarterLimiter(t, clocktesting.NewFakePassiveClock(begin), backoff.ExitPolicy{
		Rules: []backoff.Rule{{Action: backoff.ActionGiveUp, Reasons: []string{string(Conflict)}}},
	}, LimiterOptions{})
	if got := l.RequeueAfter("a", errDisk); got != time.Second {
		t.Errorf("the first failure: %v, want 1s", got)
	}
	if got := l.RequeueAfter("a", conflict); got != 0 {
		t.Errorf("a class that is given up is requeued after %v", got)
	}
}

// The case of kubernetes#132805: while a quota is used up, every pod that ends wakes its
// ReplicaSet, which fails to create another one. Once the quota has room, the ReplicaSet
// of client-go's limiter still waits for minutes.
func TestReplicaSetUnderAQuota(t *testing.T) {
	const (
		initial, most = 5 * time.Millisecond, 1000 * time.Second
		events        = 18
		room          = 20 * time.Second // when the quota has room again
	)
	recovery := func(limiter clientworkqueue.TypedRateLimiter[string]) time.Duration {
		started := time.Now()
		queue := clientworkqueue.NewTypedRateLimitingQueue(limiter)
		defer queue.ShutDown()
		go func() {
			for range events {
				queue.Add("default/web") // a pod has ended
				time.Sleep(50 * time.Millisecond)
			}
		}()
		for {
			item, _ := queue.Get()
			now := time.Since(started)
			if now >= room {
				queue.Forget(item)
				queue.Done(item)
				return now - room
			}
			queue.AddRateLimited(item) // exceeded quota
			queue.Done(item)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		upstream := recovery(clientworkqueue.NewTypedItemExponentialFailureRateLimiter[string](initial, most))
		if upstream < 5*time.Minute {
			t.Errorf("with client-go's limiter the ReplicaSet recovers after %v; the difference is gone", upstream)
		}
		restarter, err := backoff.NewRestarter(
			backoff.ExitPolicy{Delay: &backoff.Policy{Initial: initial, Max: most}}, backoff.RestarterOptions[string]{},
		)
		if err != nil {
			t.Fatal(err)
		}
		limiter, err := NewLimiter(restarter, LimiterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// No delay is longer than the time for which creations have failed.
		if ours := recovery(limiter); ours > room {
			t.Errorf("the ReplicaSet recovers after %v, want at most %v", ours, room)
		}
	})
}

// TestFailuresAreCountedOnce drives a Limiter in all ways of client-go and
// controller-runtime, mixed, and counts failures separately.
func TestFailuresAreCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakePassiveClock(begin)
		countAll := rapid.Bool().Draw(t, "CountAll")
		all := limiters(t, clock, LimiterOptions{CountAll: countAll})
		l := all[rapid.SampledFrom([]string{"restarter", "tracker"}).Draw(t, "kind")]
		items := rapid.SampledFrom([]string{"a", "b"})
		failures, due := map[string]int{}, map[string]time.Time{}
		expect := func(what string, got, want time.Duration) {
			if got != want {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		// delayAfter counts a failure of item, unless its delay runs.
		delayAfter := func(item string) time.Duration {
			now := clock.Now()
			if left := due[item].Sub(now); !countAll && left > 0 {
				return left
			}
			failures[item]++
			delay := curve.Delay(failures[item])
			due[item] = now.Add(delay)
			return delay
		}
		fails := func(item string) time.Duration {
			err := rapid.SampledFrom([]error{errDisk, busy, conflict}).Draw(t, "error")
			after := l.RequeueAfter(item, err)
			expect("after a failure", after, delayAfter(item))
			return after
		}
		succeeds := func(item string) { failures[item], due[item] = 0, time.Time{} }
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
				succeeds(item)
				expect("after a success", l.RequeueAfter(item, nil), 0)
				l.Forget(item)
			},
			"terminal": func(t *rapid.T) {
				item := items.Draw(t, "item")
				succeeds(item)
				expect("after a terminal error", l.RequeueAfter(item, invalid), 0)
			},
			"client-go, without outcomes": func(t *rapid.T) {
				// Another item belongs to a queue whose worker reports no outcomes.
				got := l.When("c")
				expect("the queue", got, delayAfter("c"))
				if rapid.Bool().Draw(t, "succeeds") {
					l.Forget("c")
					succeeds("c")
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
