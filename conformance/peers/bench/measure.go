package bench

import (
	"math"
	"slices"
	"time"
)

// Options control how much to measure.
type Options struct {
	Rounds int  // samples of each candidate
	Runs   int  // repetitions of the whole, each of which must meet a goal
	Short  bool // smaller sizes and shorter samples, for a quick look
}

// sampleTime returns the duration of one timed sample.
func (o Options) sampleTime() time.Duration {
	if o.Short {
		return 5 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// measurement holds the samples of one run of a row, by candidate and then by round.
type measurement [][]sample

// measure samples every candidate once per round, taking turns.
func measure(r Row, o Options) measurement {
	rounds := o.Rounds
	if r.Rounds > 0 {
		rounds = min(rounds, r.Rounds)
	}
	next := make([]func() sample, len(r.Candidates))
	for i, c := range r.Candidates {
		next[i] = c.start(o)
	}
	m := make(measurement, len(r.Candidates))
	for round := range rounds {
		for turn := range next {
			i := (turn + round) % len(next)
			m[i] = append(m[i], next[i]())
		}
	}
	return m
}

// value returns the candidate's median value.
func (m measurement) value(i int) float64 {
	values := make([]float64, len(m[i]))
	for round, s := range m[i] {
		values[round] = s.value
	}
	return median(values)
}

// allocs returns the candidate's median allocations per operation, rounded down as by
// testing.AllocsPerRun, because fractions below one come from the runtime.
func (m measurement) allocs(i int) float64 {
	counts := make([]float64, len(m[i]))
	for round, s := range m[i] {
		counts[round] = s.allocs
	}
	return math.Floor(median(counts))
}

// ratio returns the median over the rounds of a's value divided by b's.
func (m measurement) ratio(a, b int) float64 {
	ratios := make([]float64, len(m[a]))
	for round := range m[a] {
		ratios[round] = m[a][round].value / m[b][round].value
	}
	return median(ratios)
}

// median returns the middle value, or NaN for no values. It sorts its argument.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
