package picture

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// steps are the round steps of time in seconds. Each is less than three times the
// previous one, so that every axis has a tick besides 0. They cover the range of a
// Duration, which is below 300 years.
var steps = []time.Duration{1, 2, 5, 10, 15, 30, 60, 2 * 60, 5 * 60, 10 * 60, 15 * 60, 30 * 60,
	3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600,
	86400, 2 * 86400, 5 * 86400, 10 * 86400, 20 * 86400, 50 * 86400, 100 * 86400, 200 * 86400,
	365 * 86400, 730 * 86400, 1825 * 86400, 3650 * 86400, 7300 * 86400, 18250 * 86400, 36500 * 86400}

// roundStep returns the shortest round time that fits into length at most most times. most
// must be at least 3.
func roundStep(length time.Duration, most int) time.Duration {
	least := length/time.Duration(max(most, 3)) + 1
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		for _, digit := range []time.Duration{1, 2, 5} {
			if digit*unit >= least {
				return digit * unit
			}
		}
	}
	i, _ := slices.BinarySearch(steps, (least+time.Second-1)/time.Second)
	return steps[i] * time.Second
}

// tickWidth is the width in pixels of a time label with its spacing, in a font of at
// most 12 pixels.
const tickWidth = 66

// Times returns round times in 0..end whose labels do not touch on an axis of that
// length.
func Times(end time.Duration, pixels float64) []time.Duration {
	step := roundStep(end, int(pixels/tickWidth))
	var all []time.Duration
	for at := time.Duration(0); at <= end; at += step {
		all = append(all, at)
		if at > math.MaxInt64-step {
			break
		}
	}
	return all
}

// TimeLabel formats a time as a label, such as 1m30s, 2h, 3d or 10y. A year has 365
// days.
func TimeLabel(at time.Duration) string {
	switch {
	case at >= year && at%year == 0:
		return strconv.Itoa(int(at/year)) + "y"
	case at >= day && at%day == 0:
		return strconv.Itoa(int(at/day)) + "d"
	}
	return human.Duration(at)
}
