// Package delays measures the delays of client-go's Backoff.
package delays

import (
	"time"

	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"
)

// CrashLoop returns the delay after each run of a container, by client-go's
// Backoff, used and set up as the kubelet does (doBackOff in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go, and crashLoopBackOff in
// pkg/kubelet/kubelet.go).
func CrashLoop(base, max, reset time.Duration, runs []time.Duration) (delays []time.Duration) {
	const key = "container"
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	backoff := flowcontrol.NewFakeBackOff(base, max, clock)
	backoff.HasExpiredFunc = func(event, last time.Time, _ time.Duration) bool { return event.Sub(last) > reset }
	for _, run := range runs {
		clock.Step(run)
		finished := clock.Now()
		if backoff.IsInBackOffSince(key, finished) {
			clock.Step(backoff.Get(key))
		}
		if backoff.IsInBackOffSince(key, finished) {
			panic("still in backoff when the delay is over")
		}
		backoff.Next(key, finished)
		delays = append(delays, clock.Since(finished))
	}
	return delays
}

// Retry returns the delay after each failed attempt, by client-go's Backoff, used
// as the kubelet does for pulling images (pkg/kubelet/images/image_manager.go).
func Retry(base, max time.Duration, attempts []time.Duration) (delays []time.Duration) {
	const key = "image"
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	backoff := flowcontrol.NewFakeBackOff(base, max, clock)
	for _, took := range attempts {
		clock.Step(took)
		failed := clock.Now()
		backoff.Next(key, failed)
		clock.Step(backoff.Get(key))
		if backoff.IsInBackOffSinceUpdate(key, clock.Now()) {
			panic("still in backoff when the delay is over")
		}
		delays = append(delays, clock.Since(failed))
	}
	return delays
}

// Milliseconds returns the delays in milliseconds.
func Milliseconds(all []time.Duration) []int64 {
	ms := []int64{}
	for _, d := range all {
		ms = append(ms, d.Milliseconds())
	}
	return ms
}
