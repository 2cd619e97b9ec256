package main

import (
	"strconv"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/conformance/vectors/serve"
	"github.com/restartkit/restart/conformance/vectors/shape"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// clock is a clock that stands still unless it is set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time                  { return c.now }
func (c *clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// crashLoop returns the delay after each run of a container, by a Restarter.
func crashLoop(in shape.Delays) (any, error) {
	c := &clock{time.Unix(1e9, 0)}
	r, err := backoff.NewRestarter[string](backoff.Policy{
		Initial: in.Base(), Max: in.Max(), ResetAfter: in.Reset(),
		FreeFailures: 1, // a kubelet's first restart
	}, backoff.RestarterOptions[string]{Clock: c})
	if err != nil {
		return nil, err
	}
	var delays []time.Duration
	for n, run := range in.Runs() {
		started := c.now
		c.now = started.Add(run)
		d := r.Exited("container", backoff.ExitPolicy{}, backoff.Exit{Run: int64(n + 1), Code: 1, Started: started, Finished: c.now})
		delays = append(delays, d.Delay)
		c.now = c.now.Add(d.Delay)
	}
	return shape.DelaysOutcome(delays), nil
}

// retry returns the delay after each failed attempt, by a Tracker.
func retry(in shape.Delays) (any, error) {
	c := &clock{time.Unix(1e9, 0)}
	t, err := backoff.NewTracker[string](backoff.Policy{Initial: in.Base(), Max: in.Max()}, backoff.TrackerOptions{Clock: c})
	if err != nil {
		return nil, err
	}
	var delays []time.Duration
	for _, took := range in.Runs() {
		c.now = c.now.Add(took)
		t.Next("image", c.now)
		d := t.Get("image")
		delays = append(delays, d)
		c.now = c.now.Add(d)
	}
	return shape.DelaysOutcome(delays), nil
}

// waitInput is the common input of waits before replacements.
type waitInput struct{ shape.Wait }

func (in waitInput) remaining(failures int, last time.Time) (time.Duration, error) {
	if in.BaseMS == 0 || in.MaxMS == 0 {
		return 0, serve.Unsupported("a delay of 0, which means the default in an Engine")
	}
	e := jobpolicy.Engine{BaseDelay: in.Base(), MaxDelay: in.Max()}
	return e.Remaining(failures, in.Now().Sub(last)), nil
}

// ofPod returns the wait of an index by its last failed pod.
func (in waitInput) ofPod(v *shape.Pod) (time.Duration, error) {
	p, err := v.Batch(time.Time{})
	if p == nil || err != nil {
		return 0, err
	}
	failures, ignored := p.FailureCounts()
	return in.remaining(failures+ignored+1, p.FinishTime())
}

func remaining(in struct {
	waitInput
	Failures    int         `json:"failures"`
	LastFailure *shape.Time `json:"last_failure"`
}) (any, error) {
	wait, err := in.remaining(in.Failures, in.LastFailure.At(time.Time{}))
	return shape.WaitOutcome(wait), err
}

func remainingPerIndex(in struct {
	waitInput
	Pod *shape.Pod `json:"pod"`
}) (any, error) {
	wait, err := in.ofPod(in.Pod)
	return shape.WaitOutcome(wait), err
}

func readyIndexes(in struct {
	waitInput
	Indexes    []int              `json:"indexes"`
	LastFailed map[int]*shape.Pod `json:"last_failed"`
}) (any, error) {
	return shape.ReadyOutcome(in.Indexes, func(i int) (time.Duration, error) { return in.ofPod(in.LastFailed[i]) })
}

func finishTime(in struct {
	Pod *shape.Pod `json:"pod"`
}) (any, error) {
	p, err := in.Pod.Batch(time.Time{})
	return p.FinishTime().UTC().Format(time.RFC3339Nano), err
}

// streak returns the failures in a row after newly finished pods, by a plan.
func streak(in struct {
	Prior *struct {
		Failures    int         `json:"failures"`
		LastFailure *shape.Time `json:"last_failure"`
	} `json:"prior"`
	SucceededAt []*shape.Time `json:"succeeded_at"`
	FailedAt    []*shape.Time `json:"failed_at"`
}) (any, error) {
	input := jobpolicy.Input{Job: &batch.Job{Spec: batch.JobSpec{Completions: new32(1 << 20), BackoffLimit: new32(1 << 30)}}, Now: time.Unix(1e10, 0)}
	if in.Prior != nil {
		input.State.Failures, input.State.LastFailure = in.Prior.Failures, in.Prior.LastFailure.At(time.Time{})
	}
	for code, times := range [][]*shape.Time{in.SucceededAt, in.FailedAt} {
		for n, at := range times {
			p := batch.NewPod(strconv.Itoa(code)+"-"+strconv.Itoa(n), -1)
			p.Finish(int32(code), at.At(time.Time{}))
			input.Pods = append(input.Pods, p)
		}
	}
	plan, err := jobpolicy.Engine{}.Plan(input)
	return map[string]any{"failures": plan.State.Failures, "last_failure": shape.Text(plan.State.LastFailure)}, err
}

func new32(n int32) *int32 { return &n }
