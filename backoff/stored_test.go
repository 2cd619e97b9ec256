package backoff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/states"
)

func TestStoredStatesDecideTheSame(t *testing.T) {
	states.Test(t, "streak", storedStreak, decideByStreak)
	states.Test(t, "state", storedState, decideByState)
	states.Test(t, "restarter", storedRestarter, decideByRestarter)
	states.Test(t, "tracker", storedTracker, decideByTracker)
}

var storedCurve = backoff.Policy{Initial: time.Second, Max: time.Minute, ResetAfter: 10 * time.Minute}

func storedStreak(*testing.T) any {
	s := backoff.Streak{}
	for n := range 4 {
		at := t0.Add(time.Duration(n) * 20 * time.Second)
		s = storedCurve.Failed(s, at.Add(-time.Second), at)
	}
	return s
}

func decideByStreak(t *testing.T, text []byte) (decisions []string) {
	var s backoff.Streak
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, 60 * time.Second, 65 * time.Second, time.Hour} {
		decisions = append(decisions, fmt.Sprintf("at %v: %v left", after, storedCurve.Left(s, t0.Add(after))))
	}
	for _, run := range []time.Duration{time.Minute, time.Hour} {
		at := t0.Add(2 * time.Hour)
		decisions = append(decisions, fmt.Sprintf("after a run of %v: failure %d", run, storedCurve.Failed(s, at.Add(-run), at).Failures))
	}
	return decisions
}

// storedPolicy has a limit within a window, a give-up that ends, and rules with counts of
// their own.
func storedPolicy() backoff.ExitPolicy {
	code := func(code int32) *backoff.ExitCodes {
		return &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{code}}
	}
	return backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicyOnFailure,
		Rules: []backoff.Rule{
			{Name: "busy", Action: backoff.ActionRestart, ExitCodes: code(75), Delay: &backoff.Policy{Initial: 5 * time.Second, Max: time.Minute}, Limit: 3},
			{Name: "broken", Action: backoff.ActionGiveUp, ExitCodes: code(3)},
			{Name: "pause", Action: backoff.ActionRestart, Reasons: []string{"Paused"}, Uncounted: true},
		},
		Delay: &storedCurve, Limit: 3, Window: time.Hour, Retries: 5, GiveUpFor: 30 * time.Minute,
	}
}

// exitAt returns the exit of a run of one second that ended so long after t0.
func exitAt(run int64, code int32, after time.Duration) backoff.Exit {
	return backoff.Exit{Run: run, Code: code, Started: t0.Add(after - time.Second), Finished: t0.Add(after)}
}

func storedState(*testing.T) any {
	policy := storedPolicy()
	var s backoff.State
	for n, code := range []int32{1, 75, 1, 75} {
		after := time.Duration(n) * time.Minute
		s.Exited(&policy, exitAt(int64(n)+1, code, after), t0.Add(after), 0)
		s.Started(t0.Add(after + 30*time.Second))
	}
	s.Exited(&policy, exitAt(5, 1, 4*time.Minute), t0.Add(4*time.Minute), 0)
	return &s
}

func decideByState(t *testing.T, text []byte) (decisions []string) {
	policy := storedPolicy()
	exits := map[string]backoff.Exit{
		"the last exit again": exitAt(5, 1, 4*time.Minute),
		"an older exit":       exitAt(4, 75, 3*time.Minute),
		"a failure":           exitAt(6, 1, 6*time.Minute),
		"a busy exit":         exitAt(6, 75, 6*time.Minute),
		"a success":           exitAt(6, 0, 6*time.Minute),
	}
	for _, name := range slices.Sorted(maps.Keys(exits)) {
		var s backoff.State
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		ok, wait := s.CanStart(&policy, t0.Add(4*time.Minute+time.Second))
		e := exits[name]
		d := s.Exited(&policy, e, e.Finished, 0)
		decisions = append(decisions, fmt.Sprintf("may start: %v, %v; %s: new: %v, %s", ok, wait, name, d.New, d.Reason(policy, e)))
	}
	return decisions
}

func newStoredRestarter(t *testing.T, clock *clocktesting.FakePassiveClock) *backoff.Restarter[string] {
	r, err := backoff.NewRestarter(storedPolicy(), backoff.RestarterOptions[string]{
		Clock: clock, Rand: func() float64 { return 0.5 }, Rate: 1, Burst: 2, History: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// storedExits are the exit codes of each key, of runs that end ten seconds apart.
var storedExits = map[string][]int32{
	"broken":   {1, 3},
	"busy":     {75, 75},
	"done":     {1, 0},
	"given-up": {1, 1, 1, 1},
	"running":  {1, 1},
	"waiting":  {1, 1, 1},
}

func storedRestarter(t *testing.T) any {
	clock := clocktesting.NewFakePassiveClock(t0)
	r := newStoredRestarter(t, clock)
	for n := range 4 {
		after := time.Duration(n) * 10 * time.Second
		clock.SetTime(t0.Add(after))
		for _, key := range slices.Sorted(maps.Keys(storedExits)) {
			if codes := storedExits[key]; n < len(codes) {
				r.Exited(key, backoff.ExitPolicy{}, exitAt(int64(n)+1, codes[n], after))
			}
		}
	}
	r.Started("running", clock.Now())
	return r
}

func decideByRestarter(t *testing.T, text []byte) (decisions []string) {
	clock := clocktesting.NewFakePassiveClock(t0.Add(31 * time.Second))
	r := newStoredRestarter(t, clock)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(storedExits)) {
		ok, wait := r.CanStart(key)
		state, _ := r.State(key)
		decisions = append(decisions, fmt.Sprintf("%s: may start: %v, %v; %d earlier exits", key, ok, wait, len(state.History)))
	}
	clock.SetTime(t0.Add(40 * time.Minute))
	for key, d := range r.Due(clock.Now()) {
		decisions = append(decisions, fmt.Sprintf("due: %s, failure %d", key, d.Failures))
	}
	policy := storedPolicy()
	for _, key := range slices.Sorted(maps.Keys(storedExits)) {
		e := exitAt(9, 1, 40*time.Minute)
		decisions = append(decisions, key+": "+r.Exited(key, policy, e).Reason(policy, e))
	}
	return decisions
}

func newStoredTracker(t *testing.T, clock *clocktesting.FakePassiveClock) *backoff.Tracker[string] {
	tracker, err := backoff.NewTracker[string](storedCurve, backoff.TrackerOptions{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return tracker
}

func storedTracker(t *testing.T) any {
	clock := clocktesting.NewFakePassiveClock(t0)
	tracker := newStoredTracker(t, clock)
	for n := range 4 {
		clock.SetTime(t0.Add(time.Duration(n) * time.Minute))
		tracker.Next("often", clock.Now())
		if n == 0 {
			tracker.Next("once", clock.Now())
		}
	}
	return tracker
}

func decideByTracker(t *testing.T, text []byte) (decisions []string) {
	clock := clocktesting.NewFakePassiveClock(t0.Add(3*time.Minute + time.Second))
	tracker := newStoredTracker(t, clock)
	if err := json.Unmarshal(text, tracker); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"never", "often", "once"} {
		event := clock.Now()
		decisions = append(decisions, fmt.Sprintf("%s: delay %v, held back: %v, %v left", key,
			tracker.Get(key), tracker.IsInBackOffSince(key, event), tracker.Remaining(key, event)))
		tracker.Next(key, event)
		decisions = append(decisions, fmt.Sprintf("%s, failed again: delay %v", key, tracker.Get(key)))
	}
	return decisions
}
