package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// latencies holds the latest delays between exits and their reports. The zero value is
// empty.
type latencies struct {
	last []time.Duration // a ring once full
	next int
	all  int
}

const keptLatencies = 1024

func (l *latencies) add(d time.Duration) {
	l.all++
	if len(l.last) < keptLatencies {
		l.last = append(l.last, d)
		return
	}
	l.last[l.next] = d
	l.next = (l.next + 1) % keptLatencies
}

// copy returns an independent copy of l.
func (l latencies) copy() latencies {
	l.last = slices.Clone(l.last)
	return l
}

// at returns the quantile q of the kept latencies, or 0 if l is empty.
func (l latencies) at(q float64) time.Duration {
	if len(l.last) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.last))
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

// String returns the number, the median and the 99th percentile.
func (l latencies) String() string {
	if l.all == 0 {
		return "0"
	}
	return fmt.Sprintf("%d, p50 %.1f ms, p99 %.1f ms", l.all, milliseconds(l.at(.5)), milliseconds(l.at(.99)))
}
