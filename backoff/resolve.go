package backoff

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/field"
)

// The bounds of an operator's maximum (KEP-4603, Conflict resolution).
const (
	minCrashLoopMax = time.Second
	maxCrashLoopMax = 300 * time.Second
)

// CrashLoopConfig is everything that decides a node's crash-loop policy: two
// feature gates and one field of the kubelet's configuration. The zero value is
// that of a node where none is set, and resolves to CrashLoop(). A CrashLoopConfig is safe
// for concurrent use by multiple goroutines while nobody writes to it.
type CrashLoopConfig struct {
	ReduceDefault bool // feature gate ReduceDefaultCrashLoopBackOffDecay
	AllowMax      bool // feature gate KubeletCrashLoopBackOffMax (KEP: EnableKubeletCrashLoopBackoffMax)
	// Max is crashLoopBackOff.maxContainerRestartPeriod (in the KEP
	// crashloopbackoff.maxSeconds), from 1s to 300s; nil is unset.
	Max *time.Duration
}

// ConfigNote says what one field of a CrashLoopConfig did. Its zero value says nothing.
// A Note is a plain value, to be copied and shared.
type ConfigNote struct {
	Field   string // name of the field
	Value   string // its value
	Reason  string // what it decided, or why it was overruled
	Warning bool   // the operator set something that has no effect
}

// ResolvedConfig is the policy that a CrashLoopConfig comes to, and why. Its zero value
// holds no valid policy. A ResolvedConfig is safe for concurrent use by multiple goroutines while
// nobody writes to it.
type ResolvedConfig struct {
	Policy Policy
	Notes  []ConfigNote // one per field that decided something or was overruled
}

// Resolve returns the policy in force. A Max that is set and allowed replaces the
// default, be it larger or smaller, and Initial is at most Max; outside [1s, 300s]
// the error wraps field.Errors that name it. A Max that is not allowed has no effect,
// whatever its value, and a Note warns of it. ResetAfter is 10 minutes whatever the
// maximum. Source: KEP-4603, Conflict resolution.
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
			reason += fmt.Sprintf(", and the first delay is pulled down to it from %v", r.Policy.Initial)
		}
		r.Policy = r.Policy.WithMax(*c.Max)
		r.Notes = append(r.Notes, ConfigNote{Field: "Max", Value: c.Max.String(), Reason: reason})
	case c.Max != nil:
		r.Notes = append(r.Notes, ConfigNote{Field: "Max", Value: c.Max.String(), Warning: true,
			Reason: "ignored, the feature gate KubeletCrashLoopBackOffMax is off"})
	}
	return r, nil
}
