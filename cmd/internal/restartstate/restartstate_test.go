package restartstate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/restartstate"
	"github.com/restartkit/restart/field"
)

// A clock that was set back between two runs loses no failure and lengthens no wait.
func TestClockSetBackLengthensNoWait(t *testing.T) {
	now := time.Now().Round(0)
	later := now.Add(24 * time.Hour)
	r, err := backoff.NewRestarter[string](backoff.CrashLoop(), backoff.RestarterOptions[string]{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := restartstate.ToClock(backoff.RestarterState{
		Last:     backoff.Exit{Run: 3, Code: 1, Started: later.Add(-time.Minute), Finished: later},
		Decision: backoff.Decision{Action: backoff.ActionRestart, Delay: 40 * time.Second, NotBefore: later.Add(40 * time.Second), Failures: 3, Rule: -1},
		Recent:   []time.Time{now.Add(-time.Hour), later},
	}, now)
	if err := r.Restore("c", b); err != nil {
		t.Fatal(err)
	}
	if got := r.Remaining("c"); got <= 39*time.Second || got > 40*time.Second {
		t.Errorf("remaining %v", got)
	}
	if s, _ := r.State("c"); s.Decision.Failures != 3 {
		t.Errorf("%d failures", s.Decision.Failures)
	}
}

// An error of Restore names the place in the file.
func TestErrorOfRestoreHasThePathOfTheFile(t *testing.T) {
	err := restartstate.At("commands.web.backoff", field.Errors{{Field: "last.run", Value: -1, Detail: "must be >= 0"}})
	var errs field.Errors
	if !errors.As(err, &errs) || errs[0].Field != "commands.web.backoff.last.run" {
		t.Errorf("%v", err)
	}
	other := errors.New("other")
	if err := restartstate.At("x", other); err != other {
		t.Errorf("%v", err)
	}
}
