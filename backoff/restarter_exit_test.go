package backoff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/rapidseed"
	"pgregory.net/rapid"
)

// reborn sends a Restarter through JSON into a new one.
func reborn(t interface {
	Helper()
	Fatal(...any)
}, r *backoff.Restarter[string], p backoff.Policy, o backoff.RestarterOptions[string]) *backoff.Restarter[string] {
	t.Helper()
	other := newRestarter(t, p, o)
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, other)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(maps.Collect(r.All()), maps.Collect(other.All())); diff != "" {
		t.Fatal(diff)
	}
	return other
}

// All combinations of Run and Finished after an exit at 5s, in the same process and
// after a restore. An exit that is not new gets the last Decision. A new one counts,
// and only once if it can be recognized.
func TestNewExitsCountOnce(t *testing.T) {
	const isNew, known = true, false
	finished := [4]string{"unknown", "earlier", "same", "later"}
	always := backoff.ExitPolicy{}
	for _, tt := range []struct {
		name     string
		last     int64
		run      int64
		finished [4]bool
	}{
		{"higher Run", 5, 6, [4]bool{isNew, isNew, isNew, isNew}}, // earlier: the clock was set back
		{"same Run", 5, 5, [4]bool{known, known, known, known}},
		{"lower Run", 5, 4, [4]bool{known, known, known, isNew}}, // later: the counter has started over
		{"no Run any more", 5, 0, [4]bool{isNew, known, known, isNew}},
		{"never a Run", 0, 0, [4]bool{isNew, known, known, isNew}},
		{"a Run at last", 0, 1, [4]bool{isNew, isNew, isNew, isNew}},
		{"below zero", 0, -1, [4]bool{known, known, known, isNew}},
	} {
		for _, lastSays := range []bool{true, false} { // when it finished
			for _, killed := range []bool{false, true} {
				for i, want := range tt.finished {
					name := fmt.Sprintf("%s, finished %s, last says when: %t, killed: %t", tt.name, finished[i], lastSays, killed)
					c := fakeClock()
					o := backoff.RestarterOptions[string]{Clock: c}
					r := newRestarter(t, backoff.CrashLoop(), o)
					step(c, 5*second)
					last := backoff.Exit{Run: tt.last, Code: 1}
					if lastSays {
						last.Finished = c.Now()
					}
					first := r.Exited("a", always, last)
					step(c, 4*second)
					if killed {
						r = reborn(t, r, backoff.CrashLoop(), o)
					}
					next := backoff.Exit{Run: tt.run, Code: 2}
					if i > 0 {
						next.Finished = t0.Add(seconds(4, 5, 6)[i-1])
					}
					got := r.Exited("a", always, next)
					if !want {
						if got != first {
							t.Errorf("%s: %+v, want %+v", name, got, first)
						}
						continue
					}
					if got.Failures != 2 || got.Delay != 20*second {
						t.Errorf("%s: %+v", name, got)
					}
					if next.Run == 0 && next.Finished.IsZero() {
						continue
					}
					step(c, second)
					if again := r.Exited("a", always, next); again != got {
						t.Errorf("%s: reported again %+v, want %+v", name, again, got)
					}
				}
			}
		}
	}
}

// Exits with nothing but a code back off up to the curve's maximum, also over restores.
func TestExitsWithOnlyACodeBackOff(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	r := newRestarter(t, backoff.CrashLoop(), o)
	for i, want := range seconds(10, 20, 40, 80, 160, 300, 300) {
		d := r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
		if d.Failures != i+1 || d.Delay != want || r.Remaining("a") != want {
			t.Errorf("exit %d: %+v, remaining %v, want %v", i+1, d, r.Remaining("a"), want)
		}
		if r = reborn(t, r, backoff.CrashLoop(), o); r.Remaining("a") != want {
			t.Errorf("exit %d: remaining %v after a kill, want %v", i+1, r.Remaining("a"), want)
		}
		step(c, want+time.Hour) // however long it runs: nobody says that it did
	}
}

