package backoff_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

const (
	second = time.Second
	minute = time.Minute
	year   = 365 * 24 * time.Hour
)

// timelineUntil collects the restarts of constant runs up to and including end.
func timelineUntil(p backoff.Policy, run, end time.Duration) []time.Duration {
	var at []time.Duration
	for t := range p.Timeline(func(int) time.Duration { return run }) {
		if t > end {
			break
		}
		at = append(at, t)
	}
	return at
}

func seconds(n ...int) []time.Duration {
	var out []time.Duration
	for _, s := range n {
		out = append(out, time.Duration(s)*second)
	}
	return out
}

// KEP-4603, Front loaded decay curve, with containers that crash at once, after 10
// seconds and just before the reset.
func TestTimelineMatchesTheKEP(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   backoff.Policy
		run, end time.Duration
		want     []time.Duration
	}{
		{"instant crashes today", backoff.CrashLoop(), 0, 910 * second, seconds(10, 30, 70, 150, 310, 610, 910)},
		{"instant crashes reduced", backoff.ReducedCrashLoop(), 0, 303 * second, seconds(1, 3, 7, 15, 31, 63, 123, 183, 243, 303)},
		{"10s runs", backoff.CrashLoop(), 10 * second, 30 * minute, seconds(20, 50, 100, 190, 360, 670, 980, 1290, 1600)},
		{"9:59 runs", backoff.CrashLoop(), 599 * second, 30 * minute, seconds(609, 1228)},
		{"at the reset threshold", backoff.CrashLoop(), 600 * second, 40 * minute, seconds(610, 1230, 1870)},
		{"past the reset threshold", backoff.CrashLoop(), 601 * second, 40 * minute, seconds(611, 1222, 1833)},
		{"kubernetes#123602", backoff.Policy{Initial: 10 * second, Max: 300 * second, ResetAfter: 10 * minute, FreeFailures: 1}, 0, 200 * second, seconds(0, 10, 30, 70, 150)},
	} {
		if got := timelineUntil(tt.policy, tt.run, tt.end); !slices.Equal(got, tt.want) {
			t.Errorf("%s: restarts at %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The first run is run(1), and each run has its own length.
func TestEachRunHasItsOwnLength(t *testing.T) {
	var asked []int
	var got []time.Duration
	for at := range backoff.CrashLoop().Timeline(func(n int) time.Duration {
		asked = append(asked, n)
		return []time.Duration{0, -second, 11 * minute, 0}[n-1]
	}) {
		if got = append(got, at); len(got) == 4 {
			break
		}
	}
	if want := seconds(10, 30, 30+660+10, 700+20); !slices.Equal(got, want) {
		t.Errorf("restarts at %v, want %v", got, want)
	}
	if !slices.Equal(asked, []int{1, 2, 3, 4}) {
		t.Errorf("asked for runs %v", asked)
	}
}

func TestTimelineEndsAtLargestDuration(t *testing.T) {
	p := backoff.Policy{Initial: 1 << 61, Max: math.MaxInt64}
	if got := timelineUntil(p, 0, math.MaxInt64); !slices.Equal(got, []time.Duration{1 << 61, 3 << 61}) {
		t.Errorf("restarts at %v", got)
	}
	if got := timelineUntil(backoff.CrashLoop(), math.MaxInt64, math.MaxInt64); len(got) != 0 {
		t.Errorf("restarts at %v", got)
	}
}

// Restarts counts the instants of Timeline in any window.
func TestRestartsCountTheTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		p.FreeFailures = rapid.IntRange(0, 4).Draw(t, "free")
		run := rapid.OneOf(rapid.Just(-second), rapid.Just(time.Duration(0)), durations()).Draw(t, "run")
		// A window around the first restarts, so that counting them one by one ends.
		var at []time.Duration
		for x := range p.Timeline(func(int) time.Duration { return run }) {
			if at = append(at, x); len(at) == 200 {
				break
			}
		}
		last := time.Duration(math.MaxInt64)
		if len(at) == 200 {
			last = at[199] - 1
			at = slices.DeleteFunc(at, func(x time.Duration) bool { return x > last })
		}
		near := rapid.OneOf(rapid.Int64Range(math.MinInt64, int64(last)), rapid.Int64Range(-2, min(int64(last), 1000)))
		if len(at) > 0 {
			near = rapid.OneOf(near, rapid.Custom(func(t *rapid.T) int64 {
				return int64(rapid.SampledFrom(at).Draw(t, "near")) - rapid.Int64Range(0, 1).Draw(t, "off")
			}))
		}
		from, to := time.Duration(near.Draw(t, "from")), time.Duration(near.Draw(t, "to"))
		want := 0
		for _, x := range at {
			if x > from && x <= to {
				want++
			}
		}
		if got := p.Restarts(run, backoff.Window{from, to}); got != want {
			t.Fatalf("Restarts(%d, (%d, %d]) = %d, want %d", run, from, to, got, want)
		}
	})
}

// Long windows and endless free restarts are counted without looping.
func TestRestartsSaturates(t *testing.T) {
	tick := backoff.Policy{Initial: 1, Max: 1}
	for _, tt := range []struct {
		policy        backoff.Policy
		run, from, to time.Duration
		want          int
	}{
		{tick, 0, 0, math.MaxInt32 - 1, math.MaxInt32 - 1},
		{tick, 0, math.MinInt64, math.MaxInt64, int(min(int64(math.MaxInt64-1), int64(math.MaxInt)))},
		{backoff.Policy{Initial: second, Max: minute, Factor: 1}, 0, 0, 1000 * second, 1000},
		{backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt}, 0, -1, math.MaxInt64, math.MaxInt},
		{backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt}, 0, 0, math.MaxInt64, 0},
		{backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt, ResetAfter: math.MaxInt64}, second, 0, 1000 * second, 1000},
		{backoff.CrashLoop(), math.MaxInt64, 0, math.MaxInt64, 0},
		{backoff.CrashLoop(), 0, 10 * second, 10 * second, 0},
		{backoff.CrashLoop(), 0, 10 * second, 9 * second, 0},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			if got := tt.policy.Restarts(tt.run, backoff.Window{tt.from, tt.to}); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
