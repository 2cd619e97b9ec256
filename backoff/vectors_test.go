package backoff_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/internal/vectors/shape"
)

// vectorFiles lists the recorded delays of the kubelet and of client-go.
func vectorFiles() []vectors.File {
	return []vectors.File{{Name: "restartdelay", Kinds: map[string]vectors.Kind{
		"crashloop": {Run: crashLoopVector},
		"retry":     {Run: retryVector},
	}}}
}

func TestVectors(t *testing.T) {
	t.Setenv("VECTORS_DIR", "") // other folders have cases of Jobs and index sets only
	vectors.Run(t, vectorFiles())
}

func TestVectorsTurnRed(t *testing.T) {
	t.Setenv("VECTORS_DIR", "")
	vectors.TurnRed(t, vectorFiles())
}

// crashLoopVector returns the delay after each run of a container, by a Restarter.
func crashLoopVector(c *vectors.Case) (any, error) {
	var in shape.Delays
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	curve := backoff.Policy{
		Initial: in.Base(), Max: in.Max(), ResetAfter: in.Reset(),
		FreeFailures: 1, // a kubelet restarts at once the first time
	}
	r, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &curve}, backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		return nil, err
	}
	var delays []time.Duration
	for n, run := range in.Runs() {
		started := clock.Now()
		clock.SetTime(started.Add(run))
		d := r.Exited("container", backoff.ExitPolicy{}, backoff.Exit{Run: int64(n + 1), Code: 1, Started: started, Finished: clock.Now()})
		delays = append(delays, d.Delay)
		clock.SetTime(clock.Now().Add(d.Delay))
	}
	return shape.DelaysOutcome(delays), nil
}

// retryVector returns the delay after each failed attempt, by a Tracker.
func retryVector(c *vectors.Case) (any, error) {
	var in shape.Delays
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	t, err := backoff.NewTracker[string](backoff.Policy{Initial: in.Base(), Max: in.Max()}, backoff.TrackerOptions{Clock: clock})
	if err != nil {
		return nil, err
	}
	var delays []time.Duration
	for _, took := range in.Runs() {
		clock.SetTime(clock.Now().Add(took))
		t.Next("image", clock.Now())
		d := t.Get("image")
		delays = append(delays, d)
		clock.SetTime(clock.Now().Add(d))
	}
	return shape.DelaysOutcome(delays), nil
}
