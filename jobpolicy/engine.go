package jobpolicy

import (
	"strconv"
	"time"

	"github.com/restartkit/restart/field"
)

// Engine decides what to do next about a Job. Its zero value decides as
// Kubernetes 1.36 and 1.37 do with their default feature gates. API servers from 1.31 on
// accept the statuses; that of 1.30 refuses SuccessCriteriaMet for most Jobs.
//
// Call Plan and carry out what it says. Call it again when RequeueAfter has
// passed, and whenever the Job or its pods have changed, the plan's own effects
// included.
//
// An Engine only holds settings. It may be copied and compared, and it is safe
// for concurrent use by multiple goroutines.
type Engine struct {
	BaseDelay      time.Duration // before the first replacement; 0 means 10s
	MaxDelay       time.Duration // to which the delay doubles; 0 means 10m
	MinRequeue     time.Duration // shortest RequeueAfter for a delay; 0 means 1s
	MaxPodsPerPlan int           // creations, or deletions of surplus pods, in one plan; 0 means 500
	// StartReadyIndexes starts other pending indexes while some wait for their delay. Without it,
	// as in Kubernetes, a waiting index holds back the higher ones.
	StartReadyIndexes bool
	IgnoredDelay      IgnoredDelay // whether ignored failures lengthen the delay
	// RuleInReason gives a Job that a FailJob rule fails the reason PodFailurePolicy_ with
	// the rule's name, or its index if it has none (KEP-4443).
	RuleInReason bool
	// ManagedBy says for which Jobs to act: those with this spec.managedBy. Here and in a
	// Job, "" stands for the name of Kubernetes' own controller.
	ManagedBy string
}

// IgnoredDelay says whether failures that an Ignore rule matched lengthen the
// delay before a replacement: DelayLikeFailure, DelaySeparately or NoDelay.
type IgnoredDelay int

// Whether ignored failures lengthen the delay before a replacement.
const (
	DelayLikeFailure IgnoredDelay = 0 // as any other failure (Kubernetes)
	DelaySeparately  IgnoredDelay = 1 // they have a streak of their own: neither lengthens the other's delay
	NoDelay          IgnoredDelay = 2 // replaced without a delay (KEP-3850's text)
)

// String returns the name of the constant.
func (d IgnoredDelay) String() string {
	switch d {
	case DelayLikeFailure:
		return "DelayLikeFailure"
	case DelaySeparately:
		return "DelaySeparately"
	case NoDelay:
		return "NoDelay"
	}
	return "IgnoredDelay(" + strconv.Itoa(int(d)) + ")"
}

// Validate returns every setting that no Engine can have as field.Errors, nil if
// there is none.
func (e Engine) Validate() error {
	var errs field.Errors
	if e.BaseDelay < 0 {
		errs.Add(field.Invalid, "BaseDelay", e.BaseDelay, "must not be negative")
	}
	if e.MaxDelay < 0 {
		errs.Add(field.Invalid, "MaxDelay", e.MaxDelay, "must not be negative")
	}
	if e.MinRequeue < 0 {
		errs.Add(field.Invalid, "MinRequeue", e.MinRequeue, "must not be negative")
	}
	if e.MaxPodsPerPlan < 0 {
		errs.Add(field.Invalid, "MaxPodsPerPlan", e.MaxPodsPerPlan, "must not be negative")
	}
	if e.IgnoredDelay < DelayLikeFailure || e.IgnoredDelay > NoDelay {
		errs.Add(field.NotSupported, "IgnoredDelay", e.IgnoredDelay, "must be DelayLikeFailure, DelaySeparately or NoDelay")
	}
	return errs.Err()
}

func (e Engine) baseDelay() time.Duration { return orDefault(e.BaseDelay, 10*time.Second) }

func (e Engine) maxDelay() time.Duration { return orDefault(e.MaxDelay, 10*time.Minute) }

func (e Engine) minRequeue() time.Duration { return orDefault(e.MinRequeue, time.Second) }

func (e Engine) maxPodsPerPlan() int { return orDefault(e.MaxPodsPerPlan, 500) }

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
