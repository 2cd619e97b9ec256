package backoff

import (
	"math"
	"time"
)

// add returns a+b, saturating.
func add(a, b time.Duration) time.Duration {
	d := a + b
	switch {
	case b > 0 && d < a:
		return math.MaxInt64
	case b < 0 && d > a:
		return math.MinInt64
	}
	return d
}

// subtract returns a-b, saturating. The smallest duration stands for an instant out of
// reach, so all others are far after it.
func subtract(a, b time.Duration) time.Duration {
	d := a - b
	switch {
	case b > 0 && d > a:
		return math.MinInt64
	case b < 0 && d < a, b == math.MinInt64:
		return math.MaxInt64
	}
	return d
}

// saturate returns d as a duration, at most max.
func saturate(d uint64, max time.Duration) time.Duration {
	return time.Duration(min(d, uint64(max)))
}

// addDuration returns a+b for a, b >= 0, at most the largest duration.
func addDuration(a, b time.Duration) time.Duration {
	return saturate(uint64(a)+uint64(b), math.MaxInt64)
}

// addCount returns a+b for a, b >= 0, at most the largest int.
func addCount(a, b int) int {
	return a + min(b, math.MaxInt-a)
}

// multiplyDuration returns d*n for d, n >= 0, at most the largest duration.
func multiplyDuration(d time.Duration, n int) time.Duration {
	if d > 0 && int64(n) > math.MaxInt64/int64(d) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}
