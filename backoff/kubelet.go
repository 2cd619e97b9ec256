package backoff

import (
	"fmt"
	"iter"
	"math"
	"sort"
	"time"

	"github.com/restartkit/restart/field"
)

// This file holds what a kubelet does: its curves, the settings behind them, and when it
// restarts a container in effect.

// CrashLoop returns the kubelet's curve for crashing containers: 10s, 20s, 40s, … 300s.
// A run longer than 10 minutes starts it over (KEP-4603, Summary).
func CrashLoop() Policy {
	return Policy{Initial: 10 * time.Second, Max: 300 * time.Second, ResetAfter: 10 * time.Minute}
}

// ReducedCrashLoop returns the curve under the feature gate
// ReduceDefaultCrashLoopBackOffDecay, from 1s to 60s. A run longer than 10 minutes
// starts it over (KEP-4603, Existing backoff curve change).
func ReducedCrashLoop() Policy {
	return Policy{Initial: time.Second, Max: 60 * time.Second, ResetAfter: 10 * time.Minute}
}

// ImagePull returns the kubelet's curve for failed image pulls, from 10s to 300s
// (KEP-4603, Relationship with ImagePullBackOff).
func ImagePull() Policy {
	return Policy{Initial: 10 * time.Second, Max: 300 * time.Second}
}

// JobPod returns the Job controller's curve for replacing failed pods, from 10s
// (KEP-3850, Exponential backoff delay issue) to the controller's maximum of 10
// minutes.
func JobPod() Policy {
	return Policy{Initial: 10 * time.Second, Max: 10 * time.Minute}
}

// Bounds of an operator's maximum (KEP-4603, Conflict resolution).
const (
	minCrashLoopMax = time.Second
	maxCrashLoopMax = 300 * time.Second
)

// CrashLoopConfig holds the settings behind a node's crash-loop policy. The zero value
// resolves to CrashLoop().
type CrashLoopConfig struct {
	ReduceDefault bool // feature gate ReduceDefaultCrashLoopBackOffDecay
	AllowMax      bool // feature gate KubeletCrashLoopBackOffMax (KEP: EnableKubeletCrashLoopBackoffMax)
	// Max is crashLoopBackOff.maxContainerRestartPeriod (crashloopbackoff.maxSeconds in
	// the KEP), from 1s to 300s; nil means unset.
	Max *time.Duration
}

// ConfigNote explains the effect of one field of a CrashLoopConfig.
type ConfigNote struct {
	Field   string
	Value   string
	Reason  string // the field's effect, or why it was overruled
	Warning bool   // the field is set but has no effect
}

// ResolvedConfig is the policy in force under a CrashLoopConfig, with notes.
type ResolvedConfig struct {
	Policy Policy
	Notes  []ConfigNote // one per field that had an effect or was overruled
}

// Resolve returns the policy in force (KEP-4603, Conflict resolution). With AllowMax,
// Max replaces the default maximum, even a smaller one, and caps Initial. If Max is
// outside [1s, 300s], the error wraps field.Errors naming it. Without AllowMax, Max is
// ignored with a warning in Notes. ResetAfter is always 10 minutes.
func (c CrashLoopConfig) Resolve() (ResolvedConfig, error) {
	honoured := c.AllowMax && c.Max != nil
	if honoured && (*c.Max < minCrashLoopMax || *c.Max > maxCrashLoopMax) {
		return ResolvedConfig{}, fmt.Errorf("backoff: CrashLoopConfig.Resolve: %w", field.Errors{{Field: "Max", Type: field.Invalid,
			Value: *c.Max, Detail: "must be in [1s, 300s] (crashLoopBackOff.maxContainerRestartPeriod)"}})
	}
	r := ResolvedConfig{Policy: CrashLoop()}
	if c.ReduceDefault {
		r.Policy = ReducedCrashLoop()
		reason := "the curve starts at 1s and ends at 60s"
		if honoured {
			reason = "the curve starts at 1s; Max overrules its end at 60s"
		}
		r.Notes = append(r.Notes, ConfigNote{Field: "ReduceDefault", Value: "true", Reason: reason})
	}
	switch {
	case honoured:
		reason := fmt.Sprintf("the longest delay is %v; the default is %v", *c.Max, r.Policy.Max)
		if *c.Max < r.Policy.Initial {
			reason += fmt.Sprintf(", and the first delay is lowered to it from %v", r.Policy.Initial)
		}
		r.Policy = r.Policy.WithMax(*c.Max)
		r.Notes = append(r.Notes, ConfigNote{Field: "Max", Value: c.Max.String(), Reason: reason})
	case c.Max != nil:
		r.Notes = append(r.Notes, ConfigNote{Field: "Max", Value: c.Max.String(), Warning: true,
			Reason: "ignored because the feature gate KubeletCrashLoopBackOffMax is off"})
	}
	return r, nil
}

