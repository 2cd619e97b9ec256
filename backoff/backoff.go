// Package backoff decides when something that failed is restarted: a container, a
// process, a task, anything with a key (KEP-4603, KEP-5307, KEP-5532).
//
// A [Restarter] decides what to do about an exit: it knows restart policies and
// rules, delays, limits, and a rate over all keys. Start there:
//
//	r, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{})
//	d := r.Exited("web", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
//	if d.Action == backoff.ActionRestart {
//		time.AfterFunc(r.Remaining("web"), start)
//	}
//
// A [Tracker] is the delay alone, and a rate limiter for a work queue. A [Policy] is a
// delay curve: [CrashLoop] and its like return those of Kubernetes,
// [CrashLoopConfig.Resolve] that of a node, [Policy.Timeline] what a curve does.
//
// A Restarter and a Tracker are safe for concurrent use, and their state can be
// stored. Nothing here starts a goroutine or does IO. No wait is negative, endless or
// longer than its maximum, whatever saturates and whatever the clock does.
package backoff

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/restartkit/restart/field"
)

// Policy is a restart delay curve and the rule that starts it over.
//
// The first Free failures in a row have no delay. The n-th after them has
// Initial * Factor^(n-1), at most Max. A Policy is a plain value, which can be compared, copied and stored; in JSON
// its durations are texts such as "5m". Its zero value is not valid: start from a
// preset, or set Initial and Max, and call Validate. A Policy is safe for concurrent
// use by multiple goroutines while nobody writes to it.
type Policy struct {
	Initial time.Duration `json:"initial"`         // the first delay; > 0
	Max     time.Duration `json:"max"`             // longest delay, jitter included; >= Initial
	Factor  float64       `json:"factor,omitzero"` // growth per failure; 0 means 2, otherwise >= 1 and finite
	// Jitter, in 0..1, makes of a delay d one that is drawn from (d*(1-Jitter), d], anew
	// each time, at Max too; 0 means none.
	Jitter       float64       `json:"jitter,omitzero"`
	ResetAfter   time.Duration `json:"resetAfter,omitzero"` // a longer run starts the curve over; 0 means 2*Max
	FreeFailures int           `json:"free,omitzero"`       // failures in a row before the first delay; >= 0
}

// Validate returns field.Errors with every field that is out of bounds, or nil.
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
}

// fieldsOK says of each field whether it is in bounds.
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
	return p.inBounds() == fieldsOK{true, true, true, true, true, true}
}

// exactSteps is how many steps Delay multiplies one by one. A factor of 1.25 grows
// a millionfold in so many, and a factor close to 1 costs no more than that.
const exactSteps = 64

// Delay returns the delay of a valid policy after that many failures in a row,
// without jitter. It is 0 up to FreeFailures, then Initial; it grows by Factor
// with each failure until it reaches Max, and stays there. It never decreases as
// failures grow. A factor of 2 is exact; with others the delay is rounded to a
// nanosecond, and from the 65th step on to one part in 10^9.
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
		// The exponent is cut to a multiple of 2^-32: coarser than the error of
		// Exp2, so that this cannot decrease from one step to the next.
		e := float64(steps) * (math.Log1p(p.Factor-1) / math.Ln2)
		d = max(d, float64(p.Initial)*math.Exp2(math.Trunc(e*(1<<32))/(1<<32)))
	}
	if d = math.Round(d); d >= float64(p.Max) {
		return p.Max
	}
	return max(time.Duration(d), p.Initial) // a float has fewer digits than Initial may have
}

// WithMax returns p under an operator's cap: Max is max, and Initial is at most
// max (KEP-4603, Conflict resolution). The result is valid if p is and max > 0.
func (p Policy) WithMax(max time.Duration) Policy {
	p.Max = max
	p.Initial = min(p.Initial, max)
	return p
}

// ResetThreshold returns the length above which a run starts the curve of a valid
// policy over: ResetAfter, or twice Max if ResetAfter is 0. It saturates at the
// largest duration.
func (p Policy) ResetThreshold() time.Duration {
	if p.ResetAfter != 0 {
		return p.ResetAfter
	}
	return addDuration(p.Max, p.Max)
}

// jittered draws a delay from (d*(1-Jitter), d]. What rand returns beyond [0, 1)
// counts as the nearer end.
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

// drawn returns d if jittered can draw it after that many failures, otherwise the
// nominal delay.
func (p Policy) drawn(failures int, d time.Duration) time.Duration {
	nominal := p.Delay(failures)
	if d <= nominal && float64(nominal-d) < p.Jitter*float64(nominal) {
		return d
	}
	return nominal
}

// policyNames are the names in JSON of the fields of a Policy.
var policyNames = map[string]string{
	"Initial": "initial", "Max": "max", "Factor": "factor", "Jitter": "jitter", "ResetAfter": "resetAfter", "FreeFailures": "free",
}
