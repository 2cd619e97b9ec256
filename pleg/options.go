package pleg

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
)

// GeneratorOptions are the settings of a Generator. Zero means the default, given at
// the end of each comment.
type GeneratorOptions[K comparable] struct {
	Stream        Streamer[K]   // of the runtime's events; nil: none
	RelistPeriod  time.Duration // between full lists without a healthy stream; 1s
	EventedPeriod time.Duration // between full lists with a healthy stream; 300s
	// RelistThreshold is the age of the last full list beyond which Healthy returns an
	// error, and the timeout of Pods; 3m.
	RelistThreshold  time.Duration
	EventedThreshold time.Duration // the same age with a healthy stream; 10m
	MaxConcurrent    int           // limit of concurrent calls of Pod; 4
	PodTimeout       time.Duration // timeout of each of these calls; 10s
	// WaitLimit is how long a GetNewerThan or WaitFor waits before its pod is inspected,
	// and between further inspections. All waiters for a pod share them. Before the first
	// full list was answered, no pod is inspected, so these waits last until then; 2s.
	WaitLimit time.Duration
}

// firstRepeat is the pause before an inspection is repeated because it does not show the
// claim of an event.
const firstRepeat = 100 * time.Millisecond

// limits returns the scheduler's share of o, which has its defaults.
func (o GeneratorOptions[K]) limits() limits {
	return limits{
		period:         o.RelistPeriod,
		listTimeout:    o.RelistThreshold,
		inspectTimeout: o.PodTimeout,
		concurrent:     o.MaxConcurrent,
		firstRepeat:    min(firstRepeat, o.RelistPeriod),
		failurePause:   backoff.Policy{Initial: o.RelistPeriod, Max: 10 * o.RelistPeriod},
	}
}

// validate returns nil, or a field.Errors naming every negative field.
func (o GeneratorOptions[K]) validate() error {
	var errs field.Errors
	for _, f := range o.durations() {
		if *f.value < 0 {
			errs.Add(field.Invalid, f.name, *f.value, fmt.Sprintf("must be >= 0 (0 means %v)", f.fallback))
		}
	}
	set := o.withDefaults()
	errs.Check(o.RelistThreshold <= 0 || set.RelistThreshold >= set.RelistPeriod, "RelistThreshold", o.RelistThreshold, fmt.Sprintf(">= the RelistPeriod, %v", set.RelistPeriod))
	errs.Check(o.EventedThreshold <= 0 || set.EventedThreshold >= set.EventedPeriod, "EventedThreshold", o.EventedThreshold, fmt.Sprintf(">= the EventedPeriod, %v", set.EventedPeriod))
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

func (o *GeneratorOptions[K]) durations() []durationOption {
	return []durationOption{
		{"RelistPeriod", &o.RelistPeriod, time.Second},
		{"EventedPeriod", &o.EventedPeriod, 300 * time.Second},
		{"RelistThreshold", &o.RelistThreshold, 3 * time.Minute},
		{"EventedThreshold", &o.EventedThreshold, 10 * time.Minute},
		{"PodTimeout", &o.PodTimeout, 10 * time.Second},
		{"WaitLimit", &o.WaitLimit, 2 * time.Second},
	}
}

// withDefaults returns o with defaults in place of zeros.
func (o GeneratorOptions[K]) withDefaults() GeneratorOptions[K] {
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
