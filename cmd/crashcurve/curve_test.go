package main

import (
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// A curve steps where its pods are restarted, all groups together.
func TestPointsAreRestarts(t *testing.T) {
	c := curve{policy: backoff.CrashLoop(), groups: []group{{pods: 2}, {pods: 3, run: 20 * second}, {pods: 0, run: second}}}
	got, steps := c.points(100*second, false)
	want := []point{{10 * second, 2}, {30 * second, 4}, {30 * second, 7}, {70 * second, 9}, {70 * second, 12}}
	if !steps || !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
}

// Samples of a curve with many restarts lie on it, in order, up to its end.
func TestSamplesLieOnTheCurve(t *testing.T) {
	for _, logTime := range []bool{false, true} {
		c := curve{policy: backoff.Policy{Initial: time.Millisecond, Max: second}, groups: []group{{pods: 7}}}
		got, steps := c.points(time.Hour, logTime)
		if steps || len(got) < samples/2 {
			t.Fatalf("%d points, steps %v", len(got), steps)
		}
		for i, p := range got {
			if p.count != c.restarts(-1, p.at) || i > 0 && p.at < got[i-1].at {
				t.Fatalf("point %d is %v, on the curve are %v", i, p, c.restarts(-1, p.at))
			}
		}
		if last := got[len(got)-1]; last.at != time.Hour {
			t.Errorf("the last point is %v", last)
		}
	}
}

// The busiest window found at once is the busiest of all, slid along.
func TestBusiestWindowIsTheBusiestOfAll(t *testing.T) {
	for _, p := range []backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.CrashLoop().WithMax(second),
		{Initial: second, Max: minute, FreeFailures: 3}, {Initial: second, Max: 3 * second, Factor: 1.1}} {
		for _, run := range []time.Duration{0, second, 11 * minute} {
			c := curve{policy: p, groups: []group{{pods: 1, run: run}}}
			want := 0.0
			for from := -second; from < 40*minute; from += second / 2 {
				want = max(want, c.restarts(from-1, from+10*second-1))
			}
			if got := c.busiest(10 * second); got != want {
				t.Errorf("%+v, runs of %v: busiest 10s has %v, want %v", p, run, got, want)
			}
		}
	}
}

// The long run is what restarts come to far away.
func TestSteadyRateIsThatOfTheLongRun(t *testing.T) {
	const day = 24 * hour
	for _, p := range []backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), {Initial: 4 * second, Max: minute, Factor: 1, FreeFailures: 7}} {
		for _, run := range []time.Duration{0, 10 * second, p.ResetThreshold(), p.ResetThreshold() + 1} {
			c := curve{policy: p, groups: []group{{pods: 1, run: run}}}
			got := c.restarts(30*day, 90*day)
			if want := c.steadyRate() * (60 * day).Seconds(); got < want-1 || got > want+1 {
				t.Errorf("%+v, runs of %v: %v restarts in 60 days, want %v", p, run, got, want)
			}
		}
	}
}

func TestShortDurationsHaveNoZeroParts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * second: "1m30s", 5 * minute: "5m", hour: "1h", hour + 20*second: "1h0m20s", 30 * hour: "30h", 100 * time.Millisecond: "100ms",
	} {
		if got := picture.Duration(d); got != want {
			t.Errorf("picture.Duration(%v) = %q, want %q", d, got, want)
		}
	}
}
