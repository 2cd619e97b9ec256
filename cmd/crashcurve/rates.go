package main

import (
	"math"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
)

// mostBins is the highest number of parts of the time axis over which rates are
// averaged. On a linear axis each part is a round time, so that regular restarts do not
// beat with the parts.
const mostBins = 120

// rate is the requests per second from an instant to the next rate's.
type rate struct {
	from time.Duration
	rate float64
}

// requestsOf is the number of API requests that each restart of a curve makes.
func (f *figure) requestsOf(c curve) float64 {
	if c.outside {
		return 0
	}
	return float64(f.requests)
}

// rates returns the API requests per second of all pods of a curve. On a logarithmic
// axis of time the parts grow with it.
func (f *figure) rates(c curve) []rate {
	edges := f.edges()
	var all []rate
	for i, to := range edges[1:] {
		from := edges[i]
		before := from
		if i == 0 {
			before = -1 // restarts at the first start are in the first part
		}
		all = append(all, rate{from, f.requestsOf(c) * c.restarts(before, to) / (to - from).Seconds()})
	}
	return all
}

// edges returns where the parts of the time axis begin, and its end.
func (f *figure) edges() []time.Duration {
	edges := []time.Duration{0}
	add := func(at time.Duration) {
		if at > edges[len(edges)-1] && at < f.end {
			edges = append(edges, at)
		}
	}
	least := time.Duration(f.leastTime() * float64(second))
	for i := range mostBins - 1 {
		if f.logTime {
			add(time.Duration(float64(least) * math.Pow(float64(f.end)/float64(least), float64(i)/(mostBins-1))))
		} else {
			add(time.Duration(i+1) * f.bin())
		}
	}
	return append(edges, f.end)
}

// bin is the length of the parts of a linear axis.
func (f *figure) bin() time.Duration {
	return min(chart.Step(f.end-1, mostBins), f.end)
}

// binText says over how long a rate is averaged.
func (f *figure) binText() string {
	if f.logTime {
		return "averaged over a 120th of the axis"
	}
	return "averaged over " + chart.TimeLabel(f.bin())
}
