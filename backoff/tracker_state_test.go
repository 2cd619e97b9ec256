package backoff_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

func TestRestoreRecomputesDelayUnderNewPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fakeClock()
		from := newTracker(t, policies().Draw(t, "from"), backoff.TrackerOptions{Clock: c})
		policy := policies().Draw(t, "to")
		for range rapid.IntRange(1, 20).Draw(t, "failures") {
			from.Next("a", c.Now())
		}
		s, _ := from.State("a")
		to := newTracker(t, policy, backoff.TrackerOptions{Clock: c})
		if err := to.Restore("a", s); err != nil {
			t.Fatal(err)
		}
		got, ok := to.State("a")
		nominal := policy.Delay(s.Failures)
		if !ok || got.Failures != s.Failures || !got.Updated.Equal(s.Updated) || got.Delay > policy.Max ||
			got.Delay != nominal && (policy.Jitter == 0 || got.Delay != s.Delay || got.Delay > nominal) {
			t.Fatalf("%+v restored as %+v", s, got)
		}
	})
}

func TestTrackerRefusesImpossibleStates(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
	good := backoff.TrackerState{Failures: 1, Delay: 10 * second, Updated: t0}
	for want, change := range map[string]func(*backoff.TrackerState){
		"failures: invalid value 0: must be >= 1":  func(s *backoff.TrackerState) { s.Failures = 0 },
		"failures: invalid value -1: must be >= 1": func(s *backoff.TrackerState) { s.Failures = -1 },
		"delay: invalid value -1ns: must be >= 0":  func(s *backoff.TrackerState) { s.Delay = -1 },
		"updated: invalid value 0001-01-01":        func(s *backoff.TrackerState) { s.Updated = time.Time{} },
	} {
		s := good
		change(&s)
		err := tr.Restore("some/key", s)
		if err == nil || !strings.HasPrefix(err.Error(), `backoff: Tracker.Restore("some/key"): `+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if tr.Len() != 0 {
		t.Error("a refused state was kept")
	}
	err := tr.Restore("a", backoff.TrackerState{Failures: -1, Delay: -1, Updated: t0.Add(1)})
	if got, want := fieldsOf(err), []string{"failures", "delay"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	if err := tr.Restore("a", good); err != nil {
		t.Error(err)
	}
}

// A key has a state from its first Next until it is forgotten.
func TestOnlyKnownKeysHaveAState(t *testing.T) {
	c := fakeClock()
	tr := newTracker(t, backoff.CrashLoop(), backoff.TrackerOptions{Clock: c})
	check := func(want backoff.TrackerState, known bool) {
		t.Helper()
		if got, ok := tr.State("a"); got != want || ok != known {
			t.Errorf("%+v, %t, want %+v, %t", got, ok, want, known)
		}
	}
	check(backoff.TrackerState{}, false)
	tr.Next("a", c.Now())
	check(backoff.TrackerState{Failures: 1, Delay: 10 * second, Updated: t0}, true)
	tr.Reset("a")
	check(backoff.TrackerState{}, false)
}
