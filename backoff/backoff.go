// Package backoff decides whether something that failed runs again, and when.
//
// Start with the smallest level that solves your problem.
//
// A call fails and should be repeated until it succeeds: [Retry].
//
//	err := backoff.Retry(ctx, policy, connect, backoff.RetryOptions{})
//
// Your program, file or resource keeps its own state and only needs a delay that grows
// with every failure: a [Policy] is the curve, and a [Streak] is two fields that you store
// wherever you like.
//
//	policy := backoff.Policy{Initial: time.Second, Max: 5 * time.Minute}
//	...
//	state.Streak = policy.Failed(state.Streak, started, finished) // it has failed
//	...
//	if wait := policy.Left(state.Streak, time.Now()); wait > 0 {
//		return wait // not yet
//	}
//
// Exit codes should decide, restarts are limited, or giving up should end: an [ExitPolicy]
// holds everything that decides, and a [State] what must be remembered about one thing.
//
// Many things restart, and a loop waits for them: a [Restarter] is a map of States with a
// clock, a rate for all of them, and one JSON document.
//
//	r, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &policy}, backoff.RestarterOptions[string]{})
//	...
//	d := r.Exited("web", backoff.ExitPolicy{}, backoff.ExitOf(run, started, cmd.ProcessState))
//	fmt.Println(d.Action, d.Delay)
//	err = r.Wait(ctx, "web") // nil means: start it now
//
// A [Tracker] replaces client-go's flowcontrol.Backoff and the rate limiter of a work
// queue. Package supervise restarts goroutines. [CrashLoop] and the functions beside it
// are the curves of Kubernetes (KEP-4603), and rules are those of KEP-5307 and KEP-5532
// with more conditions.
//
// The package starts no goroutines and does no I/O. Durations saturate, and no wait is
// negative. However a clock is set, it holds a start for two delays at most. Tests can use
// virtual time: everything works inside testing/synctest.
package backoff

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/restartkit/restart/field"
)

// Policy is a curve of delays. The first FreeFailures failures in a row have no delay.
// The n-th failure after them has a delay of Initial * Factor^(n-1), at most Max.
//
// The zero value is not valid. Set Initial and Max, or start from a function such as
// CrashLoop. In JSON, durations are strings such as "90s", and unknown fields are errors.
type Policy struct {
	Initial time.Duration `json:"initial"`         // first delay; > 0
	Max     time.Duration `json:"max"`             // longest delay, jitter included; >= Initial
	Factor  float64       `json:"factor,omitzero"` // growth per failure; 0 means 2, otherwise >= 1 and finite
	// Jitter, in 0..1, makes each delay d random within (d*(1-Jitter), d]. Delay and a
	// Streak ignore it.
	Jitter       float64       `json:"jitter,omitzero"`
	ResetAfter   time.Duration `json:"resetAfter,omitzero"`   // a longer run starts the curve over; 0 means 2*Max
	FreeFailures int           `json:"freeFailures,omitzero"` // failures in a row before the first delay; >= 0
}

// Validate returns field.Errors listing every field out of bounds by its name in Go, or
// nil.
func (p Policy) Validate() error {
	var errs field.Errors
	p.validate(&errs)
	return errs.Err()
}

func (p *Policy) validate(errs *field.Errors) {
	errs.Check(p.Initial > 0, "Initial", p.Initial, "> 0")
	errs.Check(p.Max >= p.Initial, "Max", p.Max, fmt.Sprintf(">= the first delay, %v", p.Initial))
	errs.Check(p.Factor == 0 || p.Factor >= 1 && p.Factor <= math.MaxFloat64, "Factor", p.Factor, "0 (means 2) or >= 1 and finite")
	errs.Check(p.Jitter >= 0 && p.Jitter <= 1, "Jitter", p.Jitter, "in 0..1")
	errs.Check(p.ResetAfter >= 0, "ResetAfter", p.ResetAfter, ">= 0 (0 means twice the longest delay)")
	errs.Check(p.FreeFailures >= 0, "FreeFailures", p.FreeFailures, ">= 0")
}

