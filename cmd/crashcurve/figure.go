package main

import (
	"math"
	"time"
)

// figure is a set of curves that are compared with each other.
type figure struct {
	name              string
	title             string
	curves            []curve
	baseline          int             // index of the curve that the others are compared with
	windows           []time.Duration // ends of the tables' rows
	end               time.Duration   // of the time axis
	logTime, logCount bool
	mixed             bool // count the restarts of all pods instead of those of one
	pods, requests    int  // of the node; API requests per restart
	api               bool // print the table of API requests
}

// shown returns the counted part of a curve: one pod, or all of them.
func (f *figure) shown(c curve) curve {
	if f.mixed {
		return c
	}
	return c.perPod()
}

// spread is the ratio of the highest curve's count at the end to the lowest's.
func (f *figure) spread() float64 {
	low, high := math.Inf(1), 0.0
	for _, c := range f.curves {
		n := f.shown(c).restarts(-1, f.end)
		low, high = min(low, n), max(high, n)
	}
	return high / max(low, 1)
}
