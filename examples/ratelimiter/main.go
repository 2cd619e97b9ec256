// Command ratelimiter delays the retries of a work queue. Each item has its own curve,
// which starts over when the item succeeds.
//
// It prints:
//
//	web-0 again in 1s
//	web-0 again in 2s
//	db-0 again in 1s
//	web-0 again in 4s
//	web-0 succeeded after 3 failures
//	web-0 again in 1s
package main

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
)

func main() {
	curve := backoff.Policy{Initial: time.Second, Max: time.Minute}
	tracker, err := backoff.NewTracker[string](curve, backoff.TrackerOptions{})
	if err != nil {
		panic(err)
	}
	limiter := tracker.RateLimiter() // implements client-go's workqueue.TypedRateLimiter[string]
	for _, item := range []string{"web-0", "web-0", "db-0", "web-0"} {
		fmt.Println(item, "again in", limiter.When(item))
	}
	fmt.Println("web-0 succeeded after", limiter.NumRequeues("web-0"), "failures")
	limiter.Forget("web-0")
	fmt.Println("web-0 again in", limiter.When("web-0"))
}
