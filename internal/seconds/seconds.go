// Package seconds converts the fields of Kubernetes that count seconds.
package seconds

import (
	"math"
	"time"
)

// Max is the number of seconds in the longest Duration.
const Max = math.MaxInt64 / int64(time.Second)

// Duration returns n seconds, limited to the range of a Duration.
func Duration(n int64) time.Duration {
	return time.Duration(min(max(n, -Max), Max)) * time.Second
}
