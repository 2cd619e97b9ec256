package human

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Round rounds a time measured or computed to the digits that people care about, which is
// about three digits.
func Round(d time.Duration) time.Duration {
	for _, step := range []struct{ below, to time.Duration }{
		{time.Millisecond, time.Microsecond},
		{time.Second, time.Millisecond},
		{10 * time.Second, 10 * time.Millisecond},
		{time.Minute, 100 * time.Millisecond},
		{time.Hour, time.Second},
	} {
		if d < step.below {
			return d.Round(step.to)
		}
	}
	return d.Round(time.Minute)
}

// Wait formats a rounded time.
func Wait(d time.Duration) string { return Duration(Round(d)) }

// Duration formats a time as it is, but without zero parts, such as 5m for 5m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Number formats a count or rate, with decimals if it is small and not whole.
func Number(n float64) string {
	switch size := math.Abs(n); {
	case size >= 1e15:
		return fmt.Sprintf("%.3g", n)
	case n == math.Trunc(n) || size >= 100:
		return fmt.Sprintf("%.0f", n)
	case size < 0.1:
		return fmt.Sprintf("%.2g", n)
	}
	return fmt.Sprintf("%.2f", n)
}

// Count formats a number of things, such as 1 pod, 2 indexes or 1,000 pods.
func Count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "x"):
		thing += "es"
	default:
		thing += "s"
	}
	return Thousands(n) + " " + thing
}

// Thousands formats a number of at least 0, with commas between thousands.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
