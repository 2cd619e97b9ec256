package backoff_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

func TestSystemClockSetKeepsElapsedTime(t *testing.T) {
	c := backoff.NewSystemClock()
	before := c.Now()
	c.Elapsed, c.Set = 5*second, -24*time.Hour
	if got := c.Now().Sub(before); got != 5*second {
		t.Errorf("monotonic: %v", got)
	}
	if got := c.Wall().Sub(before.Round(0)); got != 5*second-24*time.Hour {
		t.Errorf("wall: %v", got)
	}
}

// Setting the wall clock changes no answer of a Tracker, whether or not events have a
// monotonic reading.
func TestSettingTheClockKeepsTrackerAnswers(t *testing.T) {
	for _, strip := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			c := backoff.NewSystemClock()
			now := func() time.Time {
				if strip {
					return c.Wall()
				}
				return c.Now()
			}
			tr := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
			failures := rapid.IntRange(1, 6).Draw(t, "failures")
			for n := range failures {
				c.Set += backoff.ClockSettings().Draw(t, "set while running")
				c.Elapsed += seconds(rapid.SampledFrom([]int{0, 5, 300, 600}).Draw(t, "ran"))[0]
				finished, delay := now(), tr.Get("a")
				if got := tr.Remaining("a", finished); got != delay {
					t.Fatalf("after failure %d: %v of %v remain", n+1, got, delay)
				}
				if !strip { // a wall clock's event is placed by its clock at the time of the report
					c.Set += backoff.ClockSettings().Draw(t, "set while waiting")
				}
				c.Elapsed += delay
				if delay > 0 {
					c.Elapsed--
					if !tr.IsInBackOffSince("a", finished) {
						t.Fatalf("after failure %d: let go too early", n+1)
					}
					c.Elapsed++
				}
				if tr.IsInBackOffSince("a", finished) {
					t.Fatalf("after failure %d: held too long", n+1)
				}
				tr.Next("a", finished)
				if s, _ := tr.State("a"); s.Failures != n+1 || !s.Updated.Equal(c.Wall()) {
					t.Fatalf("after failure %d: %+v at %v", n+1, s, c.Wall())
				}
			}
			c.Elapsed += 600*second + 1
			if tr.Next("a", now()); tr.Get("a") != 10*second {
				t.Fatal("a run longer than ResetAfter does not start over")
			}
		})
	}
}

// A state ahead of a clock that went back counts as of now.
func TestRestoreLowersTimesAfterTheClockWasSetBack(t *testing.T) {
	for _, ahead := range []time.Duration{0, second - 1, second, time.Hour, 100 * year} {
		c := backoff.NewSystemClock()
		tr := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
		tr.Next("a", c.Now())
		s, _ := tr.State("a")
		s.Updated = s.Updated.Add(ahead)
		again := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
		if err := again.Restore("a", s); err != nil {
			t.Errorf("%v ahead: %v", ahead, err)
		}
		if got, _ := again.State("a"); got.Failures != 1 || !got.Updated.Equal(c.Wall()) {
			t.Errorf("%v ahead: %+v", ahead, got)
		}
	}
}

// Setting the wall clock changes no decision of a Restarter and no wait.
func TestSettingTheClockKeepsRestarterDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := backoff.NewSystemClock()
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 1, Burst: 5})
		for n := range rapid.IntRange(1, 6).Draw(t, "failures") {
			started := c.Now()
			c.Set += backoff.ClockSettings().Draw(t, "set while running")
			c.Elapsed += 5 * second
			d := r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: int64(n), Code: 1, Started: started, Finished: c.Now()})
			want := backoff.CrashLoop().Delay(n + 1)
			if d.Delay != want || !d.NotBefore.Equal(c.Wall().Add(want)) {
				t.Fatalf("failure %d at %v: %+v", n+1, c.Wall(), d)
			}
			c.Elapsed += want - 1
			c.Set += backoff.ClockSettings().Draw(t, "set while waiting")
			if got := remaining(r, "a"); got != 1 {
				t.Fatalf("failure %d: %v remain", n+1, got)
			}
			c.Elapsed++
		}
	})
}

// A clock that alternates between two years delays no turn under Rate.
func TestAlternatingClockKeepsTurns(t *testing.T) {
	for _, away := range []time.Duration{60 * year, 146 * year, 292 * year} {
		c := fakeClock()
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Rate: 0.1, Burst: 2})
		for i := range 50 {
			delay := backoff.CrashLoop().Delay(i + 1)
			for k, turn := range seconds(0, 0, 10, 20) {
				key := fmt.Sprint(k)
				d := r.Exited(key, backoff.ExitPolicy{}, backoff.Exit{Run: int64(i + 1), Code: 1, Finished: c.Now()})
				if left := remaining(r, key); d.Delay != delay+turn || left != d.Delay {
					t.Fatalf("%v, flip %d: key %s waits %v of %v, want %v", away, i, key, left, d.Delay, delay+turn)
				}
			}
			step(c, delay)
			for k, turn := range seconds(0, 0, 10, 20) {
				if left := remaining(r, fmt.Sprint(k)); left != turn {
					t.Fatalf("%v, flip %d: key %d waits %v more, want %v", away, i, k, left, turn)
				}
			}
			step(c, -away)
			r.Exited("away", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
			r.Reset("away")
			step(c, away)
		}
	}
}
