package backoff

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/field"
)

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