// Exits are new both if a caller's counter starts over and if it continues with
// Last.Run+1.
func TestRestartedRunCounterLosesNoExit(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	r := newRestarter(t, backoff.CrashLoop(), o)
	for i, run := range []int64{4, 5, 1, 2, 3} {
		step(c, second)
		if d := r.Exited("a", backoff.ExitPolicy{}, crash(run, c.Now(), second)); d.Failures != i+1 {
			t.Errorf("exit %d, run %d: %+v", i+1, run, d)
		}
		step(c, r.Remaining("a"))
	}
	r = reborn(t, r, backoff.CrashLoop(), o)
	s, _ := r.State("a")
	if d := r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: s.Last.Run + 1, Code: 1}); d.Failures != 6 {
		t.Errorf("the run after the last: %+v", d)
	}
}

// A run without Started has length zero, one without Finished lasts until now, and
// others are measured by their own clock.
func TestRunLengthFromStartedAndFinished(t *testing.T) {
	now := t0.Add(time.Hour)
	long := now.Add(-601 * second)
	for _, tt := range []struct {
		name              string
		started, finished time.Time
		failures          int
	}{
		{"no times", time.Time{}, time.Time{}, 2},
		{"no Started", time.Time{}, now, 2},
		{"no Finished, long", long, time.Time{}, 1},
		{"no Finished, at the threshold", long.Add(second), time.Time{}, 2},
		{"long", long, now, 1},
		{"at the threshold", long.Add(second), now, 2},
		{"finished before it started", now, long, 2},
		{"its clock is ahead, short", now.Add(time.Hour), now.Add(time.Hour + 600*second), 2},
		{"its clock is ahead, long", now.Add(time.Hour), now.Add(time.Hour + 601*second), 1},
		{"its clock is behind, long", t0.Add(-time.Hour), t0, 1},
		{"since year 1", time.Time{}.Add(1), now, 1},
	} {
		c := fakeClock()
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
		r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
		c.SetTime(now)
		if d := r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 2, Code: 1, Started: tt.started, Finished: tt.finished}); d.Failures != tt.failures {
			t.Errorf("%s: %+v, want %d failures", tt.name, d, tt.failures)
		}
	}
}

// A caller without Run that reports all exits it still sees, repeatedly and in any
// order, counts each once, also over restores. The runtime's clock may be ahead by less
// than the time between two exits.
func TestRepeatedExitsWithoutRunCountOnce(t *testing.T) {
	again := 0
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		o := backoff.RestarterOptions[string]{Clock: c}
		r := newRestarter(t, backoff.CrashLoop(), o)
		ahead := rapid.SampledFrom(seconds(0, 0, 1, 9)).Draw(t, "ahead")
		var seen []backoff.Exit
		for n := range rapid.IntRange(1, 8).Draw(t, "exits") {
			step(c, 10*second+backoff.Distances().Draw(t, "until the next").Abs())
			seen = append(seen, backoff.Exit{Code: 1, Finished: c.Now().Add(ahead)})
			want := r.Exited("a", backoff.ExitPolicy{}, seen[n])
			if want.Failures != n+1 {
				t.Fatalf("exit %d: %+v", n+1, want)
			}
			for range rapid.IntRange(0, 8).Draw(t, "reports") {
				if rapid.IntRange(0, 3).Draw(t, "killed?") == 0 {
					r = reborn(t, r, backoff.CrashLoop(), o)
				}
				step(c, rapid.SampledFrom([]time.Duration{0, 1, second, 9 * second, minute}).Draw(t, "until the look"))
				again++
				e := rapid.SampledFrom(seen).Draw(t, "again")
				if got := r.Exited("a", backoff.ExitPolicy{}, e); got.Failures != want.Failures || got.Action != want.Action || got.Delay != want.Delay {
					t.Fatalf("%+v again: %+v, want %+v", e, got, want)
				}
			}
		}
	})
	if again == 0 && rapidseed.Fixed() {
		t.Error("nothing was reported again")
	}
}

