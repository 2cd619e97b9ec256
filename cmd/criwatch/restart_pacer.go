package main

import "time"

// A pacer keeps the starts to a rate, whatever delays them: the Restarter gives each
// restart a turn, but a runtime that was away would make all the turns it has missed at
// once. A start reserves its turn when it begins, and takes it when it has created the
// container. The zero value does not hold back.
type pacer struct {
	interval time.Duration // between two starts
	burst    int
	full     time.Time // when burst starts are allowed at once again
	reserved int       // turns of starts that have begun
}

// newPacer returns a pacer. Unless it is the first on this node, starts of before may
// have used up the burst.
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

// wait returns the time until a turn is free beside the reserved ones. A turn that was
// reserved can be taken at once after it is given back.
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
