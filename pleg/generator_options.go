package pleg

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/field"
)

// GeneratorOptions are the settings of a Generator. Zero means the default, with which
// each comment ends. GeneratorOptions are a plain value.
type GeneratorOptions struct {
	RelistPeriod  time.Duration // between full relists without a healthy stream; 1s
	EventedPeriod time.Duration // between full relists with one; 300s
	// RelistThreshold is the age of the last full relist beyond which Healthy returns an
	// error, and the limit of a call of Pods; 3m.
	RelistThreshold  time.Duration
	EventedThreshold time.Duration // the age for Healthy with a healthy stream; 10m
	MaxConcurrent    int           // concurrent calls of Status and Pod; 4
	StatusTimeout    time.Duration // limit of each; 10s
	// WaitLimit is how long a GetNewerThan or a WaitFor waits before its pod is
	// relisted, and again after each such relist that did not end it. A pod is
	// relisted once per WaitLimit, however many wait for it. WaitLimit replaces the
	// KEP's periodic global time, which asserts a freshness that nobody observed; 2s.
	WaitLimit time.Duration
}

// Validate returns nil, or a field.Errors with every field that is
// negative.
func (o GeneratorOptions) Validate() error {
	var errs field.Errors
	for _, f := range o.durations() {
		if *f.value < 0 {
			errs.Add(field.Invalid, f.name, *f.value, fmt.Sprintf("must be >= 0 (0 means %v)", f.fallback))
		}
	}
	if o.MaxConcurrent < 0 {
		errs.Add(field.Invalid, "MaxConcurrent", o.MaxConcurrent, "must be >= 0 (0 means 4)")
	}
	return errs.Err()
}

type durationOption struct {
	name     string
	value    *time.Duration
	fallback time.Duration
}

func (o *GeneratorOptions) durations() []durationOption {
	return []durationOption{
		{"RelistPeriod", &o.RelistPeriod, time.Second},
		{"EventedPeriod", &o.EventedPeriod, 300 * time.Second},
		{"RelistThreshold", &o.RelistThreshold, 3 * time.Minute},
		{"EventedThreshold", &o.EventedThreshold, 10 * time.Minute},
		{"StatusTimeout", &o.StatusTimeout, 10 * time.Second},
		{"WaitLimit", &o.WaitLimit, 2 * time.Second},
	}
}

// withDefaults returns o with its zeros filled in.
func (o GeneratorOptions) withDefaults() GeneratorOptions {
	for _, f := range o.durations() {
		if *f.value == 0 {
			*f.value = f.fallback
		}
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = 4
	}
	return o
}
