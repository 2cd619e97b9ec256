package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
)

const folder = "../../testdata/released"

// released runs a test with each version's file of this name. Versions without it could
// not write such a state.
func released(t *testing.T, name string, test func(t *testing.T, folder, text string)) {
	found, err := filepath.Glob(filepath.Join(folder, "v*", name+".json"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: no recordings: %v", name, err)
	}
	for _, file := range found {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder)+"/"+name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, folder, string(text))
		})
	}
}

// expected decodes the decisions that the version itself took.
func expected(t *testing.T, folder, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name+".expected.json"))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// expectedRestarts is the recording of a Restarter's decisions.
type expectedRestarts struct {
	Saved time.Time         `json:"saved"`
	Waits map[string]string `json:"waits"`
	Steps []decided         `json:"steps"`
}

// A Restarter continues the states of each version with the decisions of that version.
func TestRestartersContinue(t *testing.T) {
	for _, s := range restartings {
		released(t, s.name, func(t *testing.T, folder, text string) {
			var want expectedRestarts
			expected(t, folder, s.name, &want)
			clock := newClock(want.Saved)
			r := s.restarter(clock)
			if err := json.Unmarshal([]byte(text), r); err != nil {
				t.Fatal(err)
			}
			if got := waits(r); !maps.Equal(got, want.Waits) {
				t.Errorf("waits %v, want %v", got, want.Waits)
			}
			var steps []decided
			for _, e := range s.after {
				steps = append(steps, s.report(r, clock, e))
			}
			if diff := cmp.Diff(want.Steps, steps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func waits(r *backoff.Restarter[string]) map[string]string {
	waits := make(map[string]string)
	for key := range r.All() {
		waits[key] = r.Remaining(key).String()
	}
	return waits
}

// Under a clock that was set back or forward while no program ran, no restart is lost, no
// wait exceeds its delay, and a reported exit does not count again.
func TestRestartersContinueUnderAnotherClock(t *testing.T) {
	for _, s := range restartings {
		released(t, s.name, func(t *testing.T, folder, text string) {
			var want expectedRestarts
			expected(t, folder, s.name, &want)
			for _, jump := range []time.Duration{-24 * time.Hour, -time.Nanosecond, time.Second, 24 * time.Hour} {
				r := s.restarter(newClock(want.Saved.Add(jump)))
				if err := json.Unmarshal([]byte(text), r); err != nil {
					t.Fatalf("%v: %v", jump, err)
				}
				var states map[string]backoff.RestarterState
				must(json.Unmarshal([]byte(text), &states))
				var due, wantDue []string
				for key := range r.Due(want.Saved.Add(48 * time.Hour)) {
					due = append(due, key)
				}
				for key, stored := range states {
					if a := stored.Decision.Action; a == backoff.ActionRestart || a == backoff.ActionRestartAll {
						wantDue = append(wantDue, key)
					}
					d := r.Exited(key, s.exitPolicy(), stored.Last)
					if d.Action != stored.Decision.Action || d.Failures != stored.Decision.Failures {
						t.Errorf("%v: %q: %s after %d failures, stored %s after %d", jump, key, d.Action, d.Failures, stored.Decision.Action, stored.Decision.Failures)
					}
					wait := r.Remaining(key)
					if wait < 0 || wait > d.Delay || s.limits.Rate == 0 && wait > stored.Decision.Delay || jump == 24*time.Hour && s.limits.Rate == 0 && wait != 0 {
						t.Errorf("%v: %q waits %v of %v", jump, key, wait, d.Delay)
					}
				}
				slices.Sort(due)
				slices.Sort(wantDue)
				if !slices.Equal(due, wantDue) {
					t.Errorf("%v: restarts %q, stored %q", jump, due, wantDue)
				}
			}
		})
	}
}

// A Tracker continues the states of each version with the answers of that version.
func TestTrackersContinue(t *testing.T) {
	released(t, "tracker", func(t *testing.T, folder, text string) {
		var want struct {
			Saved time.Time `json:"saved"`
			Steps []asked   `json:"steps"`
		}
		expected(t, folder, "tracker", &want)
		clock := newClock(want.Saved)
		tracker, err := readTracker(clock, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var steps []asked
		for _, e := range trackedAfter {
			steps = append(steps, e.ask(tracker, clock))
		}
		if diff := cmp.Diff(want.Steps, steps); diff != "" {
			t.Error(diff)
		}
		// Set back, the clock makes Restore refuse what is later. Set forward, it holds
		// nothing back that has expired.
		if _, err := readTracker(newClock(want.Saved.Add(-24*time.Hour)), []byte(text)); err == nil || !strings.Contains(err.Error(), "updated") {
			t.Errorf("a clock set back: %v, want an error that names updated", err)
		}
		clock = newClock(want.Saved.Add(24 * time.Hour))
		if tracker, err = readTracker(clock, []byte(text)); err != nil {
			t.Fatal(err)
		}
		for key, s := range tracker.All() {
			if tracker.IsInBackOffSince(key, clock.now) || s.Failures == 0 {
				t.Errorf("a day later %q is held back: %+v", key, s)
			}
		}
	})
}

// A reader of exits continues the position of each version with the exits of that version.
func TestPositionsContinue(t *testing.T) {
	released(t, "position", func(t *testing.T, folder, text string) {
		var want struct {
			View  view     `json:"view"`
			Exits []string `json:"exits"`
		}
		expected(t, folder, "position", &want)
		var position pleg.ExitPosition[string]
		if err := json.Unmarshal([]byte(text), &position); err != nil {
			t.Fatal(err)
		}
		if err := position.Validate(); err != nil {
			t.Error(err)
		}
		r, relist := follow(&want.View, pleg.ExitOptions[string]{Resume: &position})
		relist()
		if got := read(r); !slices.Equal(got, want.Exits) {
			t.Errorf("%q, want %q", got, want.Exits)
		}
		relist()
		if again := read(r); again != nil {
			t.Errorf("once more: %q", again)
		}
	})
}

// The plans for a Job continue the State of each version as that version did.
func TestJobsContinue(t *testing.T) {
	for _, run := range jobRuns {
		released(t, run.name, func(t *testing.T, folder, text string) {
			var want struct {
				Steps any `json:"steps"`
			}
			expected(t, folder, run.name, &want)
			c := readCluster([]byte(text))
			var steps []step
			for _, e := range run.after {
				c.end(e)
				steps = append(steps, step{c.now, e.codes, c.settle()})
			}
			var got any
			decisions, err := json.Marshal(steps)
			must(err)
			must(json.Unmarshal(decisions, &got))
			if diff := cmp.Diff(want.Steps, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Under a clock that was set back or forward while no controller ran, each end counts
// once, and the Job goes on within its longest delay.
func TestJobsContinueUnderAnotherClock(t *testing.T) {
	for _, run := range jobRuns {
		released(t, run.name, func(t *testing.T, folder, text string) {
			for _, jump := range []time.Duration{-24 * time.Hour, -time.Second, 24 * time.Hour} {
				c := readCluster([]byte(text))
				pods := len(c.pods)
				c.now = c.now.Add(jump)
				first := c.settle()
				if jump < 0 && len(c.pods) > pods {
					t.Errorf("%v: the delay is skipped: %+v", jump, first)
				}
				c.now = c.now.Add(10 * time.Minute) // the longest delay
				c.settle()
				ended := int32(0)
				for _, p := range c.pods {
					if p.Status.Phase == "Failed" && p.Status.ContainerStatuses[0].State.Terminated.ExitCode != ignored {
						ended++
					}
				}
				if s := c.job.Status; s.Failed != ended || len(c.pods) == pods {
					t.Errorf("%v: the status counts %d of %d failed pods; %d pods, %d before", jump, s.Failed, ended, len(c.pods), pods)
				}
			}
		})
	}
}
