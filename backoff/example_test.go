package backoff_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/statefile"
)

// newClock returns a clock that moves only when it is set.
func newClock() *clocktesting.FakePassiveClock {
	return clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
}

// A curve, and a streak of failures that follows it.
func Example() {
	policy := backoff.Policy{Initial: time.Second, Max: time.Minute}
	var streak backoff.Streak

	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for range 4 {
		streak = policy.Failed(streak, now, now) // it fails at once
		wait := policy.Left(streak, now)
		fmt.Println("failure", streak.Failures, "wait", wait)
		now = now.Add(wait)
	}
	// Output:
	// failure 1 wait 1s
	// failure 2 wait 2s
	// failure 3 wait 4s
	// failure 4 wait 8s
}

func ExamplePolicy_Delay() {
	p := backoff.CrashLoop()
	for failures := range 8 {
		fmt.Print(p.Delay(failures), " ")
	}
	// Output: 0s 10s 20s 40s 1m20s 2m40s 5m0s 5m0s
}

// Status is what a custom resource says about itself, in the types of an API.
type Status struct {
	Failures    int32     `json:"failures,omitempty"`   // in a row
	LastFailure time.Time `json:"lastFailure,omitzero"` // in whole seconds, as a metav1.Time has
	CountedRun  int64     `json:"countedRun,omitempty"` // number of the last child that failed
}

// Child is what the resource runs.
type Child struct {
	Run               int64
	Started, Finished time.Time
}

// An operator keeps failures in a row and the time of the last one in the status of its
// custom resource. A reconcile function may be called again for a child that it has
// counted, so the status also has the number of that child. If the update is refused
// because the copy was stale, reconcile is called again with a newer one.
//
// A pod's restartCount and lastRestartTime would not do. The count includes every restart
// ever, and the time lies before the run.
func ExampleStreak_customResource() {
	policy := backoff.Policy{Initial: 10 * time.Second, Max: 5 * time.Minute, ResetAfter: 10 * time.Minute}
	reconcile := func(status Status, failed Child, now time.Time) (Status, time.Duration) {
		streak := backoff.Streak{Failures: int(status.Failures), Last: status.LastFailure}
		if failed.Run > status.CountedRun {
			streak = policy.Failed(streak, failed.Started, failed.Finished)
			status = Status{Failures: int32(streak.Failures), LastFailure: streak.Last, CountedRun: failed.Run}
		}
		// Whole seconds may be a second early.
		return status, policy.Left(streak, now.Add(-time.Second))
	}

	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	status := Status{Failures: 2, LastFailure: now.Add(-time.Hour), CountedRun: 6}
	failed := Child{Run: 7, Started: now.Add(-65 * time.Second), Finished: now.Add(-5 * time.Second)}
	for range 2 { // the second call sees the same child
		var wait time.Duration
		status, wait = reconcile(status, failed, now)
		fmt.Println("failures:", status.Failures, "- requeue after", wait) // at 0, create the next child
	}
	// Output:
	// failures: 3 - requeue after 36s
	// failures: 3 - requeue after 36s
}

// A program keeps the streak in its own JSON file, beside whatever else it stores there.
func ExampleStreak_file() {
	type state struct {
		Config string         `json:"config"`
		Agent  backoff.Streak `json:"agent,omitzero"`
	}
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "state.json")

	policy := backoff.Policy{Initial: time.Second, Max: time.Minute}
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for range 3 { // three processes, one after the other
		var s state
		if _, err := statefile.Load(path, &s); err != nil {
			fmt.Println(err)
			return
		}
		s.Config = "v7"
		s.Agent = policy.Failed(s.Agent, now, now)
		if err := statefile.Save(path, &s); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Config, s.Agent.Failures, policy.Left(s.Agent, now))
	}
	// Output:
	// v7 1 1s
	// v7 2 2s
	// v7 3 4s
}

// A second policy makes a latch: after four failures in a row the delay is an hour.
func ExampleStreak_latch() {
	curve := backoff.Policy{Initial: 5 * time.Second, Max: 5 * time.Minute}
	latch := backoff.Policy{Initial: time.Hour, Max: time.Hour, FreeFailures: 3}

	var streak backoff.Streak
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for range 5 {
		streak = curve.Failed(streak, now, now)
		wait := max(curve.Left(streak, now), latch.Left(streak, now))
		fmt.Print(wait, " ")
		now = now.Add(wait)
	}
	// Output: 5s 10s 20s 1h0m0s 1h0m0s
}

// A supervisor reports every exit and follows the Decision.
func ExampleRestarter() {
	clock := newClock()
	policy := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}
	r, err := backoff.NewRestarter(policy, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	exit := backoff.Exit{Run: 1, Code: 1, Started: clock.Now().Add(-time.Second), Finished: clock.Now()}
	d := r.Exited("web", policy, exit)
	fmt.Println(d.Reason(policy, exit))

	clock.SetTime(clock.Now().Add(4 * time.Second))
	fmt.Println(r.CanStart("web"))
	clock.SetTime(clock.Now().Add(6 * time.Second))
	fmt.Println(r.CanStart("web"))
	fmt.Println("started:", r.Started("web", clock.Now()))

	exit = backoff.Exit{Run: 2, Code: 0, Finished: clock.Now()}
	fmt.Println(r.Exited("web", policy, exit).Reason(policy, exit))
	// Output:
	// exit code 1 under restartPolicy OnFailure: restarts in 10s (failure 1 in a row)
	// false 6s
	// true 0s
	// started: true
	// exit code 0 under restartPolicy OnFailure: not restarted
}

