package main

import "time"

// A pacer keeps the starts to a rate, whatever delays them: the Restarter gives each
// restart a turn, but a runtime that was away would make all the turns it has missed at
// once. The zero value does not hold back.
type pacer struct {
	interval time.Duration // between two starts
	burst    int
	full     time.Time // when burst starts are allowed at once again
}

// newPacer returns a pacer. Unless it is the first on this node, starts of before may
// have used up the burst.
func newPacer(rate float64, burst int, first bool, now time.Time) *pacer {
	if rate == 0 {
		return &pacer{}
	}
	p := &pacer{interval: time.Duration(min(float64(time.Second)/rate, float64(1<<62))), burst: max(burst, 1)}
	if !first {
		p.full = now.Add(p.interval * time.Duration(p.burst))
	}
	return p
}

// wait returns how long to wait for the next start.
func (p *pacer) wait(now time.Time) time.Duration {
	if p.interval == 0 || !p.full.After(now) {
		return 0
	}
	return max(0, p.full.Sub(now)-time.Duration(p.burst-1)*p.interval)
}

// take notes a start.
func (p *pacer) take(now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(p.interval)
}
