package backoff

import (
	"math"
	"testing"
	"time"
)

// Products are exact up to the largest duration and saturate there.
func TestProductsAreExactUpToTheLargestDuration(t *testing.T) {
	third := time.Duration(math.MaxInt64 / 3)
	for _, tt := range []struct {
		d    time.Duration
		n    int
		want time.Duration
	}{
		{0, math.MaxInt, 0},
		{third, 0, 0},
		{third, 3, math.MaxInt64 - 1},
		{third + 1, 3, math.MaxInt64},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MaxInt64, 2, math.MaxInt64},
	} {
		if got := multiplyDuration(tt.d, tt.n); got != tt.want {
			t.Errorf("%d times %d is %d, want %d", tt.d, tt.n, got, tt.want)
		}
	}
}
