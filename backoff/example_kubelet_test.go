package backoff_test

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
)

func ExampleCrashLoopConfig_Resolve() {
	limit := 2 * time.Second
	r, err := backoff.CrashLoopConfig{AllowMax: true, Max: &limit}.Resolve()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Policy.Initial, r.Policy.Max, r.Policy.ResetAfter)
	for _, note := range r.Notes {
		fmt.Printf("%s=%s: %s\n", note.Field, note.Value, note.Reason)
	}
	// Output:
	// 2s 2s 10m0s
	// Max=2s: the longest delay is 2s; the default is 5m0s, and the first delay is lowered to it from 10s
}

// A kubelet with the default syncFrequency restarts a container later than its curve.
func ExampleKubeletRestart() {
	curve := backoff.CrashLoop()
	for failures := 1; failures <= 5; failures++ {
		in := backoff.KubeletRestart(curve.Delay(failures), 0)
		fmt.Printf("from %v to %v\n", in.From, in.To)
	}
	// Output:
	// from 10s to 16s
	// from 20s to 31s
	// from 40s to 1m1s
	// from 1m20s to 1m51s
	// from 2m40s to 3m11s
}

// The reduced curve and today's, for a container that crashes at once.
func ExamplePolicy_Restarts() {
	today, reduced := backoff.CrashLoop(), backoff.ReducedCrashLoop()
	for from := time.Duration(0); from < 15*time.Minute; from += 5 * time.Minute {
		in := backoff.Window{From: from, To: from + 5*time.Minute}
		fmt.Printf("(%v, %v]: %d restarts, today %d\n", in.From, in.To, reduced.Restarts(0, in), today.Restarts(0, in))
	}
	// Output:
	// (0s, 5m0s]: 9 restarts, today 4
	// (5m0s, 10m0s]: 5 restarts, today 1
	// (10m0s, 15m0s]: 5 restarts, today 1
}

// The kubelet's first restart has no delay (kubernetes#123602), as with FreeFailures:
// 1.
func ExamplePolicy_Timeline() {
	p := backoff.CrashLoop()
	p.FreeFailures = 1
	for at := range p.Timeline(func(int) time.Duration { return 10 * time.Second }) {
		if at > 5*time.Minute {
			break
		}
		fmt.Print(at, " ")
	}
	// Output: 10s 30s 1m0s 1m50s 3m20s
}

// The kubelet's loop: once the container is no longer held back, count and start.
func ExampleTracker() {
	clock := newClock()
	t, err := backoff.NewTracker[string](backoff.CrashLoop(), backoff.TrackerOptions{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	begin := clock.Now()
	for range 4 {
		finished := clock.Now() // it crashes at once
		for t.IsInBackOffSince("pod/app", finished) {
			clock.SetTime(clock.Now().Add(t.Remaining("pod/app", finished)))
		}
		t.Next("pod/app", finished)
		fmt.Println("start at", clock.Now().Sub(begin))
	}
	// Output:
	// start at 0s
	// start at 10s
	// start at 30s
	// start at 1m10s
}

// A RateLimiter implements client-go's workqueue.TypedRateLimiter.
func ExampleTracker_RateLimiter() {
	t, err := backoff.NewTracker[string](backoff.Policy{Initial: 5 * time.Millisecond, Max: time.Second}, backoff.TrackerOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var queue interface {
		When(item string) time.Duration
		Forget(item string)
		NumRequeues(item string) int
	} = t.RateLimiter()
	fmt.Println(queue.When("a"), queue.When("a"), queue.When("a"), queue.NumRequeues("a"))
	queue.Forget("a")
	fmt.Println(queue.When("a"))
	// Output:
	// 5ms 10ms 20ms 3
	// 5ms
}
