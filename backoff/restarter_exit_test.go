package backoff

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reborn sends a Restarter through JSON into a new one.
func reborn(t *testing.T, r *Restarter[string], p Policy, o RestarterOptions[string]) *Restarter[string] {
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

// Which exits are new, for every Run and Finished there can be after an exit at 5s,
// in the same process and in the next one. One that is not new gets the Decision of
// the last one; one that is counts, and, if it can be known again, counts once.
func TestNewExitsCountOnce(t *testing.T) {
	const isNew, known = true, false
	finished := [4]string{"unknown", "earlier", "same", "later"}
	always := ContainerPolicy{}
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
		{"never a Run", 0, 0, [4]bool{isNew, isNew, known, isNew}},
		{"a Run at last", 0, 1, [4]bool{isNew, isNew, isNew, isNew}},
		{"below zero", 0, -1, [4]bool{known, known, known, isNew}},
	} {
		for _, lastSays := range []bool{true, false} { // when it finished
			for _, killed := range []bool{false, true} {
				for i, want := range tt.finished {
					name := fmt.Sprintf("%s, finished %s, last says when: %t, killed: %t", tt.name, finished[i], lastSays, killed)
					c := fakeClock()
					o := RestarterOptions[string]{Clock: c}
					r := newRestarter(t, CrashLoop(), o)
					step(c, 5*second)
					last := Exit{Run: tt.last, Code: 1}
					if lastSays {
						last.Finished = c.Now()
					}
					first := r.Exited("a", always, last)
					step(c, 4*second)
					if killed {
						r = reborn(t, r, CrashLoop(), o)
					}
					next := Exit{Run: tt.run, Code: 2}
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

// Exits that say nothing but their code back off as far as the curve goes, and no
// kill resets or repeats one.
func TestBareExitsBackOff(t *testing.T) {
	c := fakeClock()
	o := RestarterOptions[string]{Clock: c}
	r := newRestarter(t, CrashLoop(), o)
	for i, want := range seconds(10, 20, 40, 80, 160, 300, 300) {
		d := r.Exited("a", ContainerPolicy{}, Exit{Code: 1})
		if d.Failures != i+1 || d.Delay != want || r.Remaining("a") != want {
			t.Errorf("exit %d: %+v, remaining %v, want %v", i+1, d, r.Remaining("a"), want)
		}
		if r = reborn(t, r, CrashLoop(), o); r.Remaining("a") != want {
			t.Errorf("exit %d: remaining %v after a kill, want %v", i+1, r.Remaining("a"), want)
		}
		step(c, want+time.Hour) // however long it runs: nobody says that it did
	}
}

// A counter that starts over, as a caller's does that lost its state, names new
// exits; one that goes on from Last.Run+1 does too.
func TestCounterThatStartsOverLosesNoExit(t *testing.T) {
	c := fakeClock()
	o := RestarterOptions[string]{Clock: c}
	r := newRestarter(t, CrashLoop(), o)
	for i, run := range []int64{4, 5, 1, 2, 3} {
		step(c, second)
		if d := r.Exited("a", ContainerPolicy{}, crash(run, c.Now(), second)); d.Failures != i+1 {
			t.Errorf("exit %d, run %d: %+v", i+1, run, d)
		}
		step(c, r.Remaining("a"))
	}
	r = reborn(t, r, CrashLoop(), o)
	s, _ := r.State("a")
	if d := r.Exited("a", ContainerPolicy{}, Exit{Run: s.Last.Run + 1, Code: 1}); d.Failures != 6 {
		t.Errorf("the run after the last: %+v", d)
	}
}

// A run counts as long as its times say: nothing without a Started, until now
// without a Finished, and by its own clock where that is ahead or behind.
func TestRunLengthFollowsItsTimes(t *testing.T) {
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
		r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c})
		r.Exited("a", ContainerPolicy{}, Exit{Run: 1, Code: 1})
		c.SetTime(now)
		if d := r.Exited("a", ContainerPolicy{}, Exit{Run: 2, Code: 1, Started: tt.started, Finished: tt.finished}); d.Failures != tt.failures {
			t.Errorf("%s: %+v, want %d failures", tt.name, d, tt.failures)
		}
	}
}
