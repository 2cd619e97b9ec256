package seconds_test

import (
	"math"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/seconds"
)

func TestDurationIsLimited(t *testing.T) {
	const most = time.Duration(seconds.Max) * time.Second
	for n, want := range map[int64]time.Duration{
		0: 0, 30: 30 * time.Second, -30: -30 * time.Second,
		seconds.Max:     most,
		seconds.Max + 1: most,
		math.MaxInt64:   most,
		math.MinInt64:   -most,
	} {
		if got := seconds.Duration(n); got != want {
			t.Errorf("%d seconds: %v, want %v", n, got, want)
		}
	}
}