// Timeline yields the times at which a workload restarts, measured from its first
// start. Its n-th run, counted from 1, fails after run(n). Jitter is ignored, and a
// negative run counts as 0. The sequence ends only at the largest time.Duration.
func (p Policy) Timeline(run func(n int) time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		var at time.Duration
		failures := 0
		for n := 1; ; n++ {
			length := max(run(n), 0)
			if p.valid() && length > p.resetThreshold() {
				failures = 0
			}
			failures = addCount(failures, 1)
			at = addDuration(addDuration(at, length), p.Delay(failures))
			if at == math.MaxInt64 || !yield(at) {
				return
			}
		}
	}
}

// Window is the time after From, up to and including To, measured from a workload's
// first start.
type Window struct {
	From, To time.Duration
}

// exactRestarts is how many restarts with growing delays Restarts counts one by one.
const exactRestarts = 1 << 16

// Restarts returns the number of a Timeline's restarts within a window if every run
// lasts run. Its cost does not grow with the window or the curve: from the 65537th
// growing delay on, delays count without being rounded to a nanosecond. An invalid policy
// has no delay.
func (p Policy) Restarts(run time.Duration, in Window) int {
	run, in.To = max(run, 0), min(in.To, math.MaxInt64-1)
	if !p.valid() {
		return countSteps(0, run, math.MaxInt, in)
	}
	if run > p.resetThreshold() {
		return countSteps(0, addDuration(run, p.delay(1)), math.MaxInt, in)
	}
	// First free restarts, then growing delays, then a constant delay, which needs no
	// counting.
	total := countSteps(0, run, p.FreeFailures, in)
	at := multiplyDuration(run, p.FreeFailures)
	failures := addCount(p.FreeFailures, 1)
	for range exactRestarts {
		if at > in.To {
			return total
		}
		delay := p.delay(failures)
		if delay == p.Max || p.Factor == 1 || failures == math.MaxInt {
			return addCount(total, countSteps(at, addDuration(run, delay), math.MaxInt, in))
		}
		at = addDuration(at, addDuration(run, delay))
		total = addCount(total, countSteps(at, 0, 1, in))
		failures = addCount(failures, 1)
	}
	return addCount(total, p.restartsAfter(at, failures, run, in))
}

// restartsAfter returns the number of restarts within a window after the one at the
// instant at, whose next delay is that of so many failures. It sums up the growing delays
// as a geometric series.
func (p *Policy) restartsAfter(at time.Duration, failures int, run time.Duration, in Window) int {
	growth := math.Log1p(p.Factor - 1)
	delay := float64(p.Initial) * math.Exp(growth*float64(failures-p.FreeFailures-1))
	growing := int(max(math.Ceil(math.Log(float64(p.Max)/delay)/growth), 0)) // restarts until the delay is Max
	// after returns when the n-th further restart happens.
	after := func(n int) time.Duration {
		sum := float64(at) + float64(n)*float64(run) + delay*math.Expm1(growth*float64(n))/math.Expm1(growth)
		if sum >= math.MaxInt64 {
			return math.MaxInt64
		}
		return time.Duration(sum)
	}
	until := func(end time.Duration) int { // number of growing restarts at or before end
		return sort.Search(growing, func(i int) bool { return after(i+1) > end })
	}
	total := 0
	if in.To > in.From {
		total = until(in.To) - until(in.From)
	}
	return addCount(total, countSteps(after(growing), addDuration(run, p.Max), math.MaxInt, in))
}

// countSteps returns how many of the instants start + k*step, k = 1..steps, lie within
// the window.
func countSteps(start, step time.Duration, steps int, in Window) int {
	until := func(end time.Duration) uint64 { // number of instants at or before end
		switch {
		case end < start:
			return 0
		case step == 0:
			return uint64(steps)
		}
		return min((uint64(end)-uint64(start))/uint64(step), uint64(steps))
	}
	if in.To <= in.From {
		return 0
	}
	return int(min(until(in.To)-until(in.From), math.MaxInt))
}

// kubeletSync is the default of syncFrequency in the KubeletConfiguration, and
// kubeletTick the period at which a kubelet looks for due pods.
const (
	kubeletSync = time.Minute
	kubeletTick = time.Second
)

// KubeletRestart returns the window after an exit in which a kubelet restarts the
// container, given the delay of its curve and its syncFrequency. A syncFrequency of 0
// or less means the default of 1 minute, and a negative delay counts as 0. The window
// includes both ends.
//
// No restart comes before the delay is over. A kubelet then looks at the pod up to half
// of the delay later, or half of its syncFrequency if that is shorter, because it adds
// jitter to the time until its next look. Another second passes until it finds that the
// pod is due (Kubernetes 1.37, pkg/kubelet/pod_workers.go, completeWork). Creating and
// starting the container takes more time, and so does a busy machine.
func KubeletRestart(delay, syncFrequency time.Duration) Window {
	delay = max(delay, 0)
	if syncFrequency <= 0 {
		syncFrequency = kubeletSync
	}
	return Window{
		From: delay,
		To:   addDuration(addDuration(delay, min(delay, syncFrequency)/2), kubeletTick),
	}
}