// valid is Validate() == nil without allocating or copying, which a Retry that succeeds
// at once would feel.
func (p *Policy) valid() bool {
	return p.Initial > 0 && p.Max >= p.Initial &&
		(p.Factor == 0 || p.Factor >= 1 && p.Factor <= math.MaxFloat64) &&
		p.Jitter >= 0 && p.Jitter <= 1 && p.ResetAfter >= 0 && p.FreeFailures >= 0
}

// exactSteps is the number of steps that Delay multiplies one by one. A factor of 1.25
// grows a millionfold in that many steps, and a factor close to 1 costs no more.
const exactSteps = 64

// Delay returns the delay after the given number of failures in a row, without jitter,
// within [0, Max]. It is 0 for no failures, for a negative number, and under an invalid
// policy.
//
// More failures never shorten the delay, which is exact with a Factor of 2 and otherwise
// rounded to a nanosecond or, from the 65th step on, to one part in 10^9.
func (p Policy) Delay(failures int) time.Duration {
	if !p.valid() {
		return 0
	}
	return p.delay(failures)
}

// delay is Delay for a policy known to be valid. It neither checks nor copies p.
func (p *Policy) delay(failures int) time.Duration {
	if failures <= 0 || failures <= p.FreeFailures {
		return 0
	}
	steps := failures - p.FreeFailures - 1
	if p.Factor == 0 || p.Factor == 2 {
		if steps >= bits.LeadingZeros64(uint64(p.Initial)) {
			return p.Max
		}
		return saturate(uint64(p.Initial)<<steps, p.Max)
	}
	d := float64(p.Initial)
	for range min(steps, exactSteps) {
		if d *= p.Factor; d >= float64(p.Max) {
			return p.Max
		}
	}
	if steps > exactSteps {
		// Truncate the exponent to a multiple of 2^-32, which is coarser than the error
		// of Exp2, so that the delay cannot decrease between steps.
		e := float64(steps) * (math.Log1p(p.Factor-1) / math.Ln2)
		d = max(d, float64(p.Initial)*math.Exp2(math.Trunc(e*(1<<32))/(1<<32)))
	}
	if d = math.Round(d); d >= float64(p.Max) {
		return p.Max
	}
	return max(time.Duration(d), p.Initial) // a float64 may round Initial down
}

// WithMax returns p with Max set to max and Initial lowered to max if larger (KEP-4603,
// Conflict resolution).
func (p Policy) WithMax(max time.Duration) Policy {
	p.Max = max
	p.Initial = min(p.Initial, max)
	return p
}

// ResetThreshold returns how long a run must last to start the curve over: it must be
// longer than ResetAfter or, if that is 0, than twice Max. It is never negative.
func (p Policy) ResetThreshold() time.Duration { return p.resetThreshold() }

func (p *Policy) resetThreshold() time.Duration {
	if p.ResetAfter != 0 {
		return max(p.ResetAfter, 0)
	}
	longest := max(p.Max, 0)
	return addDuration(longest, longest)
}

// jittered shortens a delay by jitter, to within (d*(1-Jitter), d]. The draw is a random
// number in [0, 1); larger ones count as just below 1, and smaller ones and NaN as 0.
func (p *Policy) jittered(d time.Duration, draw float64) time.Duration {
	if p.Jitter == 0 || d <= 0 || !(draw > 0) {
		return d
	}
	span := p.Jitter * float64(d)
	return d - time.Duration(min(draw*span, math.Nextafter(span, 0)))
}

// drawn returns d if jittered can return it after that many failures, and otherwise the
// delay without jitter.
func (p *Policy) drawn(failures int, d time.Duration) time.Duration {
	nominal := p.delay(failures)
	if d <= nominal && float64(nominal-d) < p.Jitter*float64(nominal) {
		return d
	}
	return nominal
}
