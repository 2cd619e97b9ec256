package main

import "time"

// A pacer limits the rate of starts. The Restarter gives each restart a turn, but after
// an outage of the runtime all missed turns would be due at once. A start reserves a
// turn when it begins, and takes it after creating the container. The zero value does
// not limit.
type pacer struct {
	interval time.Duration // between two starts
	burst    int
	full     time.Time // when burst starts are allowed at once again
	reserved int       // turns of starts that have begun
}

// newPacer returns a pacer. Unless it is the first on this node, it begins without a
// burst, which the last run may have used up.
func newPacer(rate float64, burst int, first bool, now time.Time) *pacer {
	if rate == 0 {
		return &pacer{}
	}
	burst = max(burst, 1)
	p := &pacer{interval: time.Duration(min(float64(time.Second)/rate, float64(1<<61)/float64(burst))), burst: burst}
	if !first {
		p.full = now.Add(p.interval * time.Duration(p.burst))
	}
	return p
}

// wait returns the time until a turn is free besides the reserved ones. A reserved turn
// is free as soon as it is given back.
func (p *pacer) wait(now time.Time) time.Duration {
	if p.interval == 0 {
		return 0
	}
	return max(0, max(0, p.full.Sub(now))+time.Duration(p.reserved+1-p.burst)*p.interval)
}

// take takes a turn.
func (p *pacer) take(now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(p.interval)
}
