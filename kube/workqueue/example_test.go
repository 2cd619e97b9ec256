package workqueue_test

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientworkqueue "k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/workqueue"
)

// A Restarter provides the delays of a work queue, for each item and overall.
func Example() {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	restarter, err := backoff.NewRestarter(
		backoff.ExitPolicy{Delay: &backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute}},
		backoff.RestarterOptions[string]{Rate: 10, Burst: 100, Clock: clock},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := workqueue.NewLimiter(restarter, workqueue.LimiterOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue := clientworkqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()

	for range 3 {
		delay := limiter.When("default/web") // what queue.AddRateLimited waits for
		fmt.Println(delay)
		clock.SetTime(clock.Now().Add(delay))
	}
	queue.Forget("default/web")
	fmt.Println(limiter.When("default/web"))
	fmt.Println(limiter.When("default/web")) // within the delay
	// Output:
	// 100ms
	// 200ms
	// 400ms
	// 100ms
	// 100ms
}

// A Tracker without classes is a rate limiter itself.
func Example_tracker() {
	tracker, err := backoff.NewTracker[string](backoff.Policy{Initial: 5 * time.Millisecond, Max: time.Minute}, backoff.TrackerOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue := clientworkqueue.NewTypedRateLimitingQueue(tracker.RateLimiter())
	defer queue.ShutDown()
	queue.AddRateLimited("default/web")
	fmt.Println(queue.NumRequeues("default/web"), tracker.Get("default/web"))
	// Output: 1 5ms
}

// The delay after an error depends on its class, and all classes share one history.
func ExampleLimiter_RequeueAfter() {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	restarter, err := backoff.NewRestarter(
		backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Second, Max: time.Minute}},
		backoff.RestarterOptions[string]{Clock: clock},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := workqueue.NewLimiter(restarter, workqueue.LimiterOptions{
		Curves: map[workqueue.Class]backoff.Policy{
			workqueue.Conflict: {Initial: 10 * time.Millisecond, Max: time.Second},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for _, err := range []error{
		errors.New("the disk is full"),
		errors.New("the disk is full"),
		apierrors.NewConflict(widgets, "web", errors.New("it was changed")),
		apierrors.NewTooManyRequests("come back later", 30),
		apierrors.NewBadRequest("no such field"),
		errors.New("the disk is full"),
		nil,
	} {
		after := limiter.RequeueAfter("default/web", err)
		fmt.Printf("%-10q %6v, failures in a row: %d\n", workqueue.ClassOf(err), after, limiter.NumRequeues("default/web"))
		clock.SetTime(clock.Now().Add(after))
	}
	// Output:
	// "Retry"        1s, failures in a row: 1
	// "Retry"        2s, failures in a row: 2
	// "Conflict"   40ms, failures in a row: 3
	// "Busy"        30s, failures in a row: 4
	// "Terminal"     0s, failures in a row: 0
	// "Retry"        1s, failures in a row: 1
	// ""             0s, failures in a row: 0
}
