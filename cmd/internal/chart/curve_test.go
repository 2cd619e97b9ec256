package chart

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
)

// A line steps where the pods of its curve are restarted, all groups together.
func TestStepsAreRestarts(t *testing.T) {
	c := Curve{Policy: backoff.CrashLoop(), Groups: []Group{{Pods: 2}, {Pods: 3, Run: 20 * second}, {Run: second}}}
	got := (&Figure{End: 100 * second}).Counts(c)
	want := []picture.Point{{}, {X: 10}, {X: 10, Y: 2}, {X: 30, Y: 2}, {X: 30, Y: 4}, {X: 30, Y: 4}, {X: 30, Y: 7}, {X: 70, Y: 7}, {X: 70, Y: 9}, {X: 70, Y: 9}, {X: 70, Y: 12}, {X: 100, Y: 12}}
	if !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
}

// Samples of a curve with many restarts lie on it, in order, up to its end.
func TestSamplesLieOnTheCurve(t *testing.T) {
	for _, logTime := range []bool{false, true} {
		c := Curve{Policy: backoff.Policy{Initial: time.Millisecond, Max: second}, Groups: []Group{{Pods: 7}}}
		got := (&Figure{End: hour, LogTime: logTime}).Counts(c)
		if len(got) != mostSteps+1 {
			t.Fatalf("%d points", len(got))
		}
		for i, p := range got {
			if at := time.Duration(math.Round(p.X * 1e9)); p.Y != c.Restarts(-1, at) || i > 0 && p.X < got[i-1].X {
				t.Fatalf("point %d is %v, on the curve are %v", i, p, c.Restarts(-1, at))
			}
		}
		if last := got[len(got)-1]; last.X != 3600 {
			t.Errorf("the last point is %v", last)
		}
	}
}

// The busiest window found at once is the busiest of all, slid along.
func TestBusiestWindowIsTheBusiestOfAll(t *testing.T) {
	for _, p := range []backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.CrashLoop().WithMax(second),
		{Initial: second, Max: minute, FreeFailures: 3}, {Initial: second, Max: 3 * second, Factor: 1.1}} {
		for _, run := range []time.Duration{0, second, 11 * minute} {
			c := Curve{Policy: p, Groups: []Group{{Pods: 1, Run: run}}}
			want := 0.0
			for from := -second; from < 40*minute; from += second / 2 {
				want = max(want, c.Restarts(from-1, from+10*second-1))
			}
			if got := c.Busiest(10 * second); got != want {
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
			c := Curve{Policy: p, Groups: []Group{{Pods: 1, Run: run}}}
			got := c.Restarts(30*day, 90*day)
			if want := c.SteadyRate() * (60 * day).Seconds(); got < want-1 || got > want+1 {
				t.Errorf("%+v, runs of %v: %v restarts in 60 days, want %v", p, run, got, want)
			}
		}
	}
}

// On every axis the rates add up to the requests of all restarts.
func TestRatesAddUp(t *testing.T) {
	for _, logTime := range []bool{false, true} {
		for _, end := range []time.Duration{second, 12 * second, 70 * second, 30 * minute, 7*hour + 1, 87600 * hour} {
			free := preset.Preset{Name: "free", Policy: backoff.Policy{Initial: second, Max: minute, FreeFailures: 2}}
			for _, p := range append(preset.All(), free) {
				if p.Refused != "" {
					continue
				}
				c := Curve{Policy: p.Policy, Groups: []Group{{Pods: 3}, {Pods: 5, Run: 12 * second}}}
				f := Figure{Curves: []Curve{c}, End: end, LogTime: logTime}
				sum, last, rates := 0.0, 0.0, f.Rates(c, 7)
				for i := 0; i < len(rates); i += 2 {
					if rates[i].X != last || rates[i].Y != rates[i+1].Y {
						t.Fatalf("%s up to %v: %v", p.Name, end, rates)
					}
					last = rates[i+1].X
					sum += rates[i].Y * (last - rates[i].X)
				}
				want := 7 * c.Restarts(-1, end)
				if len(rates) > 2*mostBins || last != end.Seconds() || math.Abs(sum-want) > 1e-6*want {
					t.Errorf("%s up to %v: %d rates of %v requests, want %v", p.Name, end, len(rates), sum, want)
				}
			}
		}
	}
}
