package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

func TestKubeletRestartRanges(t *testing.T) {
	for _, tt := range []struct {
		delay, sync time.Duration
		from, to    time.Duration
	}{
		{0, 0, 0, second},
		{-second, 0, 0, second},
		{10 * second, 0, 10 * second, 16 * second},
		{40 * second, -1, 40 * second, 61 * second},
		{minute, minute, minute, 91 * second},
		{5 * minute, 0, 5 * minute, 331 * second},
		{second, second, second, 2500 * time.Millisecond},
		{40 * second, second, 40 * second, 41500 * time.Millisecond},
		{math.MaxInt64, minute, math.MaxInt64, math.MaxInt64},
	} {
		if got := backoff.KubeletRestart(tt.delay, tt.sync); got.From != tt.from || got.To != tt.to {
			t.Errorf("KubeletRestart(%v, %v) = %v to %v, want %v to %v", tt.delay, tt.sync, got.From, got.To, tt.from, tt.to)
		}
	}
}

// The model is the kubelet's loop. A look at a pod whose delay is not over queues the
// next one, and the pod is found in the queue at a tick.
func TestKubeletRestartsWithinTheRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := time.Duration(rapid.Int64Range(0, int64(10*minute)).Draw(t, "delay"))
		sync := time.Duration(rapid.Int64Range(int64(second), int64(2*minute)).Draw(t, "syncFrequency"))
		seen := rapid.Int64Range(0, int64(second)).Draw(t, "seen") // by the first look
		now := time.Duration(seen)
		for now < delay {
			rest := min(delay-now, sync)
			due := now + rest + time.Duration(rapid.Int64Range(0, int64(rest)/2).Draw(t, "jitter"))
			now = due + time.Duration(rapid.Int64Range(0, int64(second)).Draw(t, "tick"))
			if rapid.Bool().Draw(t, "event") { // another look comes earlier
				now = min(now, due-time.Duration(rapid.Int64Range(0, int64(rest)).Draw(t, "earlier")))
			}
		}
		got := backoff.KubeletRestart(delay, sync)
		if now < got.From || now > got.To {
			t.Fatalf("restart after %v, want %v to %v", now, got.From, got.To)
		}
	})
}
