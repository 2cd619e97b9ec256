package timeline

import (
	"math"
	"time"

	"github.com/restartkit/restart/examples/internal/picture"
)

// ticks returns round times in 0..length, at most that many, and more than one unless
// the length is tiny.
func ticks(length time.Duration, most int) []time.Duration {
	step := tickStep(length, most)
	var all []time.Duration
	for at := time.Duration(0); at <= length; at += step {
		all = append(all, at)
		if at > math.MaxInt64-step {
			break
		}
	}
	return all
}

// tickStep returns the shortest round step of which at most that many fit.
func tickStep(length time.Duration, most int) time.Duration {
	least := length/time.Duration(max(most, 1)) + 1
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		for _, digit := range []time.Duration{1, 2, 5} {
			if digit*unit >= least {
				return digit * unit
			}
		}
	}
	for _, step := range []time.Duration{1, 2, 5, 10, 15, 30, 60, 2 * 60, 5 * 60, 10 * 60, 15 * 60, 30 * 60,
		3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600} {
		if step*time.Second >= least {
			return step * time.Second
		}
	}
	const day = 24 * time.Hour
	for unit := day; ; unit *= 10 {
		for _, digit := range []time.Duration{1, 2, 5} {
			if digit*unit >= least || unit > math.MaxInt64/100 {
				return digit * unit
			}
		}
	}
}

// tickLabel writes the time of a tick: 0s, 500ms, 1m30s, 2h, 3d.
func tickLabel(at time.Duration) string {
	const day = 24 * time.Hour
	if at >= day && at%day == 0 {
		return plain(int(at/day)) + "d"
	}
	return picture.Duration(at)
}
