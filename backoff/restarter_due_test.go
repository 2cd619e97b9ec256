package backoff_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/backoff"
	"k8s.io/utils/clock"
)

// A crash between the decision and the start loses no restart: Due yields those that
// were not started, soonest first, and the others are not started twice.
func TestDueYieldsRestartsLostInACrash(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	r := newRestarter(t, backoff.CrashLoop(), o)
	always := backoff.ExitPolicy{}
	for _, key := range []string{"started", "soon", "later", "stopped"} {
		policy := always
		if key == "stopped" {
			policy.RestartPolicy = backoff.RestartPolicyNever
		}
		r.Exited(key, policy, crash(1, c.Now(), 0))
	}
	r.Exited("later", always, crash(2, c.Now(), 0))
	r.Started("started", 2)
	r.Started("soon", 1) // late news of the run before
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, passed := range []time.Duration{0, 15 * second, time.Hour} {
		step(c, passed)
		r := newRestarter(t, backoff.CrashLoop(), o)
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatal(err)
		}
		var keys []string
		for key, d := range r.Due(c.Now()) {
			keys = append(keys, key)
			if d.Action != backoff.ActionRestart || d.Remaining(c.Now()) != r.Remaining(key) {
				t.Errorf("%s: %+v", key, d)
			}
			r.Started(key, 0) // the loop may use the Restarter
		}
		if want := []string{"soon", "later"}; !slices.Equal(keys, want) {
			t.Errorf("after %v: due %v, want %v", passed, keys, want)
		}
		for key := range r.Due(c.Now()) {
			t.Errorf("%s is due after its start", key)
		}
		for range r.Due(c.Now()) {
			break
		}
	}
}

// First starts share the rate with restarts.
func TestStartTakesATurn(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.Policy{Initial: second, Max: minute, FreeFailures: 1}, backoff.RestarterOptions[string]{Clock: c, Rate: 2})
	for i, want := range []time.Duration{0, second / 2, second, 3 * second / 2} {
		if got := r.Start("new"); got != want {
			t.Errorf("start %d after %v, want %v", i, got, want)
		}
	}
	r.Exited("a", backoff.ExitPolicy{}, crash(1, c.Now(), 0))
	if got := r.Remaining("a"); got != 2*second {
		t.Errorf("a restart behind four starts after %v", got)
	}
	if got := r.Start("a"); got != 2*second {
		t.Errorf("a pending restart starts after %v", got)
	}
	if got := r.Start("b"); got != 5*second/2 {
		t.Errorf("the next start after %v", got)
	}
	unlimited := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
	if got := unlimited.Start("a"); got != 0 {
		t.Errorf("without a rate after %v", got)
	}
}

// Wait ends when the restart is due, however that moves meanwhile, and with the context.
func TestWaitFollowsChanges(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(r *backoff.Restarter[string], stop context.CancelFunc)
		want time.Duration
	}{
		"nothing":    {func(*backoff.Restarter[string], context.CancelFunc) {}, 10 * second},
		"RestartNow": {func(r *backoff.Restarter[string], _ context.CancelFunc) { r.RestartNow("a") }, 4 * second},
		"Reset":      {func(r *backoff.Restarter[string], _ context.CancelFunc) { r.Reset("a") }, 4 * second},
		"Started":    {func(r *backoff.Restarter[string], _ context.CancelFunc) { r.Started("a", 2) }, 4 * second},
		"exit": {func(r *backoff.Restarter[string], _ context.CancelFunc) {
			r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 2, Code: 1})
		}, 24 * second},
		"other key": {func(r *backoff.Restarter[string], _ context.CancelFunc) { r.Reset("b"); r.RestartNow("b") }, 10 * second},
		"stop":      {func(_ *backoff.Restarter[string], stop context.CancelFunc) { stop() }, 4 * second},
		"restored": {func(r *backoff.Restarter[string], _ context.CancelFunc) {
			s, _ := r.State("a")
			s.Decision.Delay, s.Decision.NotBefore = 6*second, s.Last.Finished.Add(6*second)
			if err := r.Restore("a", s); err != nil {
				t.Error(err)
			}
		}, 6 * second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{})
				begin := time.Now()
				r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
				r.Exited("b", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
				done := make(chan error)
				for range 3 {
					go func() { done <- r.Wait(ctx, "a") }()
				}
				time.Sleep(4 * second)
				change.do(r, stop)
				for range 3 {
					if err := <-done; err != ctx.Err() {
						t.Errorf("%v", err)
					}
				}
				if got := time.Since(begin); got != change.want {
					t.Errorf("waited %v, want %v", got, change.want)
				}
			})
		})
	}
}

// passive is a clock without timers.
type passive struct{ clock.PassiveClock }

func TestWaitNeedsNoTimersOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: passive{clock.RealClock{}}})
		begin := time.Now()
		if err := r.Wait(t.Context(), "unknown"); err != nil || time.Since(begin) != 0 {
			t.Errorf("an unknown key: %v after %v", err, time.Since(begin))
		}
		r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
		if err := r.Wait(t.Context(), "a"); err != nil || time.Since(begin) != 10*second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		done, stop := context.WithCancel(t.Context())
		stop()
		if err := r.Wait(done, "a"); err != context.Canceled {
			t.Errorf("a context that is done: %v", err)
		}
	})
}

// After a downtime, Start gives each restart that Due yields its turn under Rate.
func TestStartGivesOverdueRestartsTheirTurns(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[int]{Clock: c, Rate: 1, Burst: 2}
	r, err := backoff.NewRestarter(backoff.CrashLoop(), o)
	if err != nil {
		t.Fatal(err)
	}
	for key := range 10 {
		r.Exited(key, backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	step(c, time.Hour)
	if r, err = backoff.NewRestarter(backoff.CrashLoop(), o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	i := 0
	for key := range r.Due(c.Now()) {
		want := max(time.Duration(i-1)*second, 0)
		if got := r.Start(key); got != want || r.Start(key) != want || r.Remaining(key) != want {
			t.Errorf("restart %d after %v, want %v", i, got, want)
		}
		i++
	}
	if i != 10 || r.Turns() != 8 {
		t.Errorf("%d restarts, %d turns to come", i, r.Turns())
	}
}

// Due shows the time left by the clock, however that was set.
func TestDueFollowsASetClock(t *testing.T) {
	for _, set := range []time.Duration{-time.Hour, -3 * second, 3 * second, time.Hour} {
		c := backoff.NewSystemClock()
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c})
		r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
		c.Elapsed += 4 * second
		c.Set = set
		for _, d := range r.Due(c.Now()) {
			if got := d.Remaining(c.Wall()); got != 6*second || r.Remaining("a") != 6*second {
				t.Errorf("set by %v: %v left, want %v", set, got, r.Remaining("a"))
			}
		}
	}
}

// A clock set back while the Restarter runs lengthens no stored wait.
func TestStateAfterClockWasSetBack(t *testing.T) {
	c := fakeClock()
	o := backoff.RestarterOptions[string]{Clock: c}
	r := newRestarter(t, backoff.CrashLoop(), o)
	r.Exited("a", backoff.ExitPolicy{}, crash(1, t0, 0))
	step(c, 4*second)
	r.Remaining("a")
	step(c, -3*second)
	s, _ := r.State("a")
	other := newRestarter(t, backoff.CrashLoop(), o)
	if err := other.Restore("a", s); err != nil || other.Remaining("a") != 6*second || r.Remaining("a") != 6*second {
		t.Errorf("%v: %v left of %v", err, other.Remaining("a"), r.Remaining("a"))
	}
}
