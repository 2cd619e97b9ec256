// Package backoff decides whether and when a failed call, goroutine, process, container
// or other task runs again (KEP-4603, KEP-5307, KEP-5532).
//
// [Retry] calls a function until it succeeds:
//
//	err := backoff.Retry(ctx, backoff.Policy{Initial: time.Second, Max: time.Minute}, connect)
//
// Package supervise keeps goroutines running. For anything else with exits, report each
// exit to a [Restarter] and wait for the restart:
//
//	r, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{})
//	d := r.Exited("web", backoff.ExitPolicy{}, backoff.ExitOf(run, started, cmd.ProcessState))
//	if d.Action == backoff.ActionRestart {
//		err = r.Wait(ctx, "web")
//	}
//
// A [Rule] gives a cause of failure its own action, delay and limit. The state of a
// Restarter can be stored; after a crash, [Restarter.Due] yields the restarts to carry
// out.
//
// A [Tracker] only computes delays, for instance for a work queue. A [Policy] is a
// delay curve. [CrashLoop] and similar functions return the curves of Kubernetes, and
// [CrashLoopConfig.Resolve] returns a node's curve.
//
// The package starts no goroutines and does no I/O. Durations saturate, and a wait is
// never negative or longer than its maximum, even if the clock jumps.
package backoff

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/restartkit/restart/field"
)

// Policy is a restart delay curve. The first FreeFailures failures in a row have no
// delay. The n-th failure after them has a delay of Initial * Factor^(n-1), at most
// Max.
//
// The zero value is not valid. Start from a preset, or set Initial and Max.
type Policy struct {
	Initial time.Duration `json:"initial"`         // first delay; > 0
	Max     time.Duration `json:"max"`             // longest delay, jitter included; >= Initial
	Factor  float64       `json:"factor,omitzero"` // growth per failure; 0 means 2, otherwise >= 1 and finite
	// Jitter, in 0..1, makes each delay d random within (d*(1-Jitter), d].
	Jitter       float64       `json:"jitter,omitzero"`
	ResetAfter   time.Duration `json:"resetAfter,omitzero"` // a longer run starts the curve over; 0 means 2*Max
	FreeFailures int           `json:"free,omitzero"`       // failures in a row before the first delay; >= 0
	// Unknown holds all other fields of the JSON, as an object such as {"maxx":"5s"}, or
	// is empty. Policies with unknown fields are invalid.
	Unknown string `json:"-"`
}

// Validate returns field.Errors listing every field out of bounds and, by its JSON name
// and with a suggestion, every unknown field; or nil.
func (p Policy) Validate() error {
	var errs field.Errors
	p.validate(&errs)
	return errs.Err()
}

func (p Policy) validate(errs *field.Errors) {
	ok := p.inBounds()
	errs.Check(ok.initial, "Initial", p.Initial, "> 0")
	errs.Check(ok.max, "Max", p.Max, fmt.Sprintf(">= the first delay, %v", p.Initial))
	errs.Check(ok.factor, "Factor", p.Factor, "0 (means 2) or >= 1 and finite")
	errs.Check(ok.jitter, "Jitter", p.Jitter, "in 0..1")
	errs.Check(ok.resetAfter, "ResetAfter", p.ResetAfter, ">= 0 (0 means twice the longest delay)")
	errs.Check(ok.free, "FreeFailures", p.FreeFailures, ">= 0")
	validateUnknown(errs, "", p.Unknown, policyFields{})
}

// fieldsOK records which fields are in bounds.
type fieldsOK struct{ initial, max, factor, jitter, resetAfter, free bool }

func (p Policy) inBounds() fieldsOK {
	return fieldsOK{
		initial:    p.Initial > 0,
		max:        p.Max >= p.Initial,
		factor:     p.Factor == 0 || p.Factor >= 1 && !math.IsInf(p.Factor, 1),
		jitter:     p.Jitter >= 0 && p.Jitter <= 1,
		resetAfter: p.ResetAfter >= 0,
		free:       p.FreeFailures >= 0,
	}
}

// valid is Validate() == nil without allocating.
func (p Policy) valid() bool {
	return p.Unknown == "" && p.inBounds() == fieldsOK{true, true, true, true, true, true}
}

// exactSteps is the number of steps that Delay multiplies one by one. A factor of 1.25
// grows a millionfold in that many steps, and a factor close to 1 costs no more.
const exactSteps = 64

// Delay returns the delay after the given number of failures in a row, without jitter.
// p must be valid. More failures never shorten the delay, which is exact with a Factor
// of 2 and otherwise rounded to a nanosecond or, from the 65th step on, to one part in
// 10^9.
func (p Policy) Delay(failures int) time.Duration {
	return p.delay(failures)
}

// delay is Delay without a copy of the policy.
func (p *Policy) delay(failures int) time.Duration {
	if failures <= 0 || failures <= p.FreeFailures {
		return 0
	}
	steps := failures - max(p.FreeFailures, 0) - 1
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

// ResetThreshold returns ResetAfter or, if it is 0, twice Max.
func (p Policy) ResetThreshold() time.Duration {
	if p.ResetAfter != 0 {
		return p.ResetAfter
	}
	return addDuration(p.Max, p.Max)
}

// jittered draws a delay from (d*(1-Jitter), d]. It clamps rand's results to [0, 1).
func (p Policy) jittered(d time.Duration, rand func() float64) time.Duration {
	if p.Jitter == 0 || d <= 0 {
		return d
	}
	r := rand()
	if !(r > 0) { // NaN too
		return d
	}
	span := p.Jitter * float64(d)
	return d - time.Duration(min(r*span, math.Nextafter(span, 0)))
}

// drawn returns d if jittered can draw it after that many failures, and otherwise the
// delay without jitter.
func (p Policy) drawn(failures int, d time.Duration) time.Duration {
	nominal := p.Delay(failures)
	if d <= nominal && float64(nominal-d) < p.Jitter*float64(nominal) {
		return d
	}
	return nominal
}

// policyNames maps the fields of a Policy to their JSON names.
var policyNames = map[string]string{
	"Initial": "initial", "Max": "max", "Factor": "factor", "Jitter": "jitter", "ResetAfter": "resetAfter", "FreeFailures": "free",
}