// An exit that finishes now is new if it has no Run or a higher one, even after the
// clock was set back. Otherwise it would restart repeatedly without a wait.
func TestExitThatFinishesNowIsNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		o := backoff.RestarterOptions[string]{Clock: c}
		r := newRestarter(t, backoff.CrashLoop(), o)
		for range rapid.IntRange(1, 12).Draw(t, "exits") {
			step(c, rapid.OneOf(backoff.Distances(), rapid.SampledFrom([]time.Duration{-60 * year, 60 * year})).Draw(t, "step"))
			if s, ok := r.State("a"); ok && rapid.Bool().Draw(t, "killed?") {
				r = reborn(t, r, backoff.CrashLoop(), o)
				if again, _ := r.State("a"); !cmp.Equal(s, again) {
					t.Fatalf("%+v after a kill, want %+v", again, s)
				}
			}
			e := backoff.Exit{Run: rapid.Int64Range(0, 3).Draw(t, "run"), Code: 1, Finished: c.Now()}
			if rapid.Bool().Draw(t, "another stamp?") {
				e.Finished = e.Finished.Add(rapid.OneOf(backoff.Distances(), rapid.Just(70*year)).Draw(t, "stamp"))
			}
			s, known := r.State("a")
			last := s.Last
			if !s.Finished.IsZero() {
				last.Finished = s.Finished
			}
			d := r.Exited("a", backoff.ExitPolicy{}, e)
			same := known && (e.Run != 0 && e.Run <= last.Run || e.Run == 0 && e.Finished.Equal(last.Finished))
			if e.Finished.Equal(c.Now()) && !same && d.Failures != s.Decision.Failures+1 {
				t.Fatalf("%+v at %v, after %+v: %+v", e, c.Now(), last, d)
			}
		}
	})
}

// Setting the clock back loses no exit. Older exits that are still reported count once
// more, and the one ahead of the clock once with each new exit.
func TestExitsWithoutRunAfterClockSetBack(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	var seen []backoff.Exit
	exit := func() { seen = append(seen, backoff.Exit{Code: 1, Finished: c.Now()}) }
	look := func(want ...int) {
		t.Helper()
		for _, failures := range want {
			step(c, second)
			for _, e := range seen {
				r.Exited("a", backoff.ExitPolicy{}, e)
			}
			if s, _ := r.State("a"); s.Decision.Failures != failures {
				t.Errorf("t%v: %d failures, want %d", c.Now().Sub(t0).Seconds(), s.Decision.Failures, failures)
			}
		}
	}
	exit() // t0
	step(c, time.Hour)
	exit() // t3600
	look(2, 2, 2)
	step(c, -50*minute) // t603, between the two
	look(4, 4, 4)
	exit() // t606
	look(5, 6, 6)
	c.SetTime(t0.Add(2 * time.Hour))
	look(6, 6)
	exit()
	look(7, 7, 7)
}

// An exit ahead of the clock is recognized after a restore, before and after the clock
// reaches it, and if the clock was set back meanwhile.
func TestFutureExitIsRecognizedAfterRestore(t *testing.T) {
	for _, back := range []time.Duration{0, -time.Hour} {
		c := fakeClock()
		o := backoff.RestarterOptions[string]{Clock: c}
		r := newRestarter(t, backoff.CrashLoop(), o)
		for _, run := range []int64{0, 7} {
			step(c, 2*time.Hour)
			want, _ := r.State("a")
			e := backoff.Exit{Run: run, Code: 1, Started: c.Now(), Finished: c.Now().Add(5 * second)}
			r.Exited("a", backoff.ExitPolicy{}, e)
			step(c, back)
			for range 3 {
				r = reborn(t, r, backoff.CrashLoop(), o)
				step(c, 4*second)
				if d := r.Exited("a", backoff.ExitPolicy{}, e); d.Failures != want.Decision.Failures+1 {
					t.Errorf("set by %v, run %d: %+v", back, run, d)
				}
				s, _ := r.State("a")
				if s.Last.Finished.After(c.Now()) || !e.Finished.Equal(s.Last.Finished) != !s.Finished.IsZero() {
					t.Errorf("set by %v: finished %v, stored %v and %v at %v", back, e.Finished, s.Last.Finished, s.Finished, c.Now())
				}
			}
		}
	}
}
