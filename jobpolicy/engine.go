package jobpolicy

import (
	"strconv"
	"time"

	"github.com/restartkit/restart/field"
)

// Engine plans the next step of a Job. The zero value decides like Kubernetes 1.36 and
// 1.37 with default feature gates. API servers from 1.31 on accept its statuses; 1.30
// rejects SuccessCriteriaMet for most Jobs.
//
// Carry out each plan. Call Plan again after RequeueAfter and after every change to the
// Job or its pods, including your own.
type Engine struct {
	BaseDelay      time.Duration // before the first replacement; 0 means 10s
	MaxDelay       time.Duration // limit on the doubled delay; 0 means 10m
	MinRequeue     time.Duration // minimum RequeueAfter for a delay; 0 means 1s
	MaxPodsPerPlan int           // limit on creations, and on deletions of surplus pods; 0 means 500
	// StartReadyIndexes starts pending indexes while lower ones wait. By default, as in
	// Kubernetes, a waiting index holds back higher ones.
	StartReadyIndexes bool
	IgnoredDelay      IgnoredDelay // effect of ignored failures on the delay
	// RuleInReason extends the reason PodFailurePolicy to PodFailurePolicy_NAME. NAME
	// is the FailJob rule's name, or its index if unnamed (KEP-4443).
	RuleInReason bool
	// ManagedBy is the spec.managedBy of the Jobs to plan. In either, "" means the
	// Kubernetes Job controller.
	ManagedBy string
}

// IgnoredDelay says how failures that match an Ignore rule affect the delay before a
// replacement.
type IgnoredDelay int

// The effects of ignored failures.
const (
	DelayLikeFailure IgnoredDelay = 0 // like any other failure, as in Kubernetes
	DelaySeparately  IgnoredDelay = 1 // counted separately, with their own delay
	NoDelay          IgnoredDelay = 2 // no delay, as KEP-3850 says
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

// Validate returns all invalid settings as field.Errors, or nil.
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
