package backoff_test

import (
	"encoding/json"
	"fmt"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
)

// newClock returns a clock that moves only when it is set.
func newClock() *clocktesting.FakePassiveClock {
	return clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
}

// A node's settings determine the curve, which a Restarter applies to exits.
func Example() {
	longest := 20 * time.Second
	node, err := backoff.CrashLoopConfig{AllowMax: true, Max: &longest}.Resolve()
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := newClock()
	r, err := backoff.NewRestarter(node.Policy, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	runs := []time.Duration{time.Second, time.Second, time.Second, time.Hour}
	for i, run := range runs {
		started := clock.Now()
		clock.SetTime(started.Add(run))
		d := r.Exited("web", backoff.ExitPolicy{}, backoff.Exit{Run: int64(i + 1), Code: 1, Started: started, Finished: clock.Now()})
		fmt.Printf("ran %v: %s after %v\n", run, d.Action, d.Delay)
		clock.SetTime(clock.Now().Add(r.Remaining("web"))) // sleeps
	}
	// Output:
	// ran 1s: Restart after 10s
	// ran 1s: Restart after 20s
	// ran 1s: Restart after 20s
	// ran 1h0m0s: Restart after 10s
}

func ExamplePolicy_Delay() {
	p := backoff.CrashLoop()
	for failures := range 8 {
		fmt.Print(p.Delay(failures), " ")
	}
	// Output: 0s 10s 20s 40s 1m20s 2m40s 5m0s 5m0s
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

func ExampleExitPolicy_DecideExit() {
	const container = `{"name": "trainer", "restartPolicy": "Never", "restartPolicyRules": [
		{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]}`
	var c backoff.ExitPolicy
	if err := json.Unmarshal([]byte(container), &c); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.DecideExit(backoff.Exit{Code: 42}, 1))
	fmt.Println(c.DecideExit(backoff.Exit{Code: 1}, 1))
	// Output:
	// Restart 0
	// Stop -1
}

// A supervisor reports every exit and follows the Decision.
func ExampleRestarter() {
	clock := newClock()
	r, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}
	exit := backoff.Exit{Run: 1, Code: 1, Started: clock.Now().Add(-time.Second), Finished: clock.Now()}
	d := r.Exited("web", c, exit)
	fmt.Println(d.Action, d.Delay)
	fmt.Println(d.Reason(c, exit))

	clock.SetTime(clock.Now().Add(4 * time.Second))
	fmt.Println("seen again:", r.Exited("web", c, exit) == d, "- sleep", r.Remaining("web"))

	r.RestartNow("web") // its dependency is back
	fmt.Println("woken - sleep", r.Remaining("web"))

	exit = backoff.Exit{Run: 2, Code: 0, Started: clock.Now(), Finished: clock.Now()}
	fmt.Println(r.Exited("web", c, exit).Action)
	// Output:
	// Restart 10s
	// exit code 1 under restartPolicy OnFailure: restarted after 10s (failure 1 in a row)
	// seen again: true - sleep 6s
	// woken - sleep 0s
	// Stop
}

// Sidecars restart at a constant rate, and a node limits the rate of all restarts.
func ExampleRestarter_policies() {
	clock := newClock()
	r, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{
		Clock: clock,
		PolicyFor: func(key string, e backoff.Exit) backoff.Policy {
			if key == "proxy" || e.Reason == "OOMKilled" {
				return backoff.Policy{Initial: time.Second, Max: time.Second}
			}
			return backoff.Policy{} // the Restarter's policy applies
		},
		Rate: 0.5, // one restart every two seconds
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"app", "proxy", "logs"} {
		e := backoff.Exit{Run: 1, Code: 1, Finished: clock.Now()}
		if key == "logs" {
			e.Reason = "OOMKilled"
		}
		fmt.Println(key, r.Exited(key, backoff.ExitPolicy{}, e).Delay)
	}
	// Output:
	// app 10s
	// proxy 1s
	// logs 3s
}

// Stored as JSON, a Restarter keeps its exits, delays and limits in a new process.
func ExampleRestarter_MarshalJSON() {
	clock := newClock()
	options := backoff.RestarterOptions[string]{Clock: clock, Limit: 2}
	r, _ := backoff.NewRestarter(backoff.CrashLoop(), options)
	exit := backoff.Exit{Run: 1, Code: 1, Finished: clock.Now()}
	r.Exited("web", backoff.ExitPolicy{}, exit)
	text, err := json.Marshal(r)
	if err != nil {
		fmt.Println(err)
	}

	r, _ = backoff.NewRestarter(backoff.CrashLoop(), options) // in a new process
	if err := json.Unmarshal(text, r); err != nil {
		fmt.Println(err)
	}
	fmt.Println(r.Exited("web", backoff.ExitPolicy{}, exit).Failures, r.Remaining("web"))
	// Output: 1 10s
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
