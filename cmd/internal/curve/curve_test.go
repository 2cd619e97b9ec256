package curve

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
)

// limited starts something as systemd does, until that gives up or most restarts were
// made. A window begins with a start that lies in none, and its starts are counted.
func limited(c Curve, most int) (restarts int) {
	begin, starts := time.Duration(0), 1
	for at := range c.Policy.Timeline(func(int) time.Duration { return c.Run }) {
		if at-begin > c.Limit.Within {
			begin, starts = at, 0
		}
		if starts++; starts > c.Limit.Starts {
			return restarts
		}
		if restarts++; restarts == most {
			break
		}
	}
	return math.MaxInt
}

// A limit is reached at the beginning or never, and then no window has more restarts.
func TestLimitIsReachedAsInSystemd(t *testing.T) {
	given, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ms := func(label string, most int64) time.Duration {
			return time.Duration(rapid.Int64Range(1, most).Draw(t, label)) * time.Millisecond
		}
		c := Curve{
			Policy: backoff.Policy{
				Initial:      ms("initial", 2000),
				Factor:       rapid.SampledFrom([]float64{1, 1.2, 2}).Draw(t, "factor"),
				ResetAfter:   ms("reset", 4000),
				FreeFailures: rapid.IntRange(0, 3).Draw(t, "free"),
			},
			Limit: StartLimit{rapid.IntRange(1, 8).Draw(t, "starts"), ms("within", 12_000)},
			Run:   ms("run", 3000) - time.Millisecond,
		}
		c.Policy.Max = c.Policy.Initial + ms("more", 3000)
		got := c.mostRestarts()
		if want := limited(c, 200); got != want {
			t.Fatalf("%+v: %d restarts, want %d", c, got, want)
		}
		if got == math.MaxInt {
			kept++
			return
		}
		given++
		parts := 0
		for from := time.Duration(-1); from < time.Minute; from += time.Second {
			parts += c.Restarts(from, from+time.Second)
		}
		if total := c.Restarts(-1, time.Hour); total != got || parts != got || !c.GivenUp() || c.SteadyRate() != 0 {
			t.Fatalf("%+v: %d restarts in an hour, %d in seconds, want %d", c, total, parts, got)
		}
	})
	if given < 10 || kept < 10 {
		t.Errorf("given up %d times, and %d times not", given, kept)
	}
}

// The busiest window is found at once. Here it is compared with all windows.
func TestBusiestWindowIsTheBusiestOfAll(t *testing.T) {
	for _, p := range []backoff.Policy{
		backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.CrashLoop().WithMax(time.Second),
		{Initial: time.Second, Max: time.Minute, FreeFailures: 3}, {Initial: time.Second, Max: 3 * time.Second, Factor: 1.1},
	} {
		for _, run := range []time.Duration{0, time.Second, 11 * time.Minute} {
			c := Curve{Policy: p, Run: run}
			want := 0
			for from := -time.Second; from < 40*time.Minute; from += time.Second / 2 {
				want = max(want, c.Restarts(from-1, from+10*time.Second-1))
			}
			if got := c.Busiest(10 * time.Second); got != want {
				t.Errorf("%+v: busiest 10s has %v, want %v", c, got, want)
			}
		}
	}
}

// The rate in the long run is that of restarts far away.
func TestSteadyRateIsThatOfTheLongRun(t *testing.T) {
	for _, p := range []backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), {Initial: 4 * time.Second, Max: time.Minute, Factor: 1, FreeFailures: 7}} {
		for _, run := range []time.Duration{0, 10 * time.Second, p.ResetThreshold(), p.ResetThreshold() + 1} {
			c := Curve{Policy: p, Run: run}
			got := float64(c.Restarts(30*24*time.Hour, 90*24*time.Hour))
			if want := c.SteadyRate() * (60 * 24 * time.Hour).Seconds(); got < want-1 || got > want+1 {
				t.Errorf("%+v: %v restarts in 60 days, want %v", c, got, want)
			}
		}
	}
}

func TestRequestsAreThoseOfAKubelet(t *testing.T) {
	if n := (Curve{}).Requests(3, 5); n != 15 {
		t.Errorf("%v requests of a kubelet", n)
	}
	if n := (Curve{Outside: true}).Requests(3, 5); n != 0 {
		t.Errorf("%v requests without a kubelet", n)
	}
}