// A loop that looks every few seconds sees whether something runs, and no exits. It says
// Started and Healthy while the thing runs, also if it was started by somebody else, and
// reports one exit when it is gone.
func ExampleRestarter_poll() {
	clock := newClock()
	curve := backoff.Policy{Initial: 10 * time.Second, Max: time.Minute, ResetAfter: time.Minute}
	r, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &curve}, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	begin := clock.Now()
	lives := []time.Duration{7 * time.Second, 7 * time.Second, 80 * time.Second, time.Hour} // of each run
	var ends time.Time                                                                      // of the present run
	for ; len(lives) > 0; clock.SetTime(clock.Now().Add(5 * time.Second)) {
		runs := clock.Now().Before(ends) // as far as a look tells
		state, _ := r.State("agent")
		switch {
		case runs:
			r.Started("agent", time.Time{})
			r.Healthy("agent", backoff.ExitPolicy{})
		case !state.StartedAt.IsZero(): // it ran at the last look
			d := r.Exited("agent", backoff.ExitPolicy{}, backoff.Exit{Code: 1, Reason: "Gone"})
			fmt.Println(clock.Now().Sub(begin), "gone, failure", d.Failures)
		}
		if ok, _ := r.CanStart("agent"); ok && !runs {
			r.Started("agent", time.Time{}) // and start it
			fmt.Println(clock.Now().Sub(begin), "started")
			ends, lives = clock.Now().Add(lives[0]), lives[1:]
		}
	}
	// Output:
	// 0s started
	// 10s gone, failure 1
	// 20s started
	// 30s gone, failure 2
	// 50s started
	// 2m10s gone, failure 1
	// 2m20s started
}

// After three retries in a row the key is given up. An hour later one start is allowed.
// If that fails, the key is given up for another hour.
func ExampleExitPolicy_latch() {
	clock := newClock()
	policy := backoff.ExitPolicy{Retries: 3, GiveUpFor: time.Hour}
	r, err := backoff.NewRestarter(policy, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		exit := backoff.Exit{Code: 1, Finished: clock.Now()}
		fmt.Println(r.Exited("web", policy, exit).Reason(policy, exit))
		_, wait := r.CanStart("web")
		clock.SetTime(clock.Now().Add(wait))
	}
	// Output:
	// exit code 1 under restartPolicy Always: restarts in 10s (failure 1 in a row)
	// exit code 1 under restartPolicy Always: restarts in 20s (failure 2 in a row)
	// exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)
	// exit code 1 under restartPolicy Always: given up for 1h0m0s, after 3 retries in a row (failure 4 in a row)
	// exit code 1 under restartPolicy Always: given up for 1h0m0s, because a limit was reached before (failure 5 in a row)
}

// A planned pause is no failure, so the crash after it is the second one.
func ExampleRule_plannedPause() {
	clock := newClock()
	policy := backoff.ExitPolicy{Rules: []backoff.Rule{{
		Name: "paused", Action: backoff.ActionRestart, Reasons: []string{"Paused"}, Uncounted: true,
	}}}
	r, err := backoff.NewRestarter(policy, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, reason := range []string{"Error", "Paused", "Paused", "Error"} {
		clock.SetTime(clock.Now().Add(time.Minute))
		exit := backoff.Exit{Code: 1, Reason: reason, Finished: clock.Now()}
		fmt.Println(r.Exited("agent", policy, exit).Reason(policy, exit))
	}
	// Output:
	// exit code 1 (Error) under restartPolicy Always: restarts in 10s (failure 1 in a row)
	// exit code 1 (Paused) meets rule paused: restarts at once (not counted as a failure)
	// exit code 1 (Paused) meets rule paused: restarts at once (not counted as a failure)
	// exit code 1 (Error) under restartPolicy Always: restarts in 20s (failure 2 in a row)
}

// Two retries, and then it has failed for good.
func ExampleExitPolicy_inARow() {
	curve := backoff.Policy{Initial: time.Second, Max: time.Minute}
	policy := backoff.ExitPolicy{Delay: &curve, Retries: 2}
	var state backoff.State
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for {
		d := state.Exited(&policy, backoff.Exit{Code: 1, Finished: now}, now, 0)
		if d.Action != backoff.ActionRestart {
			fmt.Println("failed for good after", d.Failures, "failures")
			return
		}
		fmt.Println("start again in", d.Delay)
		now = d.NotBefore
	}
	// Output:
	// start again in 1s
	// start again in 2s
	// failed for good after 3 failures
}

// A command clears the failures of a key in the file of a program that does not run. A
// running program calls Forgive itself, when it is asked to.
func ExampleRestarter_Forgive() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "restarts.json")
	open := func() (*backoff.Restarter[string], error) {
		r, err := backoff.NewRestarter(backoff.ExitPolicy{Retries: 1}, backoff.RestarterOptions[string]{Clock: newClock()})
		if err != nil {
			return nil, err
		}
		_, err = statefile.Load(path, r)
		return r, err
	}
	daemon := func() error {
		r, err := open()
		if err != nil {
			return err
		}
		for range 2 {
			r.Exited("web", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
		}
		ok, wait := r.CanStart("web")
		fmt.Println(ok, wait == backoff.Forever)
		return statefile.Save(path, r)
	}
	forgive := func(key string) error {
		r, err := open()
		if err != nil {
			return err
		}
		r.Forgive(key)
		fmt.Println(r.CanStart(key))
		return statefile.Save(path, r)
	}
	if err := errors.Join(daemon(), forgive("web")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// false true
	// true 0s
}
