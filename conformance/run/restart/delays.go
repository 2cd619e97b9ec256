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

// delayInput is the common input of delays before restarts.
type delayInput struct {
	BaseMS  int64   `json:"base_ms"`
	MaxMS   int64   `json:"max_ms"`
	ResetMS int64   `json:"reset_ms"`
	RunsMS  []int64 `json:"runs_ms"`
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// crashLoop returns the delay after each run of a container, by a Restarter.
func crashLoop(in delayInput) (any, error) {
	c := &clock{time.Unix(1e9, 0)}
	r, err := backoff.NewRestarter[string](backoff.Policy{
		Initial: milliseconds(in.BaseMS), Max: milliseconds(in.MaxMS), ResetAfter: milliseconds(in.ResetMS),
		FreeFailures: 1, // a kubelet's first restart
	}, backoff.RestarterOptions[string]{Clock: c})
	if err != nil {
		return nil, err
	}
	delays := []int64{}
	for n, ms := range in.RunsMS {
		started := c.now
		c.now = started.Add(milliseconds(ms))
		d := r.Exited("container", backoff.ExitPolicy{}, backoff.Exit{Run: int64(n + 1), Code: 1, Started: started, Finished: c.now})
		delays = append(delays, d.Delay.Milliseconds())
		c.now = c.now.Add(d.Delay)
	}
	return map[string]any{"delays_ms": delays}, nil
}

// retry returns the delay after each failed attempt, by a Tracker.
func retry(in delayInput) (any, error) {
	c := &clock{time.Unix(1e9, 0)}
	t, err := backoff.NewTracker[string](backoff.Policy{Initial: milliseconds(in.BaseMS), Max: milliseconds(in.MaxMS)}, backoff.TrackerOptions{Clock: c})
	if err != nil {
		return nil, err
	}
	delays := []int64{}
	for _, ms := range in.RunsMS {
		c.now = c.now.Add(milliseconds(ms))
		t.Next("image", c.now)
		d := t.Get("image")
		delays = append(delays, d.Milliseconds())
		c.now = c.now.Add(d)
	}
	return map[string]any{"delays_ms": delays}, nil
}

// waitInput is the common input of waits before replacements.
type waitInput struct {
	Now    *shape.Time `json:"now"`
	BaseMS int64       `json:"base_ms"`
	MaxMS  int64       `json:"max_ms"`
}

func (in waitInput) now() time.Time { return in.Now.At(time.Time{}) }

func (in waitInput) remaining(failures int, last time.Time) (time.Duration, error) {
	if in.BaseMS == 0 || in.MaxMS == 0 {
		return 0, serve.Unsupported("a delay of 0, which means the default in an Engine")
	}
	e := jobpolicy.Engine{BaseDelay: milliseconds(in.BaseMS), MaxDelay: milliseconds(in.MaxMS)}
	return e.Remaining(failures, in.now().Sub(last)), nil
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
	return map[string]any{"ms": wait.Milliseconds()}, err
}

func remainingPerIndex(in struct {
	waitInput
	Pod *shape.Pod `json:"pod"`
}) (any, error) {
	wait, err := in.ofPod(in.Pod)
	return map[string]any{"ms": wait.Milliseconds()}, err
}

func readyIndexes(in struct {
	waitInput
	Indexes    []int              `json:"indexes"`
	LastFailed map[int]*shape.Pod `json:"last_failed"`
}) (any, error) {
	ready, shortest := []int{}, time.Duration(0)
	for n, i := range in.Indexes {
		wait, err := in.ofPod(in.LastFailed[i])
		if err != nil {
			return nil, err
		}
		if wait == 0 {
			ready = append(ready, i)
		}
		if n == 0 || wait < shortest {
			shortest = wait
		}
	}
	return map[string]any{"ready": ready, "wait_ms": shortest.Milliseconds()}, nil
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
