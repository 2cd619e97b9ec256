package bench

import (
	"math"
	"strconv"
)

// Unit is the unit of a candidate's values.
type Unit string

const (
	Nanoseconds Unit = "ns"

	timePerOp Unit = "ns/op" // with a count of allocations
	heapBytes Unit = "B held"
	stall     Unit = "ns stalled"
)

// format formats a value of the unit with three significant digits.
func (u Unit) format(v float64) string {
	switch u {
	case Nanoseconds, timePerOp, stall:
		for _, step := range []struct {
			limit float64
			name  string
		}{{1e3, "ns"}, {1e6, "µs"}, {1e9, "ms"}} {
			if v < step.limit {
				return formatNumber(v/step.limit*1e3) + " " + step.name
			}
		}
		return formatNumber(v/1e9) + " s"
	case heapBytes:
		for _, step := range []struct {
			limit float64
			name  string
		}{{1 << 10, "B"}, {1 << 20, "KiB"}} {
			if v < step.limit {
				return formatNumber(v/step.limit*1024) + " " + step.name
			}
		}
		return formatNumber(v/(1<<20)) + " MiB"
	}
	return formatNumber(v) + " " + string(u)
}

// formatFactor formats a ratio with two decimals, more for tiny and fewer for large
// ones.
func formatFactor(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return formatNumber(v)
}

// formatAllocs formats a number of allocations.
func formatAllocs(v float64) string {
	if v == 1 {
		return "1 alloc"
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " allocs"
}

// formatNumber formats v with three significant digits and without an exponent.
func formatNumber(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	scale := math.Pow(10, float64(decimals))
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
}
